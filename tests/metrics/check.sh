#!/bin/sh
# check.sh BUILD: the parsers of Prometheus accept the metrics of holdfast. Without these programs
# the part says "skipped":
#   OpenMetrics text   the parser of Python's prometheus_client; it is installed into BUILD/metrics
#                      if it is missing
#   Prometheus text    promtool (Debian: prometheus), which also checks the alerts and the queries
#                      of the dashboard of examples/
set -eu
build=$1
out=$build/metrics
mkdir -p "$out"
rm -f "$out/text" "$out/text.prom"
fail() { echo "metrics: $*" >&2; exit 1; }

HF_METRICS_OUT=$out/text CK_DEFAULT_TIMEOUT=60 "$build/tests/live/lock/test_metrics" >"$out/log" ||
    { cat "$out/log" >&2; exit 1; }
[ -s "$out/text" ] || { echo 'skipped: metrics (there is no server)'; exit 0; }

python=python3
if ! $python -c 'import prometheus_client' 2>/dev/null; then
    [ -x "$out/venv/bin/python" ] || python3 -m venv "$out/venv" 2>/dev/null || :
    "$out/venv/bin/pip" install -q 'prometheus-client==0.*' 2>/dev/null || :
    python=$out/venv/bin/python
fi
if [ -x "$(command -v $python)" ] && $python -c 'import prometheus_client' 2>/dev/null; then
    $python tests/metrics/parse.py "$out/text" || fail 'prometheus_client refuses the text'
else
    echo 'skipped: metrics (no prometheus_client of Python)'
fi

python3 tests/metrics/dashboard.py examples/grafana/holdfast.json >"$out/dashboard.yml" ||
    fail 'the dashboard is wrong'

if command -v promtool >/dev/null; then
    # The lint of names is not followed where OpenMetrics or the older format has other rules.
    promtool check metrics <"$out/text.prom" >"$out/promtool" 2>&1 || [ $? -eq 3 ] ||
        { cat "$out/promtool" >&2; fail 'promtool refuses the text'; }
    cat "$out/promtool"
    cp examples/prometheus/holdfast.rules.yml tests/metrics/rules*_test.yml "$out"
    promtool check rules "$out/holdfast.rules.yml" || fail 'promtool refuses the alerts'
    promtool test rules "$out"/rules*_test.yml || fail 'an alert does not fire, or fires'
    promtool check rules "$out/dashboard.yml" || fail 'promtool refuses a query of the dashboard'
else
    echo 'skipped: metrics (promtool is not installed; Debian: prometheus)'
fi
