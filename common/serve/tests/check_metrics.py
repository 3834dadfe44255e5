#!/usr/bin/env python3
"""check_metrics.py: `promtool check metrics` (Debian's package prometheus) reads GET /metrics, before and after requests.

Its linter has one complaint, which vLLM's own names earn as well: a colon in a name."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import RealServer, equal, run_tests  # noqa: E402

PROMTOOL = shutil.which("promtool")
if not PROMTOOL:
    print("ok 1 - promtool # SKIP promtool isn't installed; it is in Debian's package prometheus\n1..1")
    sys.exit(0)


def promtool_reads_it():
    with RealServer("--pace", "llama-2-7b:h100") as s:
        for requests in (0, 3):
            for _ in range(requests):
                s.complete("one two three", max_tokens=4, stream=True)
            text = s.get("/metrics").body
            p = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, timeout=60)
            said = p.stderr.decode().splitlines()
            families = re.findall(r"^# TYPE (\S+)", text.decode(), re.M)
            equal(sorted(said), sorted(f"{name} metric names should not contain ':'" for name in families))
            equal(p.returncode, 3)  # 0: no complaint; 1: it can't be parsed; 3: the linter's


sys.exit(run_tests([promtool_reads_it]))
