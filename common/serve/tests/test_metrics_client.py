#!/usr/bin/env python3
"""test_metrics_client.py: GET /metrics as the package `prometheus_client` reads it: the same samples as our own reader's."""
# servelab-test: waits
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prometheus_text  # noqa: E402
from harness import FakeServer, equal, run_tests, wait_until  # noqa: E402

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    print("ok 1 - prometheus_client # SKIP the package prometheus_client isn't installed; `make deps-test` does that\n1..1")
    sys.exit(0)


def the_same_samples():
    with FakeServer() as s:
        for n in range(3):
            s.complete(prompt="p" * (n + 1), stream=True, max_tokens=n + 2)
        s.complete(max_tokens=0)
        wait_until(lambda: 'finished_reason="length"} 3\n' in s.get("/metrics").body.decode(), "three answers in the metrics")
        text = s.get("/metrics").body.decode()
    got, kinds = {}, {}
    for family in text_string_to_metric_families(text):
        kinds[family.name] = family.type
        for sample in family.samples:
            labels = dict(sample.labels)
            bound = labels.pop("le", None)
            got[sample.name, tuple(sorted(labels.items())), bound] = sample.value
    want = prometheus_text.read(text)
    equal(got, {key: float(n) for _, samples in want.values() for key, n in samples.items()})
    equal(kinds, {name.removesuffix("_total"): kind for name, (kind, _) in want.items()})


sys.exit(run_tests([the_same_samples]))
