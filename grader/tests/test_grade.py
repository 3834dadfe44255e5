#!/usr/bin/env python3
"""test_grade.py: the command line of `servelab grade`: feedback, evidence, both renderings, hidden seeds, exit statuses,
messages. test_grade_folders.py has the folders that are handed in, test_grade_surroundings.py the machine and its end. Only
the standard library. Prints TAP."""

# servelab-test: long
import json
import os
import re
import shutil
import subprocess
import sys

from grading import (QUICK, REFERENCE, SERVELAB, TMP, TOP, WORK, check, grade, main,
                     on_top, reference, run, submission, wrong_percentile)
from plant import plant


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
    for unit, factor in [("ms", 1e-6), ("us", 1e-3), ("too_often", 1e3)]:
        cases[unit] = (lambda d, f=factor: [e.update(t_ns=int(e["t_ns"] * f)) for e in d["events"]], {"record_plausible"})
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
    assert p.returncode == 0 and "Error" not in p.stderr.decode() and c["got"] in text and c["want"] in text, text + p.stderr.decode()
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


def test_a_hidden_seed_shows_nothing():
    text = wrong_percentile()
    text = plant(text, "    struct percentile p = {.n", "    tell(obs_ns, n_ok, n_failed, percentile_milli);\n"
                 "    struct percentile p = {.n", 1)
    text = on_top(text, TELLTALE)
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


def test_an_exit_status_tells_nothing_with_a_hidden_seed():
    text = plant(
        reference("percentile.c"), "    struct percentile p = {.n",
        "    if (n_ok > 3) exit((int)(obs_ns[0] & 0x7f) + 1);\n    struct percentile p = {.n", 1)
    text = on_top(text, "#include <stdlib.h>\n")
    seed = os.path.join(TMP, "another seed")
    with open(seed, "w", encoding="utf-8") as f:
        f.write("0123456789abcdef")
    v = json.loads(run("01", "--json", "--seed-file", seed, "--check", "slo.percentile_order", "--",
                       submission("exits", percentile_c=text)).stdout)
    c = check(v, "slo.percentile_order")
    assert c["outcome"] == "lost" and "status" not in c["message"], c


def test_messages_lead_on():
    p = run("01", "--check", "interval", "--", REFERENCE)
    assert p.returncode == 2 and b"did you mean 'intervals'?" in p.stderr, p.stderr
    # the compiler's warnings about the learner's file, with any seed; none about the reference
    text = on_top(reference("percentile.c"), "static int unused_helper(int a) { return a; }\n")
    folder = submission("warns", percentile_c=text)
    assert "percentile.c:" in grade(folder, "--check", "slo.few")["warnings"]
    shown = run("01", "--check", "slo.few", "--", folder).stdout.decode()
    assert "The compiler warns" in shown and "'unused_helper' defined but not used" in shown, shown
    assert "warnings" not in grade(REFERENCE, "--check", "slo.few")
    # the smallest failing case with its input, also among many checks; a long list keeps its end
    wrong = plant(reference("intervals.c"), "ev->tokens < 1) continue;\n        if (!*first)", "ev->tokens < 0) continue;\n        if (!*first)")
    folder = submission("smallest", intervals_c=wrong)
    shown = run("01", "--seed", "5", "--", folder).stdout.decode()
    assert "input    intervals_compute, output_tokens" in shown, shown
    v = grade(folder, "--check", "intervals.tpot")
    events = check(v, "intervals.tpot")["input"].count("\n")
    assert events <= 16, check(v, "intervals.tpot")["input"]


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


def test_the_handouts_list_the_functions_that_may_be_called():
    """The rows of each list are the project's functions that the lab's grader lets through."""
    for lab, name in (("01", "01_request_record"), ("02", "02_queue_sim"), ("03", "03_kernels")):
        with open(os.path.join(TOP, f"grader/lab{lab}/checks.c"), encoding="utf-8") as f:
            given = re.findall(r'"(\w+)"', re.search(r"given\[\] = \{(.*?)NULL\}", f.read(), re.S)[1])
        with open(os.path.join(TOP, "solutions", name, "README.md"), encoding="utf-8") as f:
            listed = re.search(r"### What your files may call(.*?)\n#", f.read(), re.S)[1]
        rows = re.findall(r"`(\w+)`", "".join(line.rsplit("|", 2)[0] for line in listed.splitlines() if line.startswith("| `")))
        assert sorted(rows) == sorted(given), (lab, set(rows) ^ set(given))


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
    assert p.returncode == 0 and "2 of 2 points" in text, text
    note = check(v, "slo.batch_margin")["note"]
    assert re.search(r"yours \d+, single \d+", note) and note in text, (note, text)
    assert "note" not in check(v, "intervals.ttft")


