#!/usr/bin/env python3
"""test_grade_folders.py: folders as people hand them in to `servelab grade`: unchanged starters, debris, links, bombs,
code that doesn't compile, broken data. Only the standard library. Prints TAP."""

# servelab-test: waits long
import json
import os
import re
import resource
import shutil
import subprocess
import sys

from grading import (CODE, DATA, QUICK, REFERENCE, TMP, check, grade, main, reference, run, submission,
                     wrong_percentile)
from plant import plant


# ---- what counts as begun -----------------------------------------------------------------------

def test_starter_unchanged_is_not_attempted():
    starters = os.path.join(TMP, "starters")
    os.mkdir(starters)
    subprocess.run(["common/course/make_labs.sh", "--to", starters], check=True, capture_output=True)
    folder = os.path.join(starters, "01_request_record")
    v = grade(folder)
    assert v["exit_status"] == 3 and not v["attempted"], v["exit_status"]
    assert v["points_earned"] == 0 and v["points_total"] == 100
    assert all(c["outcome"] == "not_run" for c in v["checks"])
    p = run("01", folder)
    text = p.stdout.decode()
    assert p.returncode == 3
    assert "First step" in text and len(text.splitlines()) < 10, text
    # the check it names is one that the first step alone earns
    named = re.search(r"CHECK=(\S+)", text).group(1)
    first = submission("first step")
    helpers = re.search(r"(static const struct interval absent.*?)// END SOLUTION", reference("intervals.c"), re.S)
    body = re.compile(r"^struct interval interval_between\(.*?^}$", re.M | re.S)
    with open(os.path.join(folder, "intervals.c"), encoding="utf-8") as f:
        one = body.sub(lambda m: helpers.group(1) + body.search(reference("intervals.c")).group(0), f.read())
    with open(os.path.join(first, "intervals.c"), "w", encoding="utf-8") as f:
        f.write(one)
    assert check(grade(first, "--check", named), named)["outcome"] == "earned"
    # one function written, and it counts
    begun = submission("begun")
    for f in ["classify.c", "percentile.c", "slo.c"] + DATA:
        shutil.copy(os.path.join(folder, f), begun)
    v = grade(begun)
    assert v["exit_status"] == 1 and v["attempted"]
    assert 0 < v["points_earned"] <= 32, v["points_earned"]
    todo = [c for c in v["checks"] if c["todo"]]
    assert len(todo) > 30 and all(c["points_earned"] == 0 for c in todo)


def test_files_of_another_lab_are_not_attempted():
    folder = os.path.join(TMP, "other lab")
    os.mkdir(folder)
    for name in ["policy.c", "findings.json", "Makefile"]:
        open(os.path.join(folder, name), "w", encoding="utf-8").write("int x;\n")
    v = grade(folder, "--check", QUICK)
    assert v["exit_status"] == 3 and v["points_earned"] == 0


def test_edited_tests_that_come_along_are_ignored():
    folder = submission("with tests", percentile_c=wrong_percentile())
    for name, text in {"Makefile": "all:\n\ttouch /tmp/ran\n", "test.h": "#define PASS 1\n",
                       "objective/percentile.h": "#error mine\n", "grader/lab.h": "#error\n",
                       "percentile.h": "#error mine\n"}.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w", encoding="utf-8").write(text)
    v = grade(folder, "--check", QUICK)
    assert check(v, "slo.percentile_rank")["outcome"] == "lost"
    assert check(v, "slo.strict")["outcome"] == "earned"


# ---- folders as they are handed in ----------------------------------------------------------------

def test_extra_folder_debris_crlf_and_odd_names():
    outer = os.path.join(TMP, "-abgabe É mit 'Leer zeichen\"")
    inner = os.path.join(outer, "-lösung 01")
    os.makedirs(os.path.join(outer, "__MACOSX"))
    os.rename(submission("packed"), inner)
    for f in CODE + DATA:
        path = os.path.join(inner, f)
        text = open(path, "rb").read().replace(b"\n", b"\r\n")
        open(path, "wb").write(b"\xef\xbb\xbf" + text)
    open(os.path.join(outer, ".DS_Store"), "wb").write(b"\0\0\0\1Bud1")
    open(os.path.join(outer, "__MACOSX", "._percentile.c"), "wb").write(b"\0\5\26\7")
    v = grade(outer)
    assert v["points_earned"] == 100 and v["exit_status"] == 0, v
    # the same with a name that only begins with a dash, from within
    p = run("01", "--json", "--check", "slo.strict", "--", "-lösung 01", cwd=outer)
    assert p.returncode == 0, p.stderr


