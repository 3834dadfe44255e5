"""page_testing.py: what the page's tests share: TAP lines, one browser for all of a file's tests, and its skip.

A test is a function test_...(browser, ...) whose docstring's first line is its name; it fails by raising.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from webdriver import Browser, BrowserMissing  # noqa: E402


class Skip(Exception):
    """A test can't run on this machine; the text is the reason."""


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def expect_equal(got, want, what):
    expect(got == want, f"{what}: got {got!r}, want {want!r}")


def expect_within(got, lo, hi, what):
    expect(got is not None and lo <= got <= hi, f"{what}: got {got}, want {lo} .. {hi}")


def until(condition, what, patience_s=60):
    """Waits for a state that, once reached, stays."""
    end = time.monotonic() + patience_s
    while not condition():
        expect(time.monotonic() < end, f"waited {patience_s} s for: {what}")
        time.sleep(0.02)


FITS = """
const out = [], edge = innerHeight, high = document.documentElement.scrollHeight;
if (high > edge + 1) out.push(`the page is ${high} high, the window ${edge}`);
for (const p of document.querySelectorAll('.panel, .card'))
    if (p.scrollHeight > p.clientHeight + 1 || p.scrollWidth > p.clientWidth + 1)
        out.push(`${p.id || p.className} is cut off`);
let least = Infinity;
const hasText = (n) => [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
for (const n of document.querySelectorAll('body *')) if (n.checkVisibility() && hasText(n) && !n.closest('.unseen'))
    least = Math.min(least, parseFloat(getComputedStyle(n).fontSize));
return { out, share: least / edge };
"""


def expect_fits(browser, what):
    """All of the page shows without scrolling, nothing is cut off, and the back row can read the smallest text."""
    seen = browser.script(FITS)
    expect_equal(seen["out"], [], what)
    expect(seen["share"] >= 0.0185, f"{what}: smallest text {seen['share']:.4f} of the height")


class Served:
    """A real server on a free port with the embedded model (or SERVELAB_TEST_MODEL's), ended with its `with`."""

    def __init__(self, *flags):
        self.program = os.environ.get("SERVELAB", str(TOP / "build/bin/servelab"))
        self.model = os.environ.get("SERVELAB_TEST_MODEL", str(TOP / "common/model/embedded/servelab-tiny.gguf"))
        self.folder = tempfile.TemporaryDirectory(prefix="servelab-page-")
        self.log, port_file = Path(self.folder.name, "log.jsonl"), Path(self.folder.name, "port")
        self.said = open(Path(self.folder.name, "said"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [
                self.program,
                "serve",
                "--model",
                self.model,
                "--port",
                "0",
                "--port-file",
                str(port_file),
                "--log",
                str(self.log),
                *flags,
            ],
            stdout=self.said,
            stderr=self.said,
        )
        until = time.monotonic() + 60
        while not port_file.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                self.said.seek(0)
                raise RuntimeError(f"the server didn't start: {self.said.read()}")
            time.sleep(0.02)
        self.port = int(port_file.read_text(encoding="ascii"))
        self.url = f"http://127.0.0.1:{self.port}/"

    def check(self, record_path):
        """(exit status, JSON) of `servelab record check --json`."""
        done = subprocess.run(
            [self.program, "record", "check", "--json", str(record_path)], capture_output=True, text=True, check=False
        )
        return done.returncode, json.loads(done.stdout)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.stop()
        self.said.close()
        self.folder.cleanup()


def run(tests, **fixtures):
    """Runs the tests with one browser, prints TAP, returns the exit status. Arguments select by a part of the name."""
    wanted = [t for t in tests if not sys.argv[1:] or any(a in t.__name__ for a in sys.argv[1:])]
    print(f"1..{len(wanted)}", flush=True)
    try:
        with Browser() as browser:
            failed = sum(not one(i, t, browser, fixtures) for i, t in enumerate(wanted, 1))
    except BrowserMissing as e:
        for i, t in enumerate(wanted, 1):
            print(f"ok {i} - {title(t)} # SKIP no browser: {e}")
        return 0
    return 1 if failed or not wanted else 0


def title(test):
    return test.__doc__.strip().splitlines()[0]


def one(i, test, browser, fixtures):
    try:
        test(browser, **fixtures)
    except Skip as e:
        print(f"ok {i} - {title(test)} # SKIP {e}", flush=True)
        return True
    except Exception as e:  # every kind of failure is a failed test, and the next one still runs
        print(f"not ok {i} - {title(test)}: {' '.join(str(e).split())[:300]}", flush=True)
        traceback.print_exc()
        print(f"rerun: python3 {Path(sys.argv[0])} {test.__name__}", file=sys.stderr)
        return False
    print(f"ok {i} - {title(test)}", flush=True)
    return True
