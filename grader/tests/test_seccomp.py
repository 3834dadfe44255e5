#!/usr/bin/env python3
"""test_seccomp.py: every process that runs a submission's code is confined by seccomp, whichever build it is: lab 04's server in
all its threads, its races under ThreadSanitizer, lab 03's kernels, and the children that compute, plain and under the
sanitizers. What the filters refuse is tested in test_sandbox.c. TAP."""

# servelab-test: waits
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
LIMIT_S = 60
count = failures = 0


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}{'' if ok else ': ' + str(why)}", flush=True)


def modes(pid):
    """The modes of a process's threads; 2 is a filter."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path, encoding="utf-8") as f:
            found += re.findall(r"^Seccomp:\s*(\d)", f.read(), re.M)
    return found


def built(lab, folder, check):
    """The work folder of a grading of the reference, kept."""
    p = subprocess.run([SERVELAB, "grade", lab, os.path.join(TOP, "solutions", folder), "--check", check, "--keep", "--seed", "5"],
                       capture_output=True, text=True, check=False, cwd=TOP)
    return re.search(r"work folder: (\S+)", p.stdout + p.stderr).group(1)


def watch(name, argv, ready, every):
    """Runs a program with a channel on descriptor 3 until `ready`; every: of its threads, or of its first."""
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    with ours, theirs, tempfile.TemporaryFile() as out:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, close_fds=False,
                             preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        ours.settimeout(LIMIT_S)
        ready(p, ours)
        seen = modes(p.pid)
        with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
            first = re.findall(r"^Seccomp:\s*(\d)", f.read(), re.M)
        p.kill()
        p.wait()
    report(first == ["2"] and (not every or set(seen) == {"2"}), name, f"modes {first} {seen}")


def greeted(_, channel):
    channel.recv(8)


def confined_within(p, _):
    """For a program that says nothing before its end."""
    end = time.monotonic() + LIMIT_S
    while "2" not in modes(p.pid) and p.poll() is None and time.monotonic() < end:
        time.sleep(0.001)


def main():
    folder = built("04", "04_serving", "safety.server,safety.memory_engine")
    out = os.path.join(folder, "out")
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "s")

        def answers(p, _):
            end = time.monotonic() + LIMIT_S
            while not os.path.exists(path) and p.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                s.sendall(b"GET /health HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n")
                s.settimeout(LIMIT_S)
                s.recv(1)

        watch("lab 04's server, all threads", [os.path.join(out, "server"), "serve", "--host", path, "--model",
                                               os.path.join(folder, "given/servelab-tiny.gguf"), "--backend", "cpu",
                                               "--kv-blocks", "64"], answers, True)
    watch("lab 04's races", ["/usr/bin/setarch", "-R", os.path.join(out, "races"), "nonce"], confined_within, False)
    for name in ("run", "run.asan"):
        watch(f"lab 04's {name}", [os.path.join(out, name)], greeted, False)
    shutil.rmtree(folder, ignore_errors=True)
    folder = built("03", "03_kernels", "copy")
    watch("lab 03's kernel", [os.path.join(folder, "out/k_copy")], greeted, True)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{count}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