def test_two_candidates_are_asked_about():
    outer = os.path.join(TMP, "two")
    os.mkdir(outer)
    os.rename(submission("a1"), os.path.join(outer, "first"))
    os.rename(submission("a2"), os.path.join(outer, "second"))
    p = run("01", outer)
    assert p.returncode == 2 and b"first" in p.stderr and b"second" in p.stderr, p.stderr


def refused_file(make, *words, flags=()):
    """percentile.c made by make(path): refused by name, the other files are graded. Returns the message and the sandbox."""
    folder = submission("odd" + str(refused_file.n))
    refused_file.n += 1
    path = os.path.join(folder, "percentile.c")
    os.unlink(path)
    make(path)
    v = grade(folder, "--check", QUICK, *flags)
    assert check(v, "slo.percentile_rank")["outcome"] == "not_run", check(v, "slo.percentile_rank")
    assert check(v, "slo.strict")["outcome"] == "earned"
    assert v["exit_status"] == 1 and "percentile.c" in v["problem"], v["problem"]
    for word in words:
        assert word in v["problem"], v["problem"]
    return v["problem"], v["sandbox"]


refused_file.n = 0


def write(data):
    def make(path):
        with open(path, "wb") as f:
            f.write(data)
    return make


def test_links_out_of_the_submission():
    refused_file(lambda p: os.symlink(os.path.join(REFERENCE, "percentile.c"), p), "symbolic link")
    refused_file(lambda p: os.symlink("../../../../etc/passwd", p), "symbolic link")
    # a folder that is a link is not looked into
    outer = os.path.join(TMP, "linked")
    os.mkdir(outer)
    os.symlink(REFERENCE, os.path.join(outer, "inner"))
    v = grade(outer, "--check", QUICK)
    assert v["exit_status"] == 3


def test_devices_and_fifos():
    refused_file(os.mkfifo, "not a regular file")
    refused_file(os.mkdir, "percentile.c")
    if os.geteuid() == 0:
        refused_file(lambda p: os.mknod(p, 0o20666, os.makedev(1, 5)), "not a regular file")


def test_a_gigabyte():
    def sparse(path):
        with open(path, "wb") as f:
            f.truncate(1 << 30)
    refused_file(sparse, "too large")


def test_missing_empty_binary():
    refused_file(lambda p: None, "missing")
    refused_file(write(b""), "empty")
    refused_file(write(b"\xef\xbb\xbf"), "empty")
    refused_file(write(b"\x7fELF\2\1\1\0\0\0"), "not text")
    refused_file(write("int x;\n".encode("utf-16")), "not text", "UTF-16")


def test_does_not_compile():
    refused_file(write(b"#include \"objective/percentile.h\"\n\nint x = undeclared_thing;\n"),
                 "percentile.c:3:", "undeclared_thing", "int x = undeclared_thing;")
    refused_file(write(b"#include \"no_such_header.h\"\n"), "percentile.c:1:", "no_such_header.h")
    refused_file(write(b"int f(void) {\n"), "percentile.c:")
    refused_file(write(b"\xff\xfe\x01 garbage ((((\n" * 100), "percentile.c:")


def test_compiler_bombs():
    refused_file(write(b"#include \"percentile.c\"\n"), "percentile.c:")
    bomb = "#define A0 1+1+1+1+1+1+1+1\n" + "".join(
        f"#define A{i} A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}\n" for i in range(1, 12))
    refused_file(write((bomb + "int x = A11;\n").encode()), "gave up")


def test_more_static_data_than_a_process_may_have():
    more = "static %s big[%s];\nchar *percentile_big(long i);\nchar *percentile_big(long i) { return &big[i]; }\n"
    for i, (kind, size) in enumerate([("char", "600u << 20"), ("_Thread_local char", "600u << 20"), ("char", "3ul << 30")]):
        v = grade(submission(f"static{i}", percentile_c=reference("percentile.c") + more % (kind, size)), "--check", QUICK)
        assert "percentile.c has " in v["problem"] and "static and thread-local data" in v["problem"], (kind, v["problem"])
        assert v["exit_status"] == 1 and v["complete"], v
        assert check(v, "intervals.rounding")["outcome"] == "earned", v


