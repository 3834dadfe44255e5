#!/usr/bin/env python3
"""run_tests.py TEST...: runs test programs and scripts, several at once, counts their TAP lines, and ends with the line
  N passed, N failed, N skipped

A test is a Check program, a test_*.sh or a test_*.py. It prints TAP on stdout ("ok 1 - name", "not ok 2 - name",
"ok 3 - name # SKIP reason"). One failure is counted for a test that
  - prints no such line, or fewer or more of them than its plan "1..N" says;
  - exits non-zero, or is ended by a signal or the time-out, without a "not ok";
  - leaves a process running when it ends;
and for each skip that .ci/allowed-skips doesn't list (a line: regular expression for "TEST: TAP line", tab, reason).

A comment in the first 40 lines of a test's source says how it is run: "servelab-test:", then one or more of
  alone   it measures time: it runs after the others, with nothing beside it
  waits   it waits for a process, a thread or a browser: `make soak` repeats it
  long    it takes more than ten seconds: it starts first when build/ has no durations yet

Each test runs in its own session. Every process that it started is ended with it, and when this program is
interrupted. Logs are in build/test-logs, durations in build/test-durations.tsv.

Environment: JOBS, tests at once (default: one a core); TEST_FILTER, a regular expression on the test's path;
TEST_TIMEOUT_S for one test (default 900); TEST_LOGS, another folder for the logs, and durations are not kept; PYTHON for
the .py tests (default build/venv/bin/python, or python3 where that is missing).
"""

import ctypes
import fcntl
import os
import re
import signal
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
DURATIONS = "build/test-durations.tsv"
SLOWEST = 10
PROGRESS_S = 30
GRACE_S = 5  # from SIGTERM to SIGKILL; and how long a test's processes may outlive it
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def main():
    os.chdir(TOP)
    logs = os.environ.get("TEST_LOGS", "build/test-logs")
    os.makedirs(logs, exist_ok=True)
    lock = os.open(logs, os.O_RDONLY)  # held until this process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another run of tests writes its logs to {logs}; wait for it, or give TEST_LOGS another folder", file=sys.stderr)
        return 2
    os.makedirs("build", exist_ok=True)
    os.environ.setdefault("CK_DEFAULT_TIMEOUT", "120")
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # for processes of a keeper that is killed
    known, allowed = read_durations(), read_allowed_skips()
    wanted = re.compile(os.environ.get("TEST_FILTER") or ".")
    tests = [t for t in (Test(path, logs, known) for path in sys.argv[1:]) if wanted.search(t.name)]
    tests.sort(key=lambda t: "alone" in t.marks)  # stable: otherwise the order given
    began = time.monotonic()
    interrupted = Run(tests, allowed).all()
    if "TEST_LOGS" not in os.environ:  # elsewhere, they aren't those of an ordinary run
        write_durations({**known, **{t.name: t.seconds for t in tests if t.seconds is not None}})
    if interrupted:
        print(f"interrupted: {sum(t.seconds is not None for t in tests)} of {len(tests)} tests had ended")
        return 128 + interrupted
    return summary(tests, time.monotonic() - began, logs)


def summary(tests, seconds, logs):
    failures = [f"{t.name}: {why}" for t in tests for why in t.failures]
    passed, skipped = sum(t.passed for t in tests), sum(t.skipped for t in tests)
    if failures:
        print(f"\nWhat failed (logs in {logs}):")
        print("".join(f"  {f}\n" for f in failures), end="")
    slow = sorted((t for t in tests if t.seconds >= 1), key=lambda t: -t.seconds)[:SLOWEST]
    if slow:
        print(f"\nThe slowest of {len(tests)} test programs; all of them took {seconds:.0f} s, several at once:")
        print("".join(f"  {t.seconds:6.1f} s  {t.name}\n" for t in slow), end="")
    failed = len(failures)
    if passed + failed == 0:
        print("no test ran; does T= match the path of a test?")
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


# ---- what is known of the tests -------------------------------------------------------------------------------------


