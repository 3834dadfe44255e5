#!/usr/bin/env python3
"""test_run_tests.py: the test runner counts each way in which a test can fail, and leaves no process behind.

Runs run_tests.py in a separate tree, over tests that are a few lines of shell. TAP.
servelab-test: waits long
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 60
count = failures = 0


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok and why:
        print("# " + str(why).strip().replace("\n", "\n# "), flush=True)


class Tree:
    """A tree with the runner and the given tests: file name -> lines of bash. {} in a line is the tree's folder."""

    def __init__(self, tests, allowed=""):
        self.path = tempfile.mkdtemp(prefix="servelab-runner-")
        for folder in ("common/testing", "tests", ".ci"):
            os.makedirs(os.path.join(self.path, folder))
        shutil.copy(os.path.join(HERE, "../run_tests.py"), os.path.join(self.path, "common/testing"))
        self.write(".ci/allowed-skips", allowed)
        self.tests = [f"tests/{name}" for name in tests]
        for name, text in tests.items():
            self.write(f"tests/{name}", text.replace("{}", self.path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
            f.write(text)

    def has(self, name):
        return os.path.exists(os.path.join(self.path, name))

    def start(self, **env):
        clean = {k: v for k, v in os.environ.items() if k not in ("TEST_FILTER", "TEST_LOGS", "JOBS", "TEST_TIMEOUT_S")}
        return subprocess.Popen([sys.executable, "common/testing/run_tests.py", *self.tests], cwd=self.path, text=True,
                                env={**clean, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, **env):
        """(exit status, lines printed)."""
        p = self.start(**env)
        text = p.communicate(timeout=PATIENCE_S)[0]
        return p.returncode, text.rstrip("\n").split("\n")


def alive(mark):
    """Does a process run that has `mark` in its command line?"""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as f:
                if mark.encode() in f.read():
                    return True
        except OSError:
            pass
    return False


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_S} s for: {what}"
        time.sleep(0.01)


def check_counting():
    """One test a kind of failure: the counts, the reason in words, and the exit status."""
    for name, text, want, reason in (
            ("passes", "echo ok 1 - a; echo ok 2 - b; echo 1..2", "2 passed, 0 failed, 0 skipped", ""),
            ("says not ok", "echo ok 1 - a; echo not ok 2 - b; exit 1", "1 passed, 1 failed, 0 skipped", "test_it.sh: not ok 2 - b"),
            ("says not ok and exits with 0", "echo not ok 1 - b", "0 passed, 1 failed, 0 skipped", "not ok 1 - b"),
            ("prints nothing", "exit 0", "0 passed, 1 failed, 0 skipped", "ran no test (exit status 0)"),
            ("exits with 7", "echo ok 1 - a; exit 7", "1 passed, 1 failed, 0 skipped", "exit status 7 although"),
            ("is killed", "echo ok 1 - a; kill -SEGV $$", "1 passed, 1 failed, 0 skipped", "ended by SIGSEGV although"),
            ("stops before its plan's end", "echo 1..3; echo ok 1 - a", "1 passed, 1 failed, 0 skipped", "planned 3 tests and ran 1"),
            ("only skips", "echo 'ok 1 - a # SKIP no card'", "0 passed, 1 failed, 1 skipped", "no test ran"),
            ("skips besides passing", "echo ok 1 - a; echo 'ok 2 - b # SKIP no card'", "1 passed, 0 failed, 1 skipped", ""),
            ("skips what may not be skipped", "echo ok 1 - a; echo 'ok 2 - b # SKIP no time'", "1 passed, 1 failed, 0 skipped",
             "skip that .ci/allowed-skips doesn't list: ok 2 - b # SKIP no time"),
            ("hangs", "echo ok 1 - a; sleep 1000", "1 passed, 1 failed, 0 skipped", "ended by the time-out of 1 s although")):
        with Tree({"test_it.sh": text}, "test_it\\.sh: .*# SKIP no card\tfew have one\n") as tree:
            status, lines = tree.run(TEST_TIMEOUT_S="1" if name == "hangs" else str(PATIENCE_S))
            good = lines[-1] == want and status == (0 if ", 0 failed" in want else 1) and reason in "\n".join(lines)
            report(good, f"a test that {name}: {want}", "\n".join(lines))
    with Tree({}) as tree:
        tree.tests = ["tests/test_absent"]
        lines = tree.run()[1]
        report("could not be started: No such file" in lines[-2], "a test that isn't there is a failure", "\n".join(lines))
    with Tree({"test_a.sh": "echo ok 1 - a", "test_b.sh": "echo ok 1 - b"}) as tree:
        lines = tree.run(TEST_FILTER="_b")[1]
        report(lines[-1] == "1 passed, 0 failed, 0 skipped" and "test_a" not in "\n".join(lines), "TEST_FILTER selects by the path",
               "\n".join(lines))
        status, lines = tree.run(TEST_FILTER="_c")
        report(status == 1 and lines[-1] == "0 passed, 1 failed, 0 skipped", "a filter that selects none is a failure", "\n".join(lines))
    with open(os.path.join(HERE, "../../../.ci/allowed-skips"), encoding="utf-8") as f:
        lines = [line for line in f if not line.startswith("#") and not re.match(r"[^ ]+: \.\*|step ", line)]
    report(not lines, "each allowed skip leaves room for its line's number", "".join(lines))


def check_order():
    meets = "for i in $(seq 600); do [ -e {}/%s ] && break; sleep 0.1; done; [ -e {}/%s ] && echo ok 1 - met\n"
    with Tree({"test_1.sh": "touch {}/one; " + meets % ("two", "two"), "test_2.sh": "touch {}/two; " + meets % ("one", "one")}) as tree:
        lines = tree.run(JOBS="2")[1]
        report(lines[-1] == "2 passed, 0 failed, 0 skipped", "two tests run at once", "\n".join(lines))
    alone = "# servelab-test: alone\nmkdir {}/busy && sleep 0.2 && rmdir {}/busy && echo ok 1 - alone\n"
    beside = "[ ! -e {}/busy ] && sleep 0.2 && [ ! -e {}/busy ] && echo ok 1 - not beside it\n"
    with Tree({"test_1.sh": alone, "test_2.sh": beside, "test_3.sh": alone, "test_4.sh": beside}) as tree:
        lines = tree.run(JOBS="4")[1]
        report(lines[-1] == "4 passed, 0 failed, 0 skipped", "a test that is marked `alone` has none beside it", "\n".join(lines))
    # 1 is marked long and so starts first; the list's order is printed whichever ends first
    with Tree({"test_2.sh": "echo 2 >>{}/started; echo ok 1", "test_1.sh": "# servelab-test: long\necho 1 >>{}/started; echo ok 1"}) as tree:
        lines = tree.run(JOBS="1")[1]
        with open(os.path.join(tree.path, "started"), encoding="utf-8") as f:
            started = f.read().split()
        report(started == ["1", "2"] and lines[0].startswith("tests/test_2") and lines[1].startswith("tests/test_1"),
               "the longest starts first, results come in the list's order", f"{started} {lines}")
    with Tree({"test_2.sh": "sleep 1.2; echo 2 >>{}/started; echo ok 1 - a", "test_1.sh": "echo 1 >>{}/started; echo ok 1 - a"}) as tree:
        tree.run(JOBS="1")
        lines = tree.run(JOBS="1")[1]
        with open(os.path.join(tree.path, "started"), encoding="utf-8") as f:
            started = f.read().split()[-2:]
        report(started == ["2", "1"], "the last run's durations decide which starts first", started)
        slow = [line.split()[2] for line in lines if line.startswith("     1.")]
        report(slow == ["tests/test_2.sh"], "the slow ones are named before the last line", "\n".join(lines))


def check_ends():
    """Children in sessions of their own, which ignore SIGTERM, and a mark in their command line by which they are found."""
    for name, last, env, words in (("that ends", "echo ok 1 - a", {}, "left running: sleep,"),
                                   ("that hangs", "sleep 1000", {"TEST_TIMEOUT_S": "1"}, "time-out of 1 s")):
        mark = f"98764.{os.getpid()}"
        orphan = f"trap '' TERM\nsetsid sleep {mark} &\nsetsid setsid sleep {mark} &\necho ok 1 - b; {last}\n"
        with Tree({"test_it.sh": orphan}) as tree:
            lines = tree.run(**env)[1]
            report(words in "\n".join(lines) and not alive(mark), f"a test {name} leaves no process, and one failure says so",
                   "\n".join(lines))
    mark = f"98762.{os.getpid()}"
    with Tree({"test_it.sh": f"echo ok 1 - a; setsid sleep {mark} & kill -KILL $PPID; sleep {mark}"}) as tree:
        lines = tree.run()[1]
        report(lines[-1] == "1 passed, 1 failed, 0 skipped" and "keeper in the test runner: ended by SIGKILL" in "\n".join(lines)
               and not alive(mark), "a test whose keeper is killed has failed, and leaves no process", "\n".join(lines))
    forks = "import os, time\nend = time.time() + 8\nwhile time.time() < end:\n    if os.fork(): os._exit(0)\n    time.sleep(0.001)"
    with Tree({"test_it.sh": f"echo ok 1 - a; python3 -c '{forks}' 98761.{os.getpid()}"}) as tree:
        lines = tree.run()[1]
        report("left running" in "\n".join(lines), "a process that only lives on in its children is seen", "\n".join(lines))
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        mark = f"98763.{os.getpid()}"
        text = f"setsid sleep {mark} &\ntouch {{}}/up$(basename $0)\nsleep {mark}\n"
        with Tree({"test_1.sh": text, "test_2.sh": text, "test_3.sh": "echo ok 1 - a"}) as tree:
            p = tree.start(JOBS="2")
            wait_until(lambda: tree.has("uptest_1.sh") and tree.has("uptest_2.sh"), "both tests run")
            p.send_signal(sig)
            text = p.communicate(timeout=PATIENCE_S)[0]
            if sig == signal.SIGKILL:
                wait_until(lambda: not alive(mark), "the tests of a killed runner end")
                report(True, "a runner that is killed leaves no process")
                continue
            report(p.returncode == 128 + sig and not alive(mark) and "interrupted: 0 of 3" in text,
                   f"{sig.name}: exit status {128 + sig}, no process is left", f"{p.returncode} {text}")


def check_one_run_a_folder():
    text = "touch {}/up; while [ ! -e {}/go ]; do sleep 0.01; done; echo ok 1 - a\n"
    with Tree({"test_it.sh": text}) as tree:
        first = tree.start()
        wait_until(lambda: tree.has("up"), "the first run's test runs")
        status, lines = tree.run()
        report(status == 2 and "another run" in lines[0], "a second run in the same folder of logs is refused", lines)
        tree.write("go", "")
        status, lines = tree.run(TEST_LOGS="elsewhere")
        report(status == 0, "with another folder it runs", lines)
        text = first.communicate(timeout=PATIENCE_S)[0]
        report(first.returncode == 0 and text.endswith("1 passed, 0 failed, 0 skipped\n"), "the first run is not disturbed", text)


if __name__ == "__main__":
    check_counting()
    check_order()
    check_ends()
    check_one_run_a_folder()
    print(f"1..{count}")
    sys.exit(failures > 0)
