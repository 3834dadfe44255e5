"""test_lab02_docs.py: lab 02's handout agrees with the programs: every simulator command in it runs, the lines quoted
under a command are in its output, the figure is the simulator's, and `make mine` links the files that the handout names.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
HANDOUT = os.path.join(TOP, "solutions/02_queue_sim/README.md")
count = failures = 0


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok and why:
        print("# " + str(why).strip().replace("\n", "\n# "), flush=True)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def words(line):
    return " ".join(line.split())


def blocks(text):
    """(language, lines) of every fenced block, in order"""
    return [(kind, body.splitlines()) for kind, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)]


def run_command(line, work):
    """Runs a simulator command of the handout; build/mine/servelab is replaced by the reference."""
    argv = line.split()
    argv[0] = SERVELAB
    if "--out" in argv:
        argv[argv.index("--out") + 1] = os.path.join(work, "sweep")
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def check_commands_and_quotes(work):
    wrong, missing, quoted, ran, said = [], [], 0, 0, set()
    for kind, lines in blocks(read(HANDOUT)):
        if kind == "sh":
            commands = [s for s in lines if re.match(r"build/(bin|mine)/servelab sim ", s)]
            said = set() if commands else said
            for line in commands:
                out = run_command(line, work)
                ran += 1
                said |= {words(s) for s in out.stdout.splitlines()}
                if out.returncode != 0:
                    wrong.append(f"{line}\n  {out.stderr}")
        elif kind == "text":
            quoted += len(lines)
            missing += [s for s in lines if words(s) not in said]
    report(ran >= 8 and not wrong, f"every simulator command of the handout runs ({ran})", "\n".join(wrong))
    report(quoted >= 10 and not missing, f"every quoted line is what the command prints ({quoted})", "\n".join(missing))


def check_code(work):
    """Whole C examples compile, with every warning an error."""
    wrong, n = [], 0
    for kind, lines in blocks(read(HANDOUT)):
        if kind != "c":
            continue
        n += 1
        source = os.path.join(work, "example.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        built = subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Icommon", source],
                               cwd=TOP, capture_output=True, text=True, timeout=60)
        wrong += [built.stderr] if built.returncode else []
    report(n > 0 and not wrong, f"the handout's example of a policy compiles ({n})", "\n".join(wrong))


def check_claim(work):
    """Looking at the cache before admitting saves preemptions, on the handout's own command."""
    command = [s for _, lines in blocks(read(HANDOUT)) for s in lines if "--kv-blocks 600" in s]
    told = {}
    for policy in ("learner", "chunked"):
        out = run_command(re.sub(r"--policy \S+", f"--policy {policy}", command[0]) + " --json", work)
        told[policy] = json.loads(out.stdout)["preemptions"] if out.returncode == 0 else None
    report(len(command) == 1 and None not in told.values() and 0 < 3 * told["learner"] < told["chunked"],
           "the reference preempts less than a third as often as chunked", told)