class Test:
    """One test program: its path, its markers, and its result."""

    def __init__(self, path, logs, known):
        self.path = path
        self.name = re.sub(r"^build/obj/[^/]*/", "", path)
        self.marks = read_marks(self.name)
        self.expected_s = known.get(self.name, 60.0 if "long" in self.marks else 1.0)
        self.log = os.path.join(logs, self.name.replace("/", "_") + ".tap")
        self.passed = self.skipped = 0
        self.failures = []
        self.seconds = None  # None: hasn't ended

    def command(self):
        if self.path.endswith(".py"):
            python = os.environ.get("PYTHON", "build/venv/bin/python")
            return [python if os.access(python, os.X_OK) else "python3", self.path]
        return ["bash", self.path] if self.path.endswith(".sh") else [self.path]

    def count(self, end, allowed):
        """Reads the log; `end` is how the test ended, in the words of describe_end, or "" for exit status 0."""
        plan = None
        with open(self.log, encoding="utf-8", errors="replace") as f:
            for line in f.read().split("\n"):
                if line.startswith("not ok "):
                    self.failures.append(line)
                elif line.startswith("ok ") and ("# SKIP" in line or "# skip" in line):
                    if any(p.search(f"{self.name}: {line}") for p in allowed):
                        self.skipped += 1
                    else:
                        self.failures.append(f"skip that .ci/allowed-skips doesn't list: {line}")
                elif line.startswith("ok "):
                    self.passed += 1
                elif m := re.fullmatch(r"1\.\.(\d+)", line.rstrip()):
                    plan = int(m.group(1))
        ran = self.passed + self.skipped + len(self.failures)
        if ran == 0:
            self.failures.append(f"ran no test ({end or 'exit status 0'}); see {self.log}.err")
        elif end and not self.failures:
            self.failures.append(f"{end} although every line says ok; see {self.log}.err")
        elif plan is not None and plan != ran and not self.failures:
            self.failures.append(f"planned {plan} tests and ran {ran}; see {self.log}.err")


def read_marks(name):
    source = name if os.path.splitext(name)[1] else name + ".c"
    try:
        with open(source, encoding="utf-8", errors="replace") as f:
            top = "".join(line for line, _ in zip(f, range(40)))
            return set(" ".join(re.findall(r"servelab-test:([a-z ]+)", top)).split())
    except OSError:
        return set()


def read_durations():
    try:
        with open(DURATIONS, encoding="utf-8") as f:
            return {name: float(seconds) for seconds, name in (line.rstrip("\n").split("\t") for line in f)}
    except (OSError, ValueError):
        return {}


def write_durations(known):
    with open(DURATIONS + ".new", "w", encoding="utf-8") as f:
        f.writelines(f"{seconds:.1f}\t{name}\n" for name, seconds in sorted(known.items()))
    os.replace(DURATIONS + ".new", DURATIONS)


