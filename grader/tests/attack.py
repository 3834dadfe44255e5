#!/usr/bin/env python3
"""attack.py (`make attack`): hands in every file of labNN/attacks/ and reports what none may have: unearned points, hangs,
crashes, leftovers, leaks.

An attack's first comment says what it tries and what must become of it (grader/README.md, "Add an attack"). Each is graded as
its lab's reference with one file replaced:
  * with a practice seed: the outcome and the message are those of the comment, the other files' points stay;
  * with two hidden seeds (one for a refused file): neither verdict holds a seed, and they differ in outcomes and kinds of cases alone;
  * by test_attacks, for the attacks that it also runs with the examination of objects switched off.
After each run the folder for temporary files is empty and no process is left. LAB=03 and ATTACK=REGEX choose, JOBS says how many at
a time. Results go to build/attack/results.jsonl as they come, the table to build/attack/table.txt. Exit status 1: something was
found, or the whole corpus has fewer than 200 attacks."""

import collections
import concurrent.futures
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
WALLS = os.path.join(os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions")), "grader/tests/test_attacks")
OUT = os.path.join(TOP, "build/attack")
FAULTS = ["unearned", "hangs", "crashes", "leftovers", "leaks", "other"]
SLOWEST_S = 90  # one grading on a busy machine; an endless launch of a kernel is ended after eight
LEAST = 200
SEEDS = ["the first of two seeds that nobody may see", "another such text, of which nothing may be seen"]

# A lab: its reference, the file that an attack replaces, the check that it is after, and checks of other files that are kept.
Lab = collections.namedtuple("Lab", "reference file watch keeps")
LABS = {
    "01": Lab("solutions/01_request_record", "percentile.c", "slo.percentile_rank",
              {"intervals.rounding": "intervals.c", "slo.strict": "slo.c"}),
    "02": Lab("solutions/02_queue_sim", "policy.c", "quality.keeps_rules",
              {"intervals.ttft": "analysis.c", "slo.limits": "capacity.c"}),
    "03": Lab("solutions/03_kernels", "copy.cu", "copy", {}),
    "04": Lab("solutions/04_serving", "engine_step.c", "quality.tokens",
              {"intervals.stamp_kinds": "stamps.c", "slo.regions": "report.c"}),
}
LAUNCH = {"copy": {"grid": ["ceil(n, 256)"], "block": [256]}}  # lab 03's launch.json


class Attack:
    """One file of the corpus."""

    def __init__(self, lab, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.lab, self.path = lab, path
        self.name = f"{lab}/{os.path.basename(path)}"
        comment = re.match(r"/\*(.*?)\*/", self.text, re.S).group(1)
        lines = [re.sub(r"^ \* ?", "", line).strip() for line in comment.split("\n")]
        key = re.compile(r"(file|watch|examined|trusted|expect|points|hooks): (.*)")
        self.keys = dict(key.match(line).groups() for line in lines if key.match(line))
        self.tries = " ".join(line for line in lines if line and not key.match(line))
        self.file = self.keys.get("file", LABS[lab].file)
        self.watch = self.keys.get("watch", LABS[lab].watch)
        said = self.keys.get("expect") or self.keys.get("examined", "")
        outcome, _, says = said.partition("; says: ") if lab != "03" else ("", "", said)
        self.outcome = outcome  # lab 03 has points instead
        self.says = says.split("|") if says else []
        self.points = int(self.keys.get("points", 0))
        self.env = {"SERVELAB_HOOKS": self.keys["hooks"]} if "hooks" in self.keys else {}

    def expected(self):
        return f"{self.outcome or str(self.points) + ' points'}{': ' + ' | '.join(self.says) if self.says else ''}"

    def also_walls(self):
        """The ways in which test_attacks runs it beside the ordinary one."""
        both = self.keys.get("trusted", "").endswith("; also in bubblewrap")
        return (["rlimits"] if both or self.outcome == "refused" else []) + (["trusted"] if both else [])

    def checks(self):
        lab = LABS[self.lab]
        return ",".join([self.watch] + [k for k in lab.keeps if k != self.watch])

    def write(self, folder):
        """The reference with this attack in it."""
        lab = LABS[self.lab]
        reference = os.path.join(TOP, lab.reference)
        for name in os.listdir(reference):
            if name.endswith((".c", ".json", ".cu")) and (self.lab != "03" or name == "launch.json"):
                shutil.copy(os.path.join(reference, name), folder)
        if self.lab == "03":
            path = os.path.join(folder, "launch.json")
            with open(path, encoding="utf-8") as f:
                entries = {**json.load(f), **LAUNCH}
            with open(path, "w", encoding="utf-8") as f:
                json.dump(entries, f)
        with open(os.path.join(folder, self.file), "w", encoding="utf-8") as f:
            f.write(self.expanded(os.path.join(reference, self.file)))

    def expanded(self, reference):
        """Its text; data has no comments. "//reference F G" becomes the reference's file with its function F renamed to G."""
        if self.file.endswith(".json"):
            return self.text.split("*/", 1)[1]
        mark = re.search(r"\n//reference (\w+) (\w+)\n", self.text)
        if not mark:
            return self.text
        function, other = mark.groups()
        with open(reference, encoding="utf-8") as f:
            given = f.read()
        return (f"{self.text[:mark.start()]}\n#define {function} {other}\n{given}\n#undef {function}\n"
                f"__typeof__({other}) {function};\n{self.text[mark.end():]}")


def corpus(lab=None, only=""):
    """The attacks of one lab or of all, whose name matches."""
    out = []
    for number in LABS if lab in (None, "", "all") else [lab]:
        folder = os.path.join(TOP, "grader/tests/lab" + number, "attacks")
        out += [Attack(number, os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name[0] != "."]
    return [a for a in out if re.search(only, a.name)]


# ---- one attack ------------------------------------------------------------------------------------------------------

class Found(Exception):
    """A fault: its kind (one of FAULTS), and what was seen."""


def examine(attack, parts=None):
    """Hands the attack in, in every way, or in those of `parts`. Returns the result as a dict; "found" lists [kind, text]."""
    began, found = time.monotonic(), []
    folder = tempfile.mkdtemp(prefix="servelab-attack-")
    os.chmod(folder, 0o755)
    seen = {"became": ""}
    try:
        submission, work = os.path.join(folder, "submission"), os.path.join(folder, "work")
        os.mkdir(submission)
        os.mkdir(work)
        os.chmod(work, 0o1777)
        attack.write(submission)
        for part in parts or (ordinary, hidden, walls):
            try:
                part(attack, submission, work, seen)
            except Found as e:
                found.append(list(e.args))
            except (OSError, ValueError, LookupError) as e:  # no verdict, or one that nobody can read
                found.append(["crashes", f"{part.__name__}: {e!r}"])
            left = os.listdir(work) + processes_left()
            if left:
                found.append(["leftovers", f"{part.__name__}: {', '.join(left)}"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"attack": attack.name, "tries": attack.tries, "expected": attack.expected(), "became": seen["became"], "found": found,
            "seconds": round(time.monotonic() - began, 1)}


def grade(attack, submission, work, *seed):
    """The verdict, and the text beside it."""
    verdict = os.path.join(os.path.dirname(submission), "verdict.json")
    args = [SERVELAB, "grade", attack.lab, *seed, "--format", "text,json=" + verdict, "--check", attack.checks(), "--", submission]
    try:
        p = subprocess.run(args, capture_output=True, stdin=subprocess.DEVNULL, timeout=SLOWEST_S, check=False,
                           env={**os.environ, "TMPDIR": work, **attack.env})
    except subprocess.TimeoutExpired:
        raise Found("hangs", f"not graded within {SLOWEST_S} s") from None
    if p.returncode not in (0, 1, 3):
        raise Found("crashes", f"exit status {p.returncode}: {p.stderr.decode(errors='replace')[-200:]}{p.stdout[-200:]}")
    with open(verdict, "rb") as f:
        raw = f.read()
    os.unlink(verdict)
    return json.loads(raw.decode("utf-8")), p.stdout.decode("utf-8") + p.stderr.decode("utf-8"), raw


def ordinary(attack, submission, work, seen):
    """With a practice seed: what the comment says."""
    v, text, _ = grade(attack, submission, work, "--seed", "7")
    by_id = {c["id"]: c for c in v["checks"]}
    if attack.lab == "03":
        seen["became"] = f"{v['points_earned']} points"
        if v["points_earned"] != attack.points:
            kind = "unearned" if v["points_earned"] > attack.points else "other"
            raise Found(kind, f"earned {v['points_earned']} points, not {attack.points}")
    else:
        outcome = by_id[attack.watch]["outcome"]
        seen["became"] = outcome
        want = {"refused": "not_run"}.get(attack.outcome, attack.outcome)
        if outcome != want:
            raise Found("unearned" if outcome == "earned" else "other",
                        f"{attack.watch} is {outcome}, not {want}: {by_id[attack.watch].get('message')}")
        if attack.outcome == "refused" and attack.file not in v.get("problem", ""):
            raise Found("other", f"{attack.file} isn't among the problems: {v.get('problem')}")
    said = " ".join(str(c.get(k, "")) for c in v["checks"] for k in ("message", "printed")) + " " + v.get("problem", "")
    seen["became"] += ": " + said.strip()[:120]
    if attack.says and not any(s in said for s in attack.says):
        raise Found("other", f"says: {said[:300]}")
    for check, file in LABS[attack.lab].keeps.items():
        if file != attack.file and check in by_id and check != attack.watch and by_id[check]["outcome"] != "earned":
            raise Found("other", f"{check} of another file is {by_id[check]['outcome']}: {by_id[check].get('message')}")
    forged = [line for line in text.split("\n") if line.startswith(("ok 1", "score: 100"))]
    odd = [c for c in text if ord(c) < 32 and c not in "\n\t" or 0x7f <= ord(c) < 0xa0]
    if forged or odd:
        raise Found("other", f"the verdict has the submission's own text: {forged or odd}")


def hidden(attack, submission, work, _seen):
    """With two hidden seeds: verdicts that tell neither from the other. One is enough for a file that is refused: it never runs."""
    shown = []
    for seed in SEEDS[:1 if attack.outcome == "refused" else 2]:
        path = os.path.join(os.path.dirname(submission), "seed")
        with open(path, "w", encoding="utf-8") as f:
            f.write(seed)
        v, text, raw = grade(attack, submission, work, "--seed-file", path)
        if seed in text or seed.encode() in raw or "seed" in v:
            raise Found("leaks", "the seed is shown")
        shown.append(v)
    what = first_difference(shown[0], shown[-1])
    if what:
        raise Found("leaks", f"two hidden seeds differ in {what}")


def first_difference(a, b):
    """Where two verdicts with hidden seeds differ, beyond outcomes, points and kinds of cases. None: nowhere. A check with the
    same outcome says the same; so one outcome has one message."""
    if sorted(a) != sorted(b):
        return f"their fields: {sorted(set(a) ^ set(b))}"
    decided = {"exit_status", "attempted", "points_earned", "points_total", "points_of_grader_faults", "dimensions", "checks", "complete"}
    for key in a:
        if key not in decided and a[key] != b[key]:
            return f"{key}: {a[key]!r}, {b[key]!r}"
    for c, d in zip(a["checks"], b["checks"], strict=True):
        for key in sorted(set(c) | set(d)):
            if c["outcome"] == d["outcome"] and key != "kind" and c.get(key) != d.get(key):
                return f"{c['id']}: {key}: {c.get(key)!r}, {d.get(key)!r}"
    return None


def walls(attack, _submission, work, _seen):
    """With the examination of objects switched off: test_attacks asserts that the process alone holds."""
    for way in attack.also_walls():
        p = subprocess.run([WALLS], capture_output=True, stdin=subprocess.DEVNULL, timeout=300, check=False, cwd=TOP,
                           env={**os.environ, "TMPDIR": work, "CK_RUN_CASE": f"{way} lab {attack.lab} {os.path.basename(attack.path)}"})
        if p.returncode:
            raise Found("unearned", f"{way}, with the examination off: {p.stdout.decode(errors='replace')[-300:]}")
        if b"\n1..1" not in p.stdout and not p.stdout.startswith(b"1..1"):
            raise Found("other", f"test_attacks has no case '{way}' for it: {p.stdout[:200]}")


# ---- processes -------------------------------------------------------------------------------------------------------

def adopt_orphans():
    """A process that a grading leaves behind becomes a child of this worker."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends the workers


def processes_left():
    """This worker's children that run on; they are ended. One that has ended already and waits to be collected isn't left."""
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                name, rest = f.read().rsplit(")", 1)
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) != os.getpid():
            continue
        if state != "Z":
            left.append(f"process {name.split('(', 1)[1]}")
            os.kill(int(pid), signal.SIGKILL)
        try:
            os.waitpid(int(pid), 0)
        except ChildProcessError:
            pass
    return left


# ---- the report ------------------------------------------------------------------------------------------------------

def run_all(attacks, jobs, each, judge=examine):
    """Examines them, `jobs` at a time, and calls each(result) as results come."""
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=adopt_orphans) as pool:
        for done in concurrent.futures.as_completed([pool.submit(judge, a) for a in attacks]):
            each(done.result())


def cell(text, width):
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return (text if len(text) <= width else text[:width - 3] + "...").ljust(width)


def table(results):
    lines = [f"{cell('attack', 36)}  {cell('what it tries', 60)}  {cell('what must become of it', 44)}  result      s"]
    for r in sorted(results, key=lambda r: r["attack"]):
        verdict = ",".join(kind for kind, _ in r["found"]) or "held"
        lines.append(f"{cell(r['attack'], 36)}  {cell(r['tries'], 60)}  {cell(r['expected'], 44)}  {cell(verdict, 9)} {r['seconds']:5.1f}")
        lines += [f"    {kind}: {cell(text, 400).strip()}" for kind, text in r["found"]]
    return lines


def main():
    lab, only = os.environ.get("LAB", ""), os.environ.get("ATTACK", "")
    jobs = int(os.environ.get("JOBS") or os.cpu_count())
    attacks = corpus(lab, only)
    os.makedirs(OUT, exist_ok=True)
    results, began, tty = [], time.monotonic(), sys.stdout.isatty()
    with open(os.path.join(OUT, "results.jsonl"), "w", encoding="utf-8") as log:
        def each(result):
            results.append(result)
            log.write(json.dumps(result) + "\n")
            log.flush()
            bad = sum(bool(r["found"]) for r in results)
            line = f"{len(results)} of {len(attacks)} attacks, {time.monotonic() - began:.0f} s, {bad} with a finding; {result['attack']}"
            print(f"\r\033[K{line}" if tty else line, end="" if tty else "\n", flush=True)
            if tty and result["found"]:
                print("\n" + table([result])[-1])
        run_all(attacks, jobs, each)
    if tty:
        print("\r\033[K", end="")
    counts = collections.Counter(kind for r in results for kind, _ in r["found"])
    lines = table(results) + ["", f"{len(results)} attacks in {time.monotonic() - began:.0f} s, {jobs} at a time: " +
                              ", ".join(f"{counts[k]} {k}" for k in FAULTS)]
    few = not only and lab in ("", "all") and len(results) < LEAST
    if few or not results:
        lines.append(f"there are fewer attacks than {LEAST}" if few else "no attack has that name")
    with open(os.path.join(OUT, "table.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    print("\n" + "\n".join(lines))
    return 1 if counts or few or not results else 0


if __name__ == "__main__":
    sys.exit(main())
