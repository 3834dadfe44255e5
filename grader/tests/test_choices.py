#!/usr/bin/env python3
"""test_choices.py: the exercises in which two candidates are compared (labs 01, 02 and 03). The numbers that the grader wants
follow from the handout's tables; the candidate with the greater rate is the worse one; usual mistakes are named. TAP."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
count = failures = 0


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok:
        print("# " + str(why).replace("\n", "\n# "), flush=True)


def read(lab, file):
    with open(os.path.join(TOP, "solutions", lab, file), encoding="utf-8") as f:
        return f.read()


def rows(text, pattern):
    return [[x.strip(" `") for x in line.strip("|").split("|")] for line in text.splitlines() if re.match(pattern, line)]


def lab01():
    handout = read("01_request_record", "README.md")
    price = [float(x) for x in rows(handout, r"\| price of an accelerator")[0][1:]]
    reserve = [float(x.rstrip(" %")) / 100 for x in rows(handout, r"\| capacity that is kept in reserve")[0][1:]]
    out = {}
    for i, side in enumerate("ab"):
        records = rows(handout, rf"\| {side}\d \| \d00|\| {side}\d \| 503")
        assert len(records) == 8
        useful = sum(status == "200" and error == "-" and finish == "stop" and verdict == "passed"
                     for _, status, error, finish, verdict, _ in records)
        usd = 60 / (1 - reserve[i]) * price[i] / 3600
        out[side] = {"output_tokens_per_s": sum(int(r[5]) for r in records) / 60, "useful_responses": useful,
                     "useful_per_usd": useful / usd}
    return out


def lab02():
    handout = read("02_queue_sim", "README.md")
    usd = {"a": 2 * 20 * 2.00 / 3600, "b": 20 * 2.50 / 3600}
    out = {}
    for side in "ab":
        good = tokens = 0
        for _, arrives, first, ends, got, wanted, how in rows(handout, rf"\| {side}\d \| \d+\.\d \|"):
            tokens += int(got)
            if how != "done" or int(got) < int(wanted):
                continue
            ttft = round(float(first) - float(arrives), 6)
            tpot = round((float(ends) - float(first)) / (int(got) - 1), 6)
            good += ttft < 2 and tpot < 0.1
        out[side] = {"output_tokens_per_s": tokens / 20, "good_requests": good, "good_per_usd": good / usd[side]}
    return out


def lab03():
    handout = read("03_kernels", "README.md")

    def both(name):
        return [float(x.replace(" ms", "e-3")) for x in rows(handout, rf"\| {name} \| [\d.e]+( ms)? \| [\d.e]+( ms)? \|$")[0][1:]]
    operations, moved, time = both("operations"), both("bytes moved"), both("time")
    return {side: {"operations_per_s": operations[i] / time[i], "bytes_per_s": moved[i] / time[i], "results_per_s": 1 / time[i]}
            for i, side in enumerate("ab")}


LABS = {
    "01": ("01_request_record", "objective.json", "purchase", "evidence.purchase", "buy", lab01,
           [("a", "useful_per_usd", 45, "the reserve isn't paid for"), ("b", "useful_per_usd", 153.66, "idle time isn't paid for"),
            ("a", "useful_responses", 5, "wrong answers count as useful"),
            ("a", "output_tokens_per_s", 4200 / 58, "divided by the busy time"), ("b", "useful_responses", 6, "completed, and passed")]),
    "02": ("02_queue_sim", "findings.json", "purchase", "evidence.findings_purchase", "buy", lab02,
           [("a", "good_requests", 6, "late and slow requests count as good"), ("a", "good_requests", 5, "equal to its limit"),
            ("a", "good_per_usd", 180, "only one of the two GPUs")]),
    "03": ("03_kernels", "roofline.json", "choice", "evidence.choice", "take", lab03,
           [("a", "results_per_s", 1.02, "in milliseconds, not in seconds"), ("b", "results_per_s", 900, "finished products a second")]),
}


def grade(lab, edit):
    name, file, member, check = LABS[lab][:4]
    folder = tempfile.mkdtemp(prefix="servelab-choice-")
    try:
        doc = json.loads(read(name, file))
        edit(doc[member])
        for f in os.listdir(os.path.join(TOP, "solutions", name)):
            if f.endswith((".c", ".json")):
                shutil.copy(os.path.join(TOP, "solutions", name, f), folder)
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            json.dump(doc, f, indent=2)
        p = subprocess.run([SERVELAB, "grade", lab, "--json", "--check", check, "--", folder], capture_output=True, check=False)
        return p.returncode, json.loads(p.stdout)["checks"][0].get("message", "")
    finally:
        shutil.rmtree(folder)


def main():
    for lab, (name, file, member, _, choose, computed, mistakes) in LABS.items():
        want, have = computed(), json.loads(read(name, file))[member]
        rate, value = list(want["a"])[0], list(want["a"])[2]
        report(all(abs(have[s][k] - v) <= 0.005 * v for s in "ab" for k, v in want[s].items()),
               f"lab {lab}: the reference's numbers are those of the handout's tables", (want, have))
        report(want["a"][rate] > want["b"][rate] and want["a"][value] < want["b"][value] and have[choose] == "b",
               f"lab {lab}: the greater rate is worth less", want)
        status, said = grade(lab, lambda c, w=want: [c[s].update(w[s]) for s in "ab"])
        report(status == 0, f"lab {lab}: the exact numbers earn the check", said)
        for side, number, wrong, words in mistakes:
            status, said = grade(lab, lambda c, s=side, k=number, v=wrong: c[s].update({k: v}))
            report(status == 1 and words in said and f"{file}:" in said and f"{member}.{side}.{number}" in said,
                   f"lab {lab}: {number} of {wrong:.4g}: {words}", said)
        status, said = grade(lab, lambda c, k=choose: c.update({k: "a"}))
        report(status == 1 and "your own numbers" in said, f"lab {lab}: the wrong choice", said)
        status, said = grade(lab, lambda c: c.update(reason="cheaper"))
        report(status == 1 and f"{member}.reason" in said, f"lab {lab}: a word is no reason", said)
    print(f"1..{count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
