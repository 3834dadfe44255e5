#!/usr/bin/env python3
"""test_grade_surroundings.py: the machine around `servelab grade` costs no points and keeps no leftovers: signals, a killed grader,
sandboxes, users, temporary folders, limits, disks. Only the standard library. Prints TAP."""

# servelab-test: waits long
import concurrent.futures
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from grading import (CODE, QUICK, REFERENCE, SERVELAB, TMP, TOP, WORK, check, grade,
                     main, reference, run, submission, wrong_percentile)


def endless(file):
    """The reference's file with an endless loop at the beginning of each function."""
    text, n = re.subn(r"^(\w[^;=]*\) \{)$", r"\1 for (volatile int i = 1; i;) {}", reference(file), flags=re.M)
    assert n > 0, file
    return text


def test_an_interrupted_grading_leaves_nothing():
    # each function costs two seconds of CPU time, so the states that are waited for last until the signal
    folder = submission("interrupted", **{f.replace(".", "_"): endless(f) for f in CODE})
    compiling, running = "*", "*/out/run"
    others = [signal.SIGQUIT, signal.SIGXCPU, signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXFSZ]
    for sig, state in [(signal.SIGTERM, compiling), (signal.SIGINT, running), (signal.SIGHUP, compiling),
                       *((s, compiling) for s in others)]:
        own = tempfile.mkdtemp(dir=WORK)
        os.chmod(own, 0o1777)
        with subprocess.Popen([SERVELAB, "grade", "01", "--", folder], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": own},
                              # in the background of a shell SIGINT is ignored, and then by the grader, too
                              preexec_fn=lambda s=sig: signal.signal(s, signal.SIG_DFL)) as p:
            while not glob.glob(os.path.join(own, state)):
                assert p.poll() is None, p.communicate()
                time.sleep(0.01)
            p.send_signal(sig)
            out, err = p.communicate(timeout=60)
        assert p.returncode == -sig and not out and not err, (sig, p.returncode, out, err)
        assert not os.listdir(own), os.listdir(own)
        os.rmdir(own)