def test_lab02_broken_policy_leaves_the_rest():
    folder = os.path.join(TMP, "broken02")
    os.mkdir(folder)
    for f in ["analysis.c", "capacity.c", "findings.json", "protocol.json"]:
        shutil.copy(os.path.join(LAB02, f), folder)
    with open(os.path.join(folder, "policy.c"), "w", encoding="utf-8") as f:
        f.write("this is not C\n")
    v = lab02(folder)
    # policy.c's own: 13 points of quality, 7 of SLO, 3 of safety; and the 4 that ask all three files
    assert v["exit_status"] == 1 and v["points_earned"] == 100 - 13 - 11 - 3 - 4, v["points_earned"]
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


def cut_off(*args, stdout):
    """Exit status and stderr of a run whose standard output goes to a device."""
    with open(stdout, "wb") as out:
        p = subprocess.run([SERVELAB, "grade", *args], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                           timeout=300, env={**os.environ, "TMPDIR": WORK}, check=False)
    return p.returncode, p.stderr.decode()


def test_a_verdict_that_cannot_be_written_is_exit_4():
    lost = submission("unwritten", percentile_c=wrong_percentile())
    missing = os.path.join(TMP, "no folder", "verdict")
    full = "No space left on device"
    for folder in (REFERENCE, lost):  # full marks and lost points
        few = ["01", "--seed", "5", "--check", "slo.strict,slo.percentile_rank", "--", folder]
        for form in ("text", "json"):
            for path, why in (("/dev/full", full), (missing, "No such file")):
                p = run("--format", f"{form}={path}", *few)
                err = p.stderr.decode()
                assert p.returncode == 4 and path in err and why in err, (form, path, p.returncode, err)
            status, err = cut_off("--format", form, *few, stdout="/dev/full")
            assert status == 4 and full in err and "standard output" in err, (form, status, err)
        # the other formats are written all the same, whichever comes first
        for order in ("json=/dev/full,text", "text,json=/dev/full"):
            p = run("--format", order, *few)
            assert p.returncode == 4 and b" points" in p.stdout and full.encode() in p.stderr, (order, p)
    # longer than any buffer
    status, err = cut_off("--json", "--seed", "5", "01", "--", REFERENCE, stdout="/dev/full")
    assert status == 4 and err.count(full) == 1, (status, err)
    p = run("01", "--seed", "5", "--format", "json=/dev/full", "--", REFERENCE)
    assert p.returncode == 4 and full.encode() in p.stderr, p
    # a lab that is not attempted
    status, err = cut_off("01", os.path.join(TOP, "labs/01_request_record"), stdout="/dev/full")
    assert status == 4 and full in err, (status, err)
    assert cut_off("01", "--list", stdout="/dev/full")[0] == 4


def test_a_verdict_goes_to_the_path_that_was_given():
    folder = os.path.join(TMP, *["n" * 200] * 4)
    os.makedirs(folder)
    path = os.path.join(folder, "v" * (1040 - len(folder)))  # cut after 1,023 characters it would be another name
    p = run("01", "--seed", "5", "--check", "slo.strict", "--format", "json=" + path, "--", REFERENCE)
    assert p.returncode == 0 and os.listdir(folder) == [os.path.basename(path)], os.listdir(folder)


