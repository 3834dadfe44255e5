#!/usr/bin/env python3
"""check_openapi.py: schemathesis sends requests that fit /openapi.json, and such that don't, and finds nothing.

No answer is a 5xx, each has a status, a type and a shape that are described, and what breaks the description is refused.
What fits is accepted; where fields depend on each other as no schema can say, openapi_hooks.py makes them agree first.
EXAMPLES and SEEDS in the environment ask for more. Part of `make check-clients`, which installs schemathesis.
"""
# servelab-test: waits long
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import TOP, RealServer, equal, run_tests  # noqa: E402

SCHEMATHESIS = os.path.join(TOP, "build/venv-clients/bin/schemathesis")
EXAMPLES, SEEDS = os.environ.get("EXAMPLES", "50"), os.environ.get("SEEDS", "1 2").split()

if not os.path.exists(SCHEMATHESIS):
    print("ok 1 - schemathesis # SKIP the package schemathesis isn't installed\n1..1")
    sys.exit(0)


def schemathesis_finds_nothing():
    with tempfile.TemporaryDirectory() as tmp, RealServer("--record-grace-ms", "0", "--max-waiting", "100000") as s:
        config = os.path.join(tmp, "schemathesis.toml")
        with open(config, "w") as f:
            f.write('hooks = "openapi_hooks"\n')
        for seed in SEEDS:
            p = subprocess.run([SCHEMATHESIS, "--config-file", config, "run", f"http://127.0.0.1:{s.port}/openapi.json", "--phases",
                                "coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", seed, "--generation-database", "none",
                                "--continue-on-failure", "--no-color"], cwd=tmp, capture_output=True, text=True, timeout=1200,
                               env={**os.environ, "PYTHONPATH": HERE})
            if p.returncode:
                print(p.stdout[-8000:], p.stderr[-2000:], file=sys.stderr)
            equal(p.returncode, 0, f"exit status of schemathesis with seed {seed}")


sys.exit(run_tests([schemathesis_finds_nothing]))