def check_promises():
    """The figures that the handout promises are the grader's, and each of the lab's checks is named there."""
    handout = " ".join(read(HANDOUT).split())
    judge = " ".join(read(TOP, "grader/lab02/judge_goodput.c").split())
    bars = {name: (int(ttft), int(tpot), int(percent) / 100) for name, ttft, tpot, percent in re.findall(
        r"\{ ?JUDGE_(\w+), PLAY_\w+, \{(\d+) \* NS_PER_MS, (\d+) \* NS_PER_MS, INT64_MAX\}, (\d+),", judge)}
    most = int(re.search(r"PLAY_MAX_OVERTAKEN = (\d+)", read(TOP, "grader/lab02/play.h")).group(1))
    lost = re.search(r"LOST_PERCENT = (\d+)", judge).group(1)
    said = [f"at most {most} requests that arrived later",
            f"{bars['BATCH_MARGIN'][2]:g} times the goodput of `single`",
            f"within {bars['BATCH_WAITS'][0]} ms: {bars['BATCH_WAITS'][2]:g} times the goodput of the better of `wait-for-n:8` and `static:8`",
            f"in each workload preemptions lose at most {lost} % of the tokens",
            f"due within {bars['BATCH_STARTS'][0]} ms",
            f"first token within {bars['MARGIN'][0] / 1000:g} s, {bars['MARGIN'][1]} ms a token | "
            f"{bars['PAR'][2]:.1f} and {bars['MARGIN'][2]:g} times the better of `static:8` and `wait-for-n:8`",
            f"{bars['ADMISSION'][0] / 1000:g} s, {bars['ADMISSION'][1]} ms | {bars['ADMISSION'][2]:g} times the better of `continuous`",
            f"{bars['CHUNKING'][0] / 1000:g} s, {bars['CHUNKING'][1]} ms | {bars['CHUNKING'][2]:g} times the best of `continuous`"]
    report(not [s for s in said if s not in handout], "what the handout promises is what the grader asks",
           [s for s in said if s not in handout])
    rubric = re.findall(r'"((?:intervals|quality|slo)\.\w+)", DIM', read(TOP, "grader/lab02/rubric.c"))
    missing = [c for c in rubric if not re.search(rf"CHECK=\S*\b{re.escape(c)}\b", read(HANDOUT))]
    report(len(rubric) > 30 and not missing, "every check is named under its function", missing)


def check_figure(work):
    made = subprocess.run([sys.executable, os.path.join(TOP, "common/course/draw_schedules.py"), work],
                          env={**os.environ, "SERVELAB": SERVELAB}, capture_output=True, text=True, timeout=60)
    names = ["schedules.svg", "schedules.svg.starter"]
    report(made.returncode == 0 and all(read(work, n) == read(TOP, "solutions/02_queue_sim", n) for n in names),
           "the figure is what the simulator says", made.stderr or "run common/course/draw_schedules.py and commit")
    starter = read(TOP, "solutions/02_queue_sim/schedules.svg.starter")
    report("draw it" in starter and starter.count('stroke-dasharray') == 4, "its starter leaves the second policy blank")


def check_mine():
    asked = subprocess.run(["make", "-n", "-W", "common/base/err.c", "-W", "labs/02_queue_sim/policy.c", "MINE=02",
                            "V=1", "build"], cwd=TOP, capture_output=True, text=True, timeout=120)
    made = asked.stdout
    report(asked.returncode == 0 and "labs/02_queue_sim/policy.o" in made and "-mine02.a" in made and "build/mine/servelab" in made,
           "`make mine LAB=02` links the learner's files of that lab", asked.stderr or made[-600:])
    product = "\n".join(line for line in made.split("\n") if "mine02.a" in line or "-o build/mine/" in line)
    report("solutions/01_request_record/slo.o" in product and "labs/01_request_record/slo.o" not in product
           and "labs/02_queue_sim/policy.o" in product and "solutions/02_queue_sim/policy.o" not in product,
           "and the reference's of the others", product[-600:])
    asked = subprocess.run(["make", "-n", "-B", "MINE=all", "V=1", "build"], cwd=TOP, capture_output=True, text=True, timeout=120)
    every = re.findall(r" -o build/obj/[\w-]+/(labs|solutions)/(0\d_\w+)/\w+\.o", asked.stdout)
    report(asked.returncode == 0 and {tree for tree, _ in every} == {"labs"} and len({lab for _, lab in every}) == 4,
           "`make mine LAB=all` compiles the learner's four labs and nothing of the reference's", asked.stderr or every)
    report("build/mine/simtcc" in made and "/libservelab.a" not in made,
           "and nothing of it needs the reference's library, which a fresh copy doesn't have", made[-600:])


def main():
    with tempfile.TemporaryDirectory() as work:
        check_commands_and_quotes(work)
        check_code(work)
        check_claim(work)
        check_promises()
        check_figure(work)
        check_mine()
    print(f"1..{count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