def read_allowed_skips():
    try:
        with open(".ci/allowed-skips", encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    except OSError:
        rows = []
    return [re.compile(row[0]) for row in rows if len(row) == 2 and row[1]]


# ---- running them ----------------------------------------------------------------------------------------------------


class Run:
    """Starts the tests, the longest first, and prints their results in the order of the list."""

    def __init__(self, tests, allowed):
        self.tests, self.allowed = tests, allowed
        self.jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
        self.running = {}  # keeper's pid -> (test, when it began, the pipe on which the keeper reports)
        self.waiting = sorted(tests, key=lambda t: ("alone" in t.marks, -t.expected_s))
        self.printed = 0
        self.shown = time.monotonic()

    def all(self):
        """Runs all of them; returns 0, or the number of the signal that interrupted it."""
        heard = INTERRUPTS | {signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, heard)
        while self.waiting or self.running:
            self.start_some()
            got = signal.sigtimedwait(heard, 1)
            if got and got.si_signo in INTERRUPTS:
                self.interrupt()
                return got.si_signo
            self.collect()
            self.progress()
        return 0

    def start_some(self):
        while self.waiting and len(self.running) < self.jobs:
            if self.running and "alone" in self.waiting[0].marks:
                return
            test = self.waiting.pop(0)
            reading, writing = os.pipe()
            sys.stdout.flush()
            parent, pid = os.getpid(), os.fork()
            if pid == 0:
                os.close(reading)
                keep(test, writing, parent)  # doesn't return
            os.close(writing)
            self.running[pid] = test, time.monotonic(), reading
            if "alone" in test.marks:
                return

    def collect(self):
        for pid in list(self.running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == 0:
                continue
            test, began, reading = self.running.pop(pid)
            test.seconds = time.monotonic() - began
            with open(reading, encoding="utf-8") as f:
                end = f.read()
            if status:  # it reported nothing, so nobody knows how the test ended
                end = f"its keeper in the test runner: {describe_end(status)}"
                self.end_orphans()
            test.count(end, self.allowed)
        while self.printed < len(self.tests) and self.tests[self.printed].seconds is not None:
            show(self.tests[self.printed])
            self.printed += 1

    def end_orphans(self):
        """Ends the processes of a keeper that was killed: they have come to this process."""
        until = time.monotonic() + GRACE_S
        while (orphans := [pid for pid in children() if pid not in self.running]) and time.monotonic() < until:
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def interrupt(self):
        for pid in self.running:
            os.kill(pid, signal.SIGTERM)
        for pid in self.running:
            os.waitpid(pid, 0)

    def progress(self):
        now = time.monotonic()
        if not self.running or now - self.shown < PROGRESS_S:
            return
        self.shown = now
        done = sum(t.seconds is not None for t in self.tests)
        names = ", ".join(f"{t.name} ({now - began:.0f} s)" for t, began, _ in self.running.values())
        print(f"# {done} of {len(self.tests)} tests have ended; now: {names}", file=sys.stderr, flush=True)


def show(test):
    print(f"{test.name:64} {test.passed:4} passed {len(test.failures):3} failed {test.skipped:3} skipped "
          f"{test.seconds:4.0f} s", flush=True)
    if test.failures:
        with open(test.log, encoding="utf-8", errors="replace") as f:
            lines = [line for line in f.read().split("\n") if line.startswith("not ok")][:20]
        with open(test.log + ".err", encoding="utf-8", errors="replace") as f:
            lines += f.read().rstrip("\n").split("\n")[-5:]
        print("".join(f"    {line}\n" for line in lines), end="", flush=True)


# ---- one test, run by a keeper process that adopts its orphans -------------------------------------------------------


def keep(test, report_fd, parent):
    """Runs one test to its end and ends every process that came of it. Reports how it ended; doesn't return."""
    end = "the test runner failed"
    try:
        end = kept(test, parent)
    finally:
        try:
            os.write(report_fd, end.encode())
        finally:  # the runner may have been killed
            os._exit(0)


def kept(test, parent):
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return "interrupted"
    os.setpgid(0, 0)  # Ctrl-C reaches the runner alone, which then asks for the end
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, test.log, flags, 0o644),
             (os.POSIX_SPAWN_OPEN, 2, test.log + ".err", flags, 0o644)]
    command = test.command()
    try:
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=files, setsid=True, setsigmask=(),
                              setsigdef=INTERRUPTS | {signal.SIGPIPE})
    except OSError as e:
        for name in (test.log, test.log + ".err"):
            open(name, "w", encoding="utf-8").close()
        return f"could not be started: {e.strerror}"
    timeout_s = float(os.environ.get("TEST_TIMEOUT_S") or 900)
    status, cause = wait_for(pid, time.monotonic() + timeout_s)
    if not cause:
        left = outlivers(time.monotonic() + GRACE_S)
        end_descendants()
        return describe_end(status) or (f"left running: {', '.join(left)}," if left else "")
    os.killpg(pid, signal.SIGTERM)
    wait_for(pid, time.monotonic() + GRACE_S)
    end_descendants()
    return f"ended by the time-out of {timeout_s:g} s" if cause == "time-out" else "interrupted"


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value)


def describe_end(status):
    code = os.waitstatus_to_exitcode(status)
    return "" if code == 0 else f"exit status {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"


def wait_for(pid, until):
    """(wait status of pid, None), or (None, "time-out" or "interrupt"). Collects orphans on the way."""
    while True:
        while (ended := reap()) is not None:
            if ended[0] == pid:
                return ended[1], None
        got = signal.sigtimedwait(INTERRUPTS | {signal.SIGCHLD}, max(0, until - time.monotonic()))
        if got is None or got.si_signo in INTERRUPTS:
            return None, "time-out" if got is None else "interrupt"


def reap():
    """(pid, status) of one child that has ended, or None."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def outlivers(until):
    """Names of the descendants that still run at that time, or none as soon as all have ended."""
    while has_children() and time.monotonic() < until:
        time.sleep(0.02)
    return (list(descendants().values()) or ["a process that forks"]) if has_children() else []


def end_descendants():
    until = time.monotonic() + GRACE_S
    while has_children() and time.monotonic() < until:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.001)


def has_children():
    """Is any descendant left? An orphan becomes a child of this process, so asking for children misses none; a look into
    /proc may, while they fork."""
    while reap() is not None:
        pass
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return False


def descendants():
    """{pid: command's name} of every living process that came of this one."""
    parent, names = processes()
    found, new = set(), {os.getpid()}
    while new:
        found |= new
        new = {pid for pid, ppid in parent.items() if ppid in new} - found
    return {pid: names[pid] for pid in found if pid in names and pid != os.getpid()}


def children():
    return [pid for pid, ppid in processes()[0].items() if ppid == os.getpid()]


def processes():
    """{pid: parent's pid} of all processes, {pid: command's name} of the living ones; /proc lists them."""
    parent, names = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, ppid = rest.split()[:2]
        parent[int(entry)] = int(ppid)
        if state not in "ZX":
            names[int(entry)] = name
    return parent, names


if __name__ == "__main__":
    sys.exit(main())
