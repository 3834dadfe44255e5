#!/usr/bin/env python3
"""test_grade.py: `servelab grade` as a person meets it: folders as they are handed in, exit statuses,
messages, both renderings, hidden seeds. Only the standard library. Prints TAP."""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCE = os.path.join(TOP, "solutions/01_request_record")
CODE = ["intervals.c", "classify.c", "percentile.c", "slo.c"]
DATA = ["record.json", "objective.json"]
QUICK = "slo.percentile_rank,slo.strict,intervals.rounding,quality.truncation"

os.chdir(TOP)
TMP = tempfile.mkdtemp(prefix="servelab-test-")
os.chmod(TMP, 0o755)
WORK = os.path.join(TMP, "work")  # where the grader makes its folders, so that leftovers are seen
os.mkdir(WORK)
os.chmod(WORK, 0o1777)


def run(*args, env=None, **kw):
    full = {**os.environ, "TMPDIR": WORK, **(env or {})}
    return subprocess.run([SERVELAB, "grade", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300, env=full, **kw)


def grade(folder, *args, **kw):
    """JSON verdict of a run with a practice seed."""
    p = run("01", "--json", "--seed", "11", *args, "--", folder, **kw)
    assert p.stdout, (p.returncode, p.stderr)
    v = json.loads(p.stdout.decode("utf-8"))
    assert "error" in v or v["exit_status"] == p.returncode, (v.get("exit_status"), p.returncode)
    return v


def submission(name, **replaced):
    """A copy of the reference; intervals_c="text" replaces a file, None removes it."""
    folder = os.path.join(TMP, name)
    os.mkdir(folder)
    for f in CODE + DATA:
        shutil.copy(os.path.join(REFERENCE, f), folder)
    for key, text in replaced.items():
        path = os.path.join(folder, key.replace("_c", ".c").replace("_json", ".json"))
        os.unlink(path)
        if text is not None:
            with open(path, "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
    return folder


def reference(file):
    with open(os.path.join(REFERENCE, file), encoding="utf-8") as f:
        return f.read()


def check(v, name):
    return next(c for c in v["checks"] if c["id"] == name)


def wrong_percentile():
    """Interpolates nothing, but rounds the rank down."""
    text = reference("percentile.c")
    assert " + WHOLE - 1) / WHOLE" in text
    return text.replace(" + WHOLE - 1) / WHOLE", ") / WHOLE + 1")


# ---- what counts as begun -----------------------------------------------------------------------

def test_g23_starter_unchanged_is_not_attempted():
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


def test_g23_files_of_another_lab_are_not_attempted():
    folder = os.path.join(TMP, "other lab")
    os.mkdir(folder)
    for name in ["policy.c", "findings.json", "Makefile"]:
        open(os.path.join(folder, name), "w", encoding="utf-8").write("int x;\n")
    v = grade(folder, "--check", QUICK)
    assert v["exit_status"] == 3 and v["points_earned"] == 0


def test_g23_edited_tests_that_come_along_are_ignored():
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

def test_g20_extra_folder_debris_crlf_and_odd_names():
    outer = os.path.join(TMP, "-abgabe É mit 'Leer zeichen\"")
    inner = os.path.join(outer, "-lösung 01")
    os.makedirs(os.path.join(outer, "__MACOSX"))
    os.rename(submission("g20"), inner)
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


def test_g20_two_candidates_are_asked_about():
    outer = os.path.join(TMP, "two")
    os.mkdir(outer)
    os.rename(submission("a1"), os.path.join(outer, "first"))
    os.rename(submission("a2"), os.path.join(outer, "second"))
    p = run("01", outer)
    assert p.returncode == 2 and b"first" in p.stderr and b"second" in p.stderr, p.stderr


def refused_file(make, *words):
    """percentile.c made by make(path): refused by name, the other files are graded."""
    folder = submission("odd" + str(refused_file.n))
    refused_file.n += 1
    path = os.path.join(folder, "percentile.c")
    os.unlink(path)
    make(path)
    v = grade(folder, "--check", QUICK)
    assert check(v, "slo.percentile_rank")["outcome"] == "not_run", check(v, "slo.percentile_rank")
    assert check(v, "slo.strict")["outcome"] == "earned"
    assert v["exit_status"] == 1 and "percentile.c" in v["problem"], v["problem"]
    for word in words:
        assert word in v["problem"], v["problem"]


refused_file.n = 0


def write(data):
    def make(path):
        with open(path, "wb") as f:
            f.write(data)
    return make


def test_g21_links_out_of_the_submission():
    refused_file(lambda p: os.symlink(os.path.join(REFERENCE, "percentile.c"), p), "symbolic link")
    refused_file(lambda p: os.symlink("../../../../etc/passwd", p), "symbolic link")
    # a folder that is a link is not looked into
    outer = os.path.join(TMP, "linked")
    os.mkdir(outer)
    os.symlink(REFERENCE, os.path.join(outer, "inner"))
    v = grade(outer, "--check", QUICK)
    assert v["exit_status"] == 3


def test_g21_devices_and_fifos():
    refused_file(os.mkfifo, "not a regular file")
    refused_file(os.mkdir, "percentile.c")
    if os.geteuid() == 0:
        refused_file(lambda p: os.mknod(p, 0o20666, os.makedev(1, 5)), "not a regular file")


def test_g21_a_gigabyte():
    def sparse(path):
        with open(path, "wb") as f:
            f.truncate(1 << 30)
    refused_file(sparse, "too large")


def test_g22_missing_empty_binary():
    refused_file(lambda p: None, "missing")
    refused_file(write(b""), "empty")
    refused_file(write(b"\xef\xbb\xbf"), "empty")
    refused_file(write(b"\x7fELF\2\1\1\0\0\0"), "not text")
    refused_file(write("int x;\n".encode("utf-16")), "not text", "UTF-16")


def test_g22_does_not_compile():
    refused_file(write(b"#include \"objective/percentile.h\"\n\nint x = undeclared_thing;\n"),
                 "percentile.c:3:", "undeclared_thing", "int x = undeclared_thing;")
    refused_file(write(b"#include \"no_such_header.h\"\n"), "percentile.c:1:", "no_such_header.h")
    refused_file(write(b"int f(void) {\n"), "percentile.c:")
    refused_file(write(b"\xff\xfe\x01 garbage ((((\n" * 100), "percentile.c:")


def test_g22_compiler_bombs():
    refused_file(write(b"#include \"percentile.c\"\n"), "percentile.c:")
    bomb = "#define A0 1+1+1+1+1+1+1+1\n" + "".join(
        f"#define A{i} A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}+A{i-1}\n" for i in range(1, 12))
    refused_file(write((bomb + "int x = A11;\n").encode()), "gave up")


def test_g22_warnings_by_the_thousand():
    noise = "".join(f"#warning number {i}\nstatic int unused_{i};\n" for i in range(3000))
    v = grade(submission("noisy", percentile_c=noise + reference("percentile.c")), "--check", QUICK)
    assert v["exit_status"] == 0, v["problem"]


def test_g22_data_that_is_no_data():
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
    text = reference("intervals.c").replace("int64_t interval_divide(", "int64_t interval_divid(")
    text = text.replace("#include <string.h>",
                        "#include <string.h>\nstatic int64_t interval_divid(int64_t n, int64_t d);")
    v = grade(submission("less", intervals_c=text), "--check", "intervals.rounding,intervals.e2e")
    assert check(v, "intervals.rounding")["todo"], check(v, "intervals.rounding")


def test_a_header_that_exists_elsewhere_is_not_given():
    outside = os.path.join(TMP, "mine.h")
    write(b"int mine;\n")(outside)
    refused_file(write(f"#include \"{outside}\"\n".encode()), "percentile.c:1:", "given ones can be included")


def test_a_missing_file_is_told_once():
    text = run("01", "--", submission("once", slo_c=None)).stdout.decode()
    assert text.count("slo.c is missing") == 1 and re.search(r"\b\d+ points slo.c is missing", text), text


def test_an_endless_loop_in_a_helper_is_told_once_and_soon():
    text = reference("intervals.c").replace("return (n < 0 ?", "for (volatile int i = 1; i;) {}\n    return (n < 0 ?", 1)
    folder = submission("loops", intervals_c=text)
    out = os.path.join(TMP, "loops.json")
    shown = run("01", "--seed", "3", "--format", "text,json=" + out, "--", folder).stdout.decode()
    v = json.load(open(out, encoding="utf-8"))
    ran_out = [c["id"] for c in v["checks"] if "didn't come to an end" in c.get("message", "")]
    waited = [c["id"] for c in v["checks"] if "the same endless loop" in c.get("message", "")]
    assert 2 <= len(ran_out) <= 8 and len(waited) > 4, (ran_out, waited)
    assert all(c["outcome"] == "not_run" for c in v["checks"] if c["id"] in waited)
    assert len(re.findall(r"^      case ", shown, re.M)) == 1, shown
    # what doesn't run into it keeps its points
    for name in ["intervals.clock_offset", "intervals.negative"]:
        assert check(v, name)["outcome"] in ("earned", "not_run"), check(v, name)
    assert all(c["outcome"] == "earned" for c in v["checks"] if c["dimension"] in ("quality", "slo"))


# ---- evidence -----------------------------------------------------------------------------------------

def evidence(name, edit, file="record.json"):
    doc = json.loads(reference(file))
    edit(doc)
    key = file.replace(".", "_")
    v = grade(submission("ev_" + name, **{key: json.dumps(doc)}), "--check", "evidence")
    return {c["id"].split(".")[1]: c for c in v["checks"] if c["outcome"] != "earned"}


def test_evidence_of_the_record():
    def event(d, kind):
        return next(e for e in d["events"] if e["event"] == kind)

    def set_event(kind, **members):
        return lambda d: event(d, kind).update(members)
    everything = {"record_valid", "record_plausible", "record_tokens", "record_annotated",
                  "record_statement"}
    cases = {
        "tokens": (lambda d: d["workload"].update(prompt_tokens=2047), {"record_tokens"}),
        "more": (lambda d: d["workload"].update(output_tokens=300), {"record_tokens"}),
        "statement": (lambda d: d.update(statement="The server was fast, server_ttft was 2 s"),
                      {"record_statement"}),
        "word": (lambda d: d.update(statement="e2e"), {"record_statement"}),
        "provenance": (lambda d: d.update(provenance="measured"), {"record_annotated"}),
        "source": (set_event("first_token", source="browser"), {"record_annotated"}),
        "clock_api": (lambda d: [e.update(clock_api="") for e in d["events"]], everything),
        "time_of_day": (lambda d: [e.update(clock_api="Date.now") for e in d["events"]
                                   if e["clock"] == "browser"], everything),
        "check": (lambda d: d["quality"].update(check=None), everything),
        "unchecked": (lambda d: d["quality"].update(check=None, verdict="not_evaluated"),
                      {"record_annotated"}),
        "ttft": (set_event("first_byte_received", t_ns=5120400000 + 1000000), {"record_plausible"}),
        "undelivered": (lambda d: d["outcome"].update(delivered=False),
                        {"record_valid", "record_plausible"}),
        "todo": (lambda d: d.update(statement="TODO"), everything),
    }
    for name, (edit, lost) in cases.items():
        got = evidence(name, edit)
        assert set(got) == lost, (name, {k: c["message"] for k, c in got.items()})
    # a captured one, by the built-in client
    for kind in ["request_submitted", "first_byte_received", "final_byte_received"]:
        assert not evidence("client_" + kind, set_event(kind, source="client"))
    assert not evidence("captured", lambda d: d.update(provenance="captured"))


def test_evidence_of_the_objective():
    def limit(d, i, **members):
        d["objective"]["latency"][i].update(members)
    cases = {
        "server": (lambda d: limit(d, 0, interval="server_ttft"), {"objective_limits"}),
        "scope": (lambda d: limit(d, 1, scope="request", percentile=None), {"objective_limits"}),
        "member": (lambda d: limit(d, 1, below_s=0.08), {"objective_valid", "objective_limits"}),
        "unit": (lambda d: d["measured"]["latency"][0].update(ms=1.4), {"objective_limits"}),
        "useful": (lambda d: d["measured"].update(useful_responses=420), {"objective_limits"}),
        "price": (lambda d: d["objective"]["resource"].update(usd_per_accelerator_hour=2.5),
                  {"objective_limits"}),
        "answer": (lambda d: d["verdict"]["latency"][0].update(answer="met"), {"objective_verdict"}),
        "reason": (lambda d: d["verdict"]["latency"][0].update(reason="too slow, it was 1400 ms"),
                   {"objective_verdict"}),
        "value": (lambda d: d["verdict"]["objective_value"].update(answer="missed"),
                  {"objective_verdict"}),
        "missing": (lambda d: d["verdict"]["objective_value"].update(missing=["useful_responses"]),
                    {"objective_verdict"}),
        "too_many": (lambda d: d["verdict"]["objective_value"]["missing"].append("reserve_fraction"),
                     {"objective_verdict"}),
        "overall": (lambda d: d["verdict"]["overall"].update(answer="met"), {"objective_verdict"}),
        "provisioned": (lambda d: d["verdict"].update(provisioned_accelerators=1.35),
                        {"objective_verdict"}),
        "nan": (lambda d: d["verdict"].update(provisioned_accelerators="1.538"),
                {"objective_verdict"}),
    }
    for name, (edit, lost) in cases.items():
        got = evidence(name, edit, "objective.json")
        assert set(got) == lost, (name, {k: c["message"] for k, c in got.items()})
    # right in other words and another order

    def reworded(d):
        for part in [d["objective"]["latency"], d["measured"]["latency"], d["verdict"]["latency"]]:
            part.reverse()
        d["verdict"]["latency"][1]["reason"] = "1.4 s is not below 0.8 s"
        d["verdict"]["latency"][0]["reason"] = "170 milliseconds, allowed are less than 80"
        d["verdict"]["objective_value"]["missing"] = ["usd_per_accelerator_hour", "useful_responses"]
        d["verdict"]["provisioned_accelerators"] = 1.5385
    assert not evidence("reworded", reworded, "objective.json")


# ---- feedback ------------------------------------------------------------------------------------------

def test_practice_feedback_can_be_rerun():
    folder = submission("rerun 'me\"", percentile_c=wrong_percentile())
    v = grade(folder, "--check", QUICK)
    c = check(v, "slo.percentile_rank")
    assert c["got"] and c["want"] and c["input"] and c["section"] and c["kind"], c
    assert "ns" in c["got"] and c["got"] != c["want"]
    assert re.fullmatch(r"make grade LAB=01 DIR='.*' CHECK=slo.percentile_rank SEED=11", c["rerun"])
    # the printed command itself, through the shell and make
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    p = subprocess.run(["sh", "-c", c["rerun"]], capture_output=True, timeout=600, check=False, env=env)
    text = p.stdout.decode()
    assert p.returncode != 0 and c["got"] in text and c["want"] in text, text + p.stderr.decode()
    # the same seed gives the same cases, another seed others
    again = check(grade(folder, "--check", "slo"), "slo.percentile_rank")
    assert (again["input"], again["got"]) == (c["input"], c["got"])
    p = run("01", "--json", "--seed", "12", "--check", QUICK, "--", folder)
    assert check(json.loads(p.stdout), "slo.percentile_rank")["input"] != c["input"]


TELLTALE = """
#include <stdio.h>
static void tell(const int64_t *obs, size_t n, size_t failed, int32_t p) {
    for (size_t i = 0; i < n; i++) printf("SECRET %lld\\n", (long long)obs[i]);
    fprintf(stderr, "SECRET %zu %d\\n", failed, p);
}
"""


def test_g24_a_hidden_seed_shows_nothing():
    text = wrong_percentile()
    text = text.replace("    struct percentile p = {.n", "    tell(obs_ns, n_ok, n_failed, percentile_milli);\n"
                        "    struct percentile p = {.n", 1)
    text = text.replace('#include <stdlib.h>', '#include <stdlib.h>\n' + TELLTALE, 1)
    folder = submission("tells", percentile_c=text)
    practice = grade(folder, "--check", QUICK)
    assert "SECRET" in check(practice, "slo.percentile_rank")["printed"]
    seed = os.path.join(TMP, "seed file")
    with open(seed, "w", encoding="utf-8") as f:
        f.write("correct horse battery staple 20261129\n")
    p = run("01", "--json", "--seed-file", seed, "--hint", "3", "--", folder)
    raw = p.stdout.decode() + p.stderr.decode()
    v = json.loads(p.stdout)
    assert p.returncode == 1 and v["seed_kind"] == "instructor" and "seed" not in v
    assert v["complete"] and v["points_total"] == 100
    shown = run("01", "--seed-file", seed, "--", folder).stdout.decode()
    for text in (raw, shown):
        assert "SECRET" not in text and "horse" not in text and "SEED=" not in text
    for c in v["checks"]:
        assert not {"got", "want", "input", "printed", "rerun"} & set(c), c
    assert check(v, "slo.percentile_rank")["kind"]
    # the kind of case names no number that only the case knows
    for c in v["checks"]:
        assert not re.search(r"\d{5,}", c.get("kind", "") + c.get("message", "")), c
    # the same file again is the same cases; practice seeds are others
    q = json.loads(run("01", "--json", "--seed-file", seed, "--", folder).stdout)
    assert [c["cases_right"] for c in q["checks"]] == [c["cases_right"] for c in v["checks"]]
    with open(seed, "w", encoding="utf-8") as f:
        f.write("short\n")
    assert run("01", "--seed-file", seed, "--", folder).returncode == 2


def test_g24_an_exit_status_tells_nothing_with_a_hidden_seed():
    text = reference("percentile.c").replace(
        "    struct percentile p = {.n",
        "    if (n_ok > 3) exit((int)(obs_ns[0] & 0x7f) + 1);\n    struct percentile p = {.n", 1)
    seed = os.path.join(TMP, "another seed")
    with open(seed, "w", encoding="utf-8") as f:
        f.write("0123456789abcdef")
    v = json.loads(run("01", "--json", "--seed-file", seed, "--check", "slo.percentile_order", "--",
                       submission("exits", percentile_c=text)).stdout)
    c = check(v, "slo.percentile_order")
    assert c["outcome"] == "lost" and "status" not in c["message"], c


def test_hints_come_in_steps():
    folder = submission("hints", percentile_c=wrong_percentile())
    seen = []
    for n in range(4):
        v = grade(folder, "--check", QUICK, "--hint", str(n))
        seen.append(check(v, "slo.percentile_rank").get("hint", ""))
        assert "hint" not in check(v, "slo.strict")
    assert seen[0] == "" and all(len(a) < len(b) and b.startswith(a) for a, b in zip(seen, seen[1:])), seen
    listing = run("01", "--list").stdout.decode()
    assert listing.count("\n") > 50 and "slo.percentile_rank" in listing


def points_into(handout, checks):
    with open(handout, encoding="utf-8") as f:
        headings = [line.lstrip("#").strip() for line in f if re.match(r"#{2,5} ", line)]
    for c in checks:
        chapter, _, part = c["section"].partition(": ")
        for words in [c["section"]] if c["section"] in headings else filter(None, [chapter, part]):
            assert any(h.startswith(words) for h in headings), (c["id"], words)


def test_every_check_points_into_the_handout():
    folder = os.path.join(TMP, "empty")
    os.mkdir(folder)
    points_into(os.path.join(REFERENCE, "README.md"), grade(folder)["checks"])


# ---- lab 02 -------------------------------------------------------------------------------------

LAB02 = os.path.join(TOP, "solutions/02_queue_sim")


def lab02(folder, *args):
    p = run("02", "--json", "--seed", "11", *args, "--", folder)
    assert p.stdout, (p.returncode, p.stderr)
    return json.loads(p.stdout.decode("utf-8"))


def test_lab02_starter_is_not_attempted_and_points_into_its_handout():
    starters = os.path.join(TMP, "starters02")
    os.mkdir(starters)
    subprocess.run(["common/course/make_labs.sh", "--to", starters], check=True, capture_output=True)
    folder = os.path.join(starters, "02_queue_sim")
    v = lab02(folder)
    assert v["exit_status"] == 3 and not v["attempted"] and v["points_total"] == 100, v["exit_status"]
    assert all(c["outcome"] == "not_run" for c in v["checks"])
    points_into(os.path.join(LAB02, "README.md"), v["checks"])
    text = run("02", folder).stdout.decode()
    # the check it names is one that the first step alone earns
    named = re.search(r"CHECK=(\S+)", text).group(1)
    with open(os.path.join(LAB02, "analysis.c"), encoding="utf-8") as f:
        whole = f.read()
    with open(os.path.join(folder, "analysis.c"), encoding="utf-8") as f:
        begun = f.read()
    for function in [r"enum point_class point_classify\(", r"void point_intervals\("]:
        done = re.search(f"^{function}.*?^}}$", whole, re.M | re.S).group(0)
        begun = re.sub(f"^{function}.*?^}}$", lambda m, to=done: to, begun, flags=re.M | re.S)
    with open(os.path.join(folder, "analysis.c"), "w", encoding="utf-8") as f:
        f.write('#include "record/intervals.h"\n' + begun)
    v = lab02(folder, "--check", named + ",intervals.window,quality.shed")
    assert {c["id"]: c["outcome"] for c in v["checks"]} == {
        named: "earned", "intervals.window": "not_run", "quality.shed": "earned"}, v["checks"]


def test_lab02_notes_stand_in_both_renderings():
    out = os.path.join(TMP, "verdict02.json")
    p = run("2", "--seed", "5", "--check", "slo.batch_margin,intervals.ttft", "--format", "text,json=" + out,
            "--", LAB02)
    v, text = json.load(open(out, encoding="utf-8")), p.stdout.decode()
    assert p.returncode == 0 and "3 of 3 points" in text, text
    note = check(v, "slo.batch_margin")["note"]
    assert re.search(r"yours \d+, single \d+", note) and note in text, (note, text)
    assert "note" not in check(v, "intervals.ttft")


def test_lab02_broken_policy_leaves_the_rest():
    folder = os.path.join(TMP, "broken02")
    os.mkdir(folder)
    for f in ["analysis.c", "capacity.c", "findings.json", "protocol.json"]:
        shutil.copy(os.path.join(LAB02, f), folder)
    with open(os.path.join(folder, "policy.c"), "w", encoding="utf-8") as f:
        f.write("this is no C\n")
    v = lab02(folder)
    # policy.c's own: 13 points of quality, 7 of SLO, 3 of safety; and the 4 that ask all three files
    assert v["exit_status"] == 1 and v["points_earned"] == 100 - 13 - 7 - 3 - 4, v["points_earned"]
    assert "policy.c" in v["problem"]
    for c in v["checks"]:
        waits = c["section"].startswith("Exercise 3: policy") or c["section"] == "Exercise 3"
        assert c["outcome"] == ("not_run" if waits else "earned"), (c["id"], c["outcome"])


def test_renderings_agree():
    folder = submission("both", percentile_c=wrong_percentile(), slo_c=None)
    out = os.path.join(TMP, "verdict.json")
    p = run("01", "--seed", "5", "--format", "text,json=" + out, "--", folder)
    v = json.load(open(out, encoding="utf-8"))
    text = p.stdout.decode()
    assert p.returncode == 1
    assert f"{v['points_earned']} of {v['points_total']} points" in text
    assert v["points_earned"] == sum(c["points_earned"] for c in v["checks"])
    assert v["points_total"] == sum(c["points"] for c in v["checks"]) == 100
    for d in v["dimensions"]:
        mine = [c for c in v["checks"] if c["dimension"] == d["name"]]
        assert d["points_earned"] == sum(c["points_earned"] for c in mine)
        assert d["points_total"] == sum(c["points"] for c in mine)
        assert re.search(rf"{d['points_earned']} / {d['points_total']}\b", text), (d, text)
    assert "\033" not in text  # no colour where there is no terminal
    for key in ["schema", "grader_version", "lab", "seed", "seed_kind", "sandbox", "machine_class",
                "attempted", "complete", "partial", "points_of_grader_faults", "submission"]:
        assert key in v, key


def test_g15_locale():
    folder = submission("locale", slo_c=reference("slo.c").replace("price / 3600", "price / 36"))
    plain = grade(folder, "--check", "slo")
    comma = grade(folder, "--check", "slo", env={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
    assert plain["checks"] == comma["checks"]
    assert re.search(r"value \d+\.\d+", check(plain, "slo.value")["want"]), check(plain, "slo.value")


# ---- usage, faults, surroundings -------------------------------------------------------------------------

def test_usage_errors_name_the_flag():
    for args, words in [(["07", REFERENCE], ["07"]), ([], ["which lab"]),
                        (["01", "/no/such/folder"], ["/no/such/folder"]),
                        (["01", os.path.join(REFERENCE, "slo.c")], ["slo.c", "file"]),
                        (["01", REFERENCE, "--check", "intervals.nothing"], ["--check", "intervals.nothing"]),
                        (["01", REFERENCE, "--check", ""], ["--check"]),
                        (["01", REFERENCE, "--check", "slo,"], ["--check"]),
                        (["01", REFERENCE, "--seed", "1.5"], ["--seed", "1.5"]),
                        (["01", REFERENCE, "--seed", "-1"], ["--seed"]),
                        (["01", REFERENCE, "--hint", "9"], ["--hint"]),
                        (["01", REFERENCE, "--format", "pdf"], ["--format", "pdf"]),
                        (["01", REFERENCE, "--sandbox", "none"], ["--sandbox"]),
                        (["01", REFERENCE, "--seed-file", "/no/such"], ["--seed-file"]),
                        (["01", REFERENCE, "--bogus"], ["--bogus"])]:
        p = run(*args)
        err = p.stderr.decode()
        assert p.returncode == 2, (args, p.returncode, err)
        assert all(w in err for w in words), (args, err)
        assert not p.stdout


def test_messages_name_a_command_that_can_be_typed():
    p = run("01", REFERENCE, "--check", "intervals.nothing")
    command = re.search(r"`build/bin/servelab (grade 01 --list)`", p.stderr.decode()).group(1)
    assert b"intervals.tpot" in run(*command.split()[1:]).stdout


def test_a_label_stands_apart_from_its_text():
    text = wrong_percentile().replace("    struct percentile p = {.n", "    printf(\"loud\\n\");\n    struct percentile p = {.n", 1)
    folder = submission("loud", percentile_c=text.replace("#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>"))
    shown = run("01", "--check", "slo.percentile_rank", "--", folder).stdout.decode()
    assert re.search(r"^      printed loud", shown, re.M), shown


def test_an_interrupted_grading_leaves_nothing():
    folder = submission("interrupted", percentile_c=reference("percentile.c").replace(
        "    struct percentile p = {.n", "    for (volatile int i = 1; i;) {}\n    struct percentile p = {.n", 1))
    for sig in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
        own = tempfile.mkdtemp(dir=WORK)
        os.chmod(own, 0o1777)
        with subprocess.Popen([SERVELAB, "grade", "01", "--", folder], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "TMPDIR": own}) as p:
            until = time.monotonic() + 60
            while not os.listdir(own) and time.monotonic() < until:
                time.sleep(0.01)
            assert os.listdir(own)
            if sig == signal.SIGINT:
                time.sleep(1)  # another moment of the run
            p.send_signal(sig)
            out, err = p.communicate(timeout=60)
        assert p.returncode == -sig and not out and not err, (sig, p.returncode, out, err)
        assert not os.listdir(own), os.listdir(own)
        os.rmdir(own)


def test_a_temporary_folder_that_nobody_can_reach():
    closed = os.path.join(TMP, "closed")
    os.makedirs(os.path.join(closed, "tmp"))
    os.chmod(closed, 0o700)
    os.symlink(os.path.join(closed, "tmp"), os.path.join(TMP, "way_in"))
    for tmp in [os.path.join(closed, "tmp"), os.path.join(TMP, "way_in"), os.path.join(TMP, "not there")]:
        v = grade(REFERENCE, "--check", QUICK, env={"TMPDIR": tmp})
        assert v["exit_status"] == 0, (tmp, v)
    assert not os.listdir(os.path.join(closed, "tmp"))


def test_g7_own_fault_is_not_a_verdict():
    p = run("01", REFERENCE, env={"SERVELAB_HOME": os.path.join(TMP, "nowhere")})
    assert p.returncode == 4 and b"make build" in p.stderr, (p.returncode, p.stderr)
    assert b"points" not in p.stdout


def test_help_has_an_example_that_runs():
    text = run("--help").stdout.decode()
    line = re.search(r"^example: servelab grade (.*)$", text, re.M).group(1)
    assert run(*line.split()).returncode == 0


def home_for_everyone():
    """The parts that grading needs, readable by any user wherever the project stands."""
    home = os.path.join(TMP, "home")
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


def test_g26_two_at_once():
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


def test_nothing_is_left_behind():
    assert os.listdir(WORK) == [], os.listdir(WORK)
    p = run("01", "--keep", "--check", "slo.strict", "--", REFERENCE)
    kept = os.listdir(WORK)
    assert len(kept) == 1 and kept[0] in p.stderr.decode()
    shutil.rmtree(os.path.join(WORK, kept[0]))


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_") and callable(f)]
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = 0
    for i, (name, f) in enumerate(t for t in tests if wanted in t[0]):
        try:
            f()
            print(f"ok {i + 1} - {name[5:]}", flush=True)
        except Exception:  # every failure is a line of the report
            failed += 1
            traceback.print_exc()
            print(f"not ok {i + 1} - {name[5:]}", flush=True)
    print(f"1..{i + 1}")
    shutil.rmtree(TMP, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