def test_locale():
    folder = submission("locale", slo_c=plant(reference("slo.c"), "price / 3600", "price / 36"))
    plain = grade(folder, "--check", "slo")
    comma = grade(folder, "--check", "slo", env={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
    assert plain["checks"] == comma["checks"]
    assert re.search(r"value \d+\.\d+", check(plain, "slo.value")["want"]), check(plain, "slo.value")


# ---- usage, faults, surroundings -------------------------------------------------------------------------

def test_usage_errors_name_the_flag():
    for args, words in [(["07", REFERENCE], ["07"]), ([], ["LAB is missing"]),
                        (["01", "/no/such/folder"], ["/no/such/folder"]),
                        (["01", os.path.join(REFERENCE, "slo.c")], ["slo.c", "file"]),
                        (["01", REFERENCE, "--check", "intervals.nothing"], ["--check", "intervals.nothing"]),
                        (["01", REFERENCE, "--check", ""], ["--check"]),
                        (["01", REFERENCE, "--check", "slo,"], ["--check"]),
                        (["01", REFERENCE, "--seed", "1.5"], ["--seed", "1.5"]),
                        (["01", REFERENCE, "--seed", "-1"], ["--seed"]),
                        (["01", REFERENCE, "--hint", "9"], ["--hint"]),
                        (["01", REFERENCE, "--format", "pdf"], ["--format", "pdf"]),
                        (["01", REFERENCE, "--format", "text,json="], ["--format json=", "path"]),
                        (["01", REFERENCE, "--format", "json=,text"], ["--format json=", "path"]),
                        (["01", REFERENCE, "--format", "json=" + "./" * 2048 + "v"], ["--format json=", "so long"]),
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
    text = plant(wrong_percentile(), "    struct percentile p = {.n", "    printf(\"loud\\n\");\n    struct percentile p = {.n", 1)
    folder = submission("loud", percentile_c=on_top(text, "#include <stdio.h>\n"))
    shown = run("01", "--check", "slo.percentile_rank", "--", folder).stdout.decode()
    assert re.search(r"^      printed  loud", shown, re.M) and re.search(r"^      expected \w", shown, re.M), shown


def test_bytes_that_change_what_a_reader_sees():
    # C1's other escape, the right-to-left override, a byte that is no UTF-8: in the folder's name and in what is printed
    odd = b"odd\xc2\x9b31m\xe2\x80\xae\xff"
    folder = os.path.join(TMP.encode(), odd)
    text = plant(wrong_percentile(), "    struct percentile p = {.n", '    printf("\\xc2\\x9b\\xe2\\x80\\xae\\xff");\n    struct percentile p = {.n', 1)
    os.rename(submission("plain", percentile_c=on_top(text, "#include <stdio.h>\n")).encode(), folder)
    for args in [(), ("--json",), ("--format", "text"), ("--check", "nothing", "--json")]:
        p = run("01", *args, *(() if "--check" in args else ("--check", "slo.percentile_rank")), "--", folder)
        for shown in (p.stdout.decode("utf-8"), p.stderr.decode("utf-8")):  # strict: invalid UTF-8 fails here
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown), (args, shown)
        if "--json" in args:
            json.loads(p.stdout.decode("utf-8"))
    for args in [("01", "--", folder + b"/none"), ("01", "--json", "--", folder + b"/none"), ("01", "--format", b"text=" + folder + b"/no/x"),
                 ("01", "--check", odd), ("01", "--format", odd), (odd,), ("01", "--seed-file", folder + b"/none", "--", folder)]:
        p = run(*args)
        assert p.returncode in (2, 4), (args, p.returncode)
        shown = (p.stdout + p.stderr).decode("utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown), (args, shown)


def test_own_fault_is_not_a_verdict():
    p = run("01", REFERENCE, env={"SERVELAB_HOME": os.path.join(TMP, "nowhere")})
    assert p.returncode == 4 and b"make build" in p.stderr, (p.returncode, p.stderr)
    assert b"points" not in p.stdout


def test_help_has_an_example_that_runs():
    text = run("--help").stdout.decode()
    line = re.search(r"^example: build/bin/servelab grade (.*)$", text, re.M).group(1)
    assert run(*line.split()).returncode == 0


def test_sentences_are_for_a_person():
    """Nonsense that keeps the form earns its point, and is listed apart for somebody who reads it."""
    with open(os.path.join(REFERENCE, "record.json"), encoding="utf-8") as f:
        record = json.load(f)
    record["statement"] = "client_ttft aa\u202e bb cc dd " + 20 * "a"
    folder = submission("nonsense", record_json=json.dumps(record))
    v = grade(folder, "--check", "evidence")
    assert v["points_earned"] == 10, v
    mine = [s for s in v["to_read"] if s.startswith("record.json: statement: client_ttft aa")]
    assert len(mine) == 1 and "\u202e" not in mine[0] and len(v["to_read"]) == 6, v["to_read"]
    seed = os.path.join(TMP, "the reader's seed")
    with open(seed, "w", encoding="utf-8") as f:
        f.write("who reads it sees more")
    shown = run("01", "--check", "evidence", "--seed-file", seed, "--", folder).stdout.decode()
    assert "To be read by a person; no points depend on it\n    record.json: statement: client_ttft aa" in shown, shown
    assert "To be read" not in run("01", "--check", "evidence", "--", folder).stdout.decode()
    with open(os.path.join(REFERENCE, "objective.json"), encoding="utf-8") as f:
        objective = json.load(f)
    for limit in objective["verdict"]["latency"]:
        limit["reason"] = " ".join(str(i) for i in range(2000))
    c = check(grade(submission("lists", objective_json=json.dumps(objective)), "--check", "evidence"), "evidence.objective_verdict")
    assert c["outcome"] == "lost" and "12 numbers" in c["message"], c


if __name__ == "__main__":
    sys.exit(main(globals()))