def killed_grader(folder, own, *flags):
    """A grader ended by SIGKILL while it compiles: its work folder is left."""
    with subprocess.Popen([SERVELAB, "grade", "01", *flags, "--", folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": own}) as p:
        while not glob.glob(os.path.join(own, "*/out/started")) and not glob.glob(os.path.join(own, "*/out/*.i")):
            assert p.poll() is None
            time.sleep(0.01)
        p.kill()


def test_what_a_killed_grader_left_is_swept_at_the_next_start():
    own = tempfile.mkdtemp(dir=WORK)
    os.chmod(own, 0o1777)
    outside = os.path.join(TMP, "outside")
    os.mkdir(outside)
    write = os.path.join(outside, "lock")
    open(write, "w").close()
    killed_grader(submission("killed"), own)
    stale = os.listdir(own)
    assert len(stale) == 1, stale
    # what a sweep must leave alone: links, kept folders, folders without a lock, the folder of a grader that runs
    os.symlink(outside, os.path.join(own, "servelab-grade-linked"))
    os.makedirs(os.path.join(own, "servelab-grade-nolock", "src"))
    os.mkdir(os.path.join(own, "servelab-grade-other-name"))
    left = {"servelab-grade-linked", "servelab-grade-nolock", "servelab-grade-other-name"}
    kept = run("01", "--keep", "--check", "slo.strict", "--", REFERENCE, env={"TMPDIR": own}).stderr.decode().split("/")[-1].strip()
    assert set(os.listdir(own)) == left | {kept}, (os.listdir(own), kept)
    loop = submission("sweep_runs", percentile_c=endless("percentile.c"))
    with subprocess.Popen([SERVELAB, "grade", "01", "--", loop], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env={**os.environ, "TMPDIR": own}) as p:
        while len(os.listdir(own)) == len(left) + 1:
            assert p.poll() is None
            time.sleep(0.01)
        assert grade(REFERENCE, "--check", "slo.strict", env={"TMPDIR": own})["exit_status"] == 0
        p.communicate(timeout=200)
        assert p.returncode == 1, p.returncode
    assert set(os.listdir(own)) == left | {kept} and os.path.exists(write), os.listdir(own)
    shutil.rmtree(own)


def test_a_temporary_folder_that_nobody_can_reach():
    closed = os.path.join(TMP, "closed")
    os.makedirs(os.path.join(closed, "tmp"))
    os.chmod(closed, 0o700)
    os.symlink(os.path.join(closed, "tmp"), os.path.join(TMP, "way_in"))
    for tmp in [os.path.join(closed, "tmp"), os.path.join(TMP, "way_in"), os.path.join(TMP, "not there")]:
        v = grade(REFERENCE, "--check", QUICK, env={"TMPDIR": tmp})
        assert v["exit_status"] == 0, (tmp, v)
    assert not os.listdir(os.path.join(closed, "tmp"))


def home_for_everyone(name="home"):
    """The parts that grading needs, readable by any user wherever the project stands."""
    home = os.path.join(TMP, name)
    for part in ["base", "record", "objective"]:
        os.makedirs(os.path.join(home, "common", part))
        for f in os.listdir(os.path.join(TOP, "common", part)):
            if f.endswith(".h"):
                shutil.copy(os.path.join(TOP, "common", part, f), os.path.join(home, "common", part))
    os.makedirs(os.path.join(home, "build/grader"))
    for f in ["lab01.a", "lab01.asan.a"]:
        shutil.copy(os.path.join(TOP, "build/grader", f), os.path.join(home, "build/grader"))
    shutil.copy(SERVELAB, os.path.join(home, "servelab"))
    shutil.copytree(REFERENCE, os.path.join(home, "reference"))
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)
    return home


def test_both_sandboxes_and_an_ordinary_user():
    home = home_for_everyone()
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    for mode in ["auto", "rlimits"]:
        p = subprocess.run([os.path.join(home, "servelab"), "grade", "01", os.path.join(home, "reference"),
                            "--json", "--sandbox", mode], capture_output=True, timeout=300,
                           stdin=subprocess.DEVNULL, cwd="/", check=False,
                           env={"PATH": "/usr/bin:/bin", "TMPDIR": WORK, "SERVELAB_HOME": home}, **user)
        v = json.loads(p.stdout)
        assert p.returncode == 0 and v["points_earned"] == 100, (mode, v)
        assert mode == "auto" or "limits" in v["sandbox"], v["sandbox"]
        assert "nobody" not in v["sandbox"]


def test_a_program_that_does_not_start():
    """Stand-ins that don't start either: the grader's fault. (test_attacks: if they do, the submission's.)"""
    home, parts = home_for_everyone("broken home"), os.path.join(TMP, "parts")
    os.mkdir(parts)
    archive = os.path.join(home, "build/grader/lab01.a")
    with open(os.path.join(parts, "main.c"), "w", encoding="utf-8") as f:
        f.write("int main(void) { return 7; }\n")
    for command in (["ar", "x", archive, "child.o"], ["objcopy", "--redefine-sym", "main=old_main", "child.o"],
                    ["gcc", "-c", "main.c"], ["ar", "rs", archive, "child.o", "main.o"]):
        subprocess.run(command, cwd=parts, check=True, capture_output=True)
    p = run("01", "--json", "--check", "slo.strict", "--", REFERENCE, env={"SERVELAB_HOME": home})
    c = check(json.loads(p.stdout), "slo.strict")
    assert p.returncode == 4 and c["outcome"] == "grader_fault" and "could not be started" in c["message"], c
    assert run("01", "--json", "--check", "slo.strict", "--", REFERENCE).returncode == 0


def test_a_required_sandbox_or_none():
    nowhere = os.path.join(TMP, "no programs")
    os.mkdir(nowhere)
    p = run("01", "--sandbox", "required", "--json", "--", REFERENCE, env={"PATH": nowhere})
    assert p.returncode == 4 and b"points_earned" not in p.stdout, p
    assert b"nothing was run" in p.stderr and b"hide neither your files nor the network" in p.stderr, p.stderr
    p = run("01", "--check", "slo.strict", "--sandbox", "rlimits", "--", REFERENCE)
    assert p.returncode == 0 and b"hide neither your files nor the network" in p.stdout, p


def test_two_at_once():
    folder = submission("at once", percentile_c=wrong_percentile())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        a, b = pool.map(lambda _: grade(folder, "--check", QUICK), range(2))
    assert a == b


def test_a_private_temporary_folder():
    private = os.path.join(TMP, "private")
    os.mkdir(private, 0o700)
    inner = os.path.join(private, "tmp")
    os.mkdir(inner, 0o755)
    v = grade(REFERENCE, "--check", "slo.strict", env={"TMPDIR": inner})
    assert v["exit_status"] == 0, v
    old = os.umask(0o077)
    try:
        assert grade(REFERENCE, "--check", "slo.strict")["exit_status"] == 0
    finally:
        os.umask(old)


def test_the_surroundings_cost_no_points():
    def small(what, soft):
        return lambda: resource.setrlimit(what, (soft, resource.getrlimit(what)[1]))
    before = {"umask": lambda: os.umask(0o777),
              "nobody waits": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
              **{name: small(getattr(resource, name), soft)
                 for name, soft in [("RLIMIT_NOFILE", 16), ("RLIMIT_FSIZE", 0), ("RLIMIT_CPU", 1),
                                    ("RLIMIT_DATA", 50 << 20), ("RLIMIT_AS", 1 << 30)]}}
    for name, setting in before.items():
        p = run("01", "--check", QUICK + ",safety.memory_slo", "--", REFERENCE, preexec_fn=setting)
        assert p.returncode == 0, (name, p.returncode, p.stdout, p.stderr)


def test_an_ordinary_user_with_any_umask():
    def ordinary():
        os.umask(0o777)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    place = tempfile.mkdtemp(dir="/tmp")
    try:
        os.chmod(place, 0o777)
        if run("01", "--list", preexec_fn=ordinary).returncode:
            return  # the tree is open to its owner alone
        p = run("01", "--check", QUICK, "--", REFERENCE, preexec_fn=ordinary, env={"TMPDIR": place})
        assert p.returncode == 0, (p.returncode, p.stdout, p.stderr)
        assert not os.listdir(place)
    finally:
        shutil.rmtree(place)


def test_a_child_from_before_that_has_ended():
    """It ends before the grader waits for its own. With the fault, each process costs 5 s."""
    command = 'sleep 0 & exec "$@"'
    p = subprocess.run(["sh", "-c", command, "sh", SERVELAB, "grade", "01", "--check", QUICK, "--", REFERENCE],
                       cwd=TOP, capture_output=True, timeout=60)
    assert p.returncode == 0, (p.returncode, p.stdout, p.stderr)


def grade_beside(mounts, *args):
    """A grading in a name space of its own, TMPDIR at /mnt; the project is at /media there, so that nothing is mounted over it.
    None where such name spaces are not to be had."""
    begin = ["unshare", "-rm", "sh", "-c", f'mount --rbind "$0" /media && {mounts} && cd /media && TMPDIR=/mnt exec "$@"', TOP]
    if subprocess.run(begin + ["true"], capture_output=True).returncode:
        return None
    moved = [path.replace(TOP, "/media") for path in (os.path.abspath(SERVELAB), "grade", "01", *args, "--", os.path.abspath(REFERENCE))]
    return subprocess.run(begin + moved, capture_output=True)


def test_a_full_disk_costs_no_points():
    p = grade_beside("for at in /mnt /tmp /var/tmp; do mount -t tmpfs -o size=1400k,mode=1777 none $at || exit 1; done")
    assert not p or p.returncode == 4 and b"set TMPDIR" in p.stderr, (p.returncode, p.stderr)


def test_a_folder_that_runs_no_programs():
    p = grade_beside("mount -t tmpfs -o noexec,mode=1777 none /mnt", "--check", QUICK)
    assert not p or p.returncode == 0, (p.returncode, p.stdout, p.stderr)


def test_a_folder_is_kept_when_asked():
    p = run("01", "--keep", "--check", "slo.strict", "--", REFERENCE)
    kept = os.listdir(WORK)
    assert len(kept) == 1 and kept[0] in p.stderr.decode()
    shutil.rmtree(os.path.join(WORK, kept[0]))


if __name__ == "__main__":
    sys.exit(main(globals()))
