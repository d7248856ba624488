"""parse.py FILE: parses OpenMetrics text as Prometheus' own Python client does."""
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as text:
    families = list(text_string_to_metric_families(text.read()))
samples = [sample for family in families for sample in family.samples]
assert len(families) > 30, families
assert all(family.documentation for family in families)
assert all(family.name.startswith("holdfast_") for family in families)
assert any(sample.labels.get("kind") == "latch" for sample in samples)
print(f"metrics: {len(families)} families, {len(samples)} samples")
