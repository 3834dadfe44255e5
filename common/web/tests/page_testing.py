"""page_testing.py: what the page's tests share: TAP lines, one browser for all of a file's tests, and its skip.

A test is a function test_...(browser, ...) whose docstring's first line is its name; it fails by raising.
"""
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from webdriver import Browser, BrowserMissing  # noqa: E402


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def expect_equal(got, want, what):
    expect(got == want, f"{what}: got {got!r}, want {want!r}")


def expect_within(got, lo, hi, what):
    expect(got is not None and lo <= got <= hi, f"{what}: got {got}, want {lo} .. {hi}")


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
    except Exception as e:  # every kind of failure is a failed test, and the next one still runs
        print(f"not ok {i} - {title(test)}: {' '.join(str(e).split())[:300]}", flush=True)
        traceback.print_exc()
        print(f"rerun: python3 {Path(sys.argv[0])} {test.__name__}", file=sys.stderr)
        return False
    print(f"ok {i} - {title(test)}", flush=True)
    return True
