"""dashboard.py FILE: checks a dashboard of Grafana, and prints its queries as rules that promtool
can check. Grafana itself is not in the package registries."""
import json
import re
import sys

VARIABLES = {"$__rate_interval": "5m", "$__range": "6h", "$job": ".*", "$instance": ".*"}

with open(sys.argv[1], encoding="utf-8") as text:
    board = json.load(text)
names = {"$" + variable["name"] for variable in board["templating"]["list"]} | set(VARIABLES)
panels = board["panels"]
assert len({panel["id"] for panel in panels}) == len(panels), "two panels have the same id"

cells = {}
for panel in panels:
    at = panel["gridPos"]
    assert at["x"] + at["w"] <= 24, panel["title"]
    for x in range(at["x"], at["x"] + at["w"]):
        for y in range(at["y"], at["y"] + at["h"]):
            other = cells.setdefault((x, y), panel["title"])
            assert other == panel["title"], f"{panel['title']} covers {other}"

print("groups:\n  - name: dashboard\n    rules:")
for panel in panels:
    refs = [target["refId"] for target in panel.get("targets", [])]
    assert len(set(refs)) == len(refs) and (refs or panel["type"] == "row"), panel["title"]
    assert panel["type"] == "row" or panel["description"], panel["title"]
    for target in panel.get("targets", []):
        expr = target["expr"]
        for name in re.findall(r"\$\w+", expr):
            assert name in names, name
        for name, value in sorted(VARIABLES.items(), reverse=True):
            expr = expr.replace(name, value)
        # The expressions differ in their names alone, which promtool requires to be unique.
        print(f"      - record: dashboard:panel{panel['id']}_{target['refId']}")
        print(f"        expr: {json.dumps(expr)}")