def test_data_files_up_to_the_bound():
    for file in ("record.json", "objective.json"):
        v = grade(submission("blanks " + file, **{file.replace(".", "_"): reference(file) + " " * 1200000}), "--check", "evidence")
        assert v["exit_status"] == 0, (file, v["problem"], [c["message"] for c in v["checks"] if "message" in c])


def test_a_small_stack_limit_costs_no_points():
    def small(hard):
        return lambda: resource.setrlimit(resource.RLIMIT_STACK, (65536, hard))
    p = run("01", "--check", QUICK + ",safety", "--", REFERENCE, preexec_fn=small(resource.RLIM_INFINITY))
    assert p.returncode == 0, (p.returncode, p.stdout, p.stderr)


def test_warnings_by_the_thousand():
    noise = "".join(f"#warning number {i}\nstatic int unused_{i};\n" for i in range(3000))
    v = grade(submission("noisy", percentile_c=noise + reference("percentile.c")), "--check", QUICK)
    assert v["exit_status"] == 0, v["problem"]


def test_data_that_is_no_data():
    for i, text in enumerate([b"", b"{", b"[[[[" * 50000, b'{"schema": 1e999}', b"\xff\xfe{}",
                              b'{"a": 1, "a": 2}', b"null", b'{"schema":"\x1b[2J\\u001b[2J"}']):
        folder = submission(f"data{i}", record_json=text, objective_json=text)
        v = grade(folder, "--check", "evidence")
        assert v["points_earned"] == 0 and v["exit_status"] == 1, (i, v["points_earned"])
        assert all(c["outcome"] in ("lost", "not_run") for c in v["checks"])


def test_two_files_with_one_name_and_a_missing_function():
    helper = "int helper(void);\nint helper(void) { return 1; }\n"
    v = grade(submission("twice", slo_c=reference("slo.c") + helper,
                         percentile_c=reference("percentile.c") + helper), "--check", QUICK)
    assert "helper" in v["problem"] and v["exit_status"] == 1, v["problem"]
    text = plant(reference("intervals.c"), "int64_t interval_divide(", "int64_t interval_divid(")
    text = plant(text, "#include <string.h>",
                 "#include <string.h>\nstatic int64_t interval_divid(int64_t n, int64_t d);")
    v = grade(submission("less", intervals_c=text), "--check", "intervals.rounding,intervals.e2e")
    assert check(v, "intervals.rounding")["todo"], check(v, "intervals.rounding")


def test_a_header_that_exists_elsewhere_is_not_given():
    outside = os.path.join(TMP, "mine.h")
    write(b"int mine;\n")(outside)
    source = write(f"#include \"{outside}\"\n".encode())
    for mode in ("auto", "rlimits"):
        message, sandbox = refused_file(source, "percentile.c", outside, "given ones can be included", flags=("--sandbox", mode))
        # in bubblewrap the compiler doesn't find the file; with resource limits alone it does, and its list of includes is refused
        assert message.startswith("percentile.c:1:" if sandbox.startswith("bubblewrap") else "percentile.c includes"), (message, sandbox)


def test_a_missing_file_is_told_once():
    text = run("01", "--", submission("once", slo_c=None)).stdout.decode()
    assert text.count("slo.c is missing") == 1 and re.search(r"\b\d+ points slo.c is missing", text), text


def test_an_endless_loop_in_a_helper_is_told_once_and_soon():
    text = plant(reference("intervals.c"), "return (n < 0 ?", "for (volatile int i = 1; i;) {}\n    return (n < 0 ?", 1)
    folder = submission("loops", intervals_c=text)
    out = os.path.join(TMP, "loops.json")
    shown = run("01", "--seed", "3", "--format", "text,json=" + out, "--", folder).stdout.decode()
    v = json.load(open(out, encoding="utf-8"))
    ran_out = [c["id"] for c in v["checks"] if "didn't come to an end" in c.get("message", "")]
    waited = [c["id"] for c in v["checks"] if "the same endless loop" in c.get("message", "")]
    assert 2 <= len(ran_out) <= 8 and len(waited) > 4, (ran_out, waited)
    assert all(c["outcome"] == "not_run" for c in v["checks"] if c["id"] in waited)
    assert len(re.findall(r"^      case ", shown, re.M)) == 1, shown
    # functions that don't run into it keep their points
    for name in ["intervals.clock_offset", "intervals.negative"]:
        assert check(v, name)["outcome"] in ("earned", "not_run"), check(v, name)
    assert all(c["outcome"] == "earned" for c in v["checks"] if c["dimension"] in ("quality", "slo"))


if __name__ == "__main__":
    sys.exit(main(globals()))
