#!/usr/bin/env python3
"""test_cli.py: `make help`, and the program `servelab` as a whole: each listed command has a --help whose first example
runs, refuses a bad value of each flag by name, and exits with 4 when its output can't be written."""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
NEED_A_SERVER = ("serve", "load", "load sweep")
MAY_BE_EMPTY = ("--prompt",)

count = failed = 0


def report(ok, name, detail=""):
    global count, failed
    count += 1
    failed += not ok
    print(("ok" if ok else "not ok"), count, "-", name, flush=True)
    if not ok:
        print("#", name, ":", detail, file=sys.stderr)


def run(*args, stdout=subprocess.PIPE):
    return subprocess.run([SERVELAB, *args], cwd=work, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                          text=True, timeout=600)


def commands():
    return re.findall(r"^  ((?:[a-z]+ )?[a-z]+)  +\S", run("--help").stdout, re.M)


def help_and_example(command):
    shown = run(*command.split(), "--help")
    report(shown.returncode == 0 and shown.stdout.startswith(f"usage: servelab {command} ") and not shown.stderr,
           f"{command} --help", shown)
    report(shown.stdout == run(*command.split(), "-h").stdout, f"{command} -h is the same", shown)
    example = re.search(r"^example: build/bin/servelab (.*)$", shown.stdout, re.M).group(1)
    if command not in NEED_A_SERVER:
        done = run(*shlex.split(example))
        report(done.returncode == 0, f"the example runs: {example}", done)
    return shown.stdout, shlex.split(example)


def bad_values(command, text):
    for flag, value in re.findall(r"^  (--[a-z0-9-]+)(?: (\S+))?", text, re.M):
        bad = "" if value else "x"
        if flag in MAY_BE_EMPTY:
            continue
        done = run(*command.split(), f"{flag}={bad}")
        report(done.returncode == 2 and f"servelab {command}: {flag} takes " in done.stderr and
               f"not '{bad}'" in done.stderr and done.stderr.endswith(f"try: servelab {command} --help\n") and
               not done.stdout, f"{command} {flag}={bad} is refused", done)
    done = run(*command.split(), "--jsno")
    report(done.returncode == 2 and "--jsno is not a flag" in done.stderr and "nearest one is --json" in done.stderr,
           f"{command}: an unknown flag gets the nearest one", done)


def full(command, example):
    """Each output that can't be written is exit status 4 with the reason."""
    with open("/dev/full", "w") as out:
        for args in (example, [*command.split(), "--help"]):
            if command in NEED_A_SERVER and args == example:
                continue
            done = run(*args, stdout=out)
            report(done.returncode == 4 and "No space left" in done.stderr, f"{shlex.join(args)} > /dev/full", done)
        if command not in NEED_A_SERVER:
            done = run(*example, "--json", stdout=out)
            report(done.returncode == 4 and "No space left" in done.stderr, f"{command} --json > /dev/full", done)


def names():
    def says(args, *parts):
        done = run(*args)
        report(done.returncode == 2 and all(p in done.stderr for p in parts) and not done.stdout,
               f"servelab {' '.join(args)}", done)

    says([], "usage: servelab COMMAND", "record check")
    says(["recrod"], "there is no command 'recrod'", "the nearest one is 'record'", "try: servelab --help")
    says(["sim", "swep"], "there is no command 'sim swep'", "'sim sweep'", "try: servelab sim --help")
    says(["sim"], "usage: servelab sim COMMAND", "sim run", "sim sweep")
    says(["model", "\033[31m"], "'model ?[31m'")
    for group in ("record", "sim", "model"):
        shown = run(group, "--help")
        report(shown.returncode == 0 and f"  {group} " in shown.stdout and "example: build/bin/servelab" in shown.stdout,
               f"servelab {group} --help", shown)
    report(run("help").stdout == run("--help").stdout == run("-h").stdout != "", "servelab help, --help, -h")


def make_help():
    """Each described target of the Makefiles is in the list, under one of four headings."""
    shown = subprocess.run(["make", "-s", "help"], cwd=TOP, capture_output=True, text=True, timeout=60).stdout
    report(re.findall(r"^for the (\w+)$", shown, re.M) == ["learner", "lecturer", "instructor", "maintainer"],
           "make help has four groups", shown)
    files = ["Makefile", *glob.glob("**/module.mk", root_dir=TOP, recursive=True)]
    for target in (t for f in files if not f.startswith("build/")
                   for t in re.findall(r"^([a-z-]+):.*## ", open(os.path.join(TOP, f)).read(), re.M)):
        report(len(re.findall(f"^  {target} +\\S", shown, re.M)) == 1, f"make help lists {target}", shown)


with tempfile.TemporaryDirectory(prefix="servelab-cli-") as work:
    for part in os.listdir(TOP):  # the examples name files of the project, and write into build/
        if part != "build":
            os.symlink(os.path.join(TOP, part), os.path.join(work, part))
    os.mkdir(os.path.join(work, "build"))
    names()
    make_help()
    for c in commands():
        page, words = help_and_example(c)
        bad_values(c, page)
        if os.path.exists("/dev/full"):
            full(c, words)
    report(len(commands()) >= 11, "the list of commands is whole", commands())
print(f"1..{count}")
sys.exit(failed > 0)
