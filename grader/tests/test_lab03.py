#!/usr/bin/env python3
"""test_lab03.py [all]: lab 03 for a learner: starters, versions, honest variants, messages, and the handout.

Each earlier version of a kernel (solutions/03_kernels/steps) is handed in and must reach exactly the version that it is:
some of them here, every one with `all` (make check-mutants). TAP."""

# servelab-test: waits long
import concurrent.futures
import filecmp
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

from lab03_submission import REFERENCE, SERVELAB, TOP, Submission, step, steps
from plant import plant

SIMTCC = os.path.join(os.path.dirname(SERVELAB), "simtcc")
HONEST = os.path.join(TOP, "grader/tests/lab03/honest")
SOME = [("rmsnorm", 2), ("rmsnorm", 3), ("gemm", 3), ("gemm", 4), ("softmax", 2), ("attention_decode", 2), ("copy", 1), ("rope", 1)]
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


def reference(kernel):
    return read(REFERENCE, f"{kernel}.cu")


def reached(verdict, kernel):
    """The version that the grader says a file has reached, and whether the points say the same."""
    best, told, n_versions, consistent = 1, set(), 0, True
    for c in verdict["checks"]:
        m = re.fullmatch(rf"slo\.{kernel}\.v(\d)", c["id"])
        if not m:
            continue
        said = re.search(r"meets version (\d)'s budgets of (\d)", c.get("message") or "")
        if c["outcome"] == "earned":
            best = max(best, int(m.group(1)))
        elif said:
            told.add(int(said.group(1)))
            n_versions = int(said.group(2))
            consistent = consistent and int(said.group(1)) < int(m.group(1))
    if told:
        consistent = consistent and len(told) == 1 and max(told) >= best
        best = max(told)
    return best, consistent, n_versions


# ---- versions and variants -----------------------------------------------------------------------------------------------


def grade_version(kernel, k):
    text, launch = step(kernel, k)
    with Submission({f"{kernel}.cu": text}, {kernel: launch}, only=["launch.json", f"{kernel}.cu"]) as s:
        return s.grade(kernel, seed=k)


def check_versions(everything):
    chosen = steps() if everything else SOME
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = pool.map(lambda v: grade_version(*v), chosen)
        for (kernel, k), v in zip(chosen, verdicts):
            best, consistent, _ = reached(v, kernel)
            right = v["by_id"][f"quality.{kernel}"]["outcome"] == "earned"
            report(right and best == k and consistent, f"{kernel}, version {k}, reaches exactly version {k}",
                   f"right: {right}, reached: {best}, points agree: {consistent}")


def check_honest():
    for name, variant in json.loads(read(HONEST, "variants.json")).items():
        kernel = name.rsplit("_", 1)[0]
        with Submission({f"{kernel}.cu": read(HONEST, f"{name}.cu")}, {kernel: variant["launch"]},
                        only=["launch.json", f"{kernel}.cu"]) as s:
            v = s.grade(kernel, seed=11)
        lost = [c for c in v["checks"] if c["dimension"] in ("quality", "safety") and c["outcome"] != "earned"]
        best, _, n_versions = reached(v, kernel)
        report(not lost and (not n_versions or best == variant["version"]), f"{name} is right, clean, and of its version",
               f"{lost} {best}")


# ---- the worked kernel ----------------------------------------------------------------------------------------------------


def run_worked(work, name, text):
    """(what its run printed, its counts by kernel)."""
    source, program, report_file = (os.path.join(work, name + end) for end in (".cu", "", ".json"))
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run([SIMTCC, "--check", source, "-o", program], check=True)
    p = subprocess.run([program], capture_output=True, text=True, check=False, env={**os.environ, "SIMT_REPORT": report_file})
    with open(report_file, encoding="utf-8") as f:
        return p.stdout + p.stderr, {k["name"]: k for k in json.load(f)["kernels"]}


def check_worked_kernel():
    """The handout's table is what its program counts, and its race report what the program without the barrier says."""
    handout = read(REFERENCE, "README.md")
    code = re.search(r"```cuda\n(.*?)```", handout, re.S).group(1)
    rows = re.findall(r"^\| `(by_\w+)` \| ([\d,]+) x (\d+) \| ([\d,]+) \| ([\d,]+) \| (\d+) \|$", handout, re.M)
    with tempfile.TemporaryDirectory() as work:
        said, counts = run_worked(work, "row_sum", code)
        report(len(rows) == 3 and "error" not in said, "the worked kernel is clean", said)
        for name, *numbers in rows:
            requests, each, sectors, shared, barriers = (int(n.replace(",", "")) for n in numbers)
            k = counts[name]
            got = (k["global_load_requests"], k["global_load_sectors"], k["shared_requests"], k["barriers"])
            report(got == (requests, sectors, shared, barriers) and sectors == requests * each,
                   f"the handout's counts of {name} are right", got)
        quoted = re.search(r"^simt: error: shared-race: build/(row_sum.cu:.*)$", handout, re.M).group(1)
        line = next(x for x in code.splitlines(True) if "__syncthreads(); /* all writes" in x)
        said, _ = run_worked(work, "row_sum", code.replace(line, plant(line, "__syncthreads();", "")))
        report(quoted in said, "the handout's race report is what simtcc reports", said)


def check_unwritten():
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "gemv.cu")
        with open(source, "w", encoding="utf-8") as f:
            f.write(plant(reference("gemv"), "float sum[ROWS] = {0, 0, 0, 0};", "float sum[ROWS];"))
        p = subprocess.run([SIMTCC, "--unwritten", "-I", os.path.join(TOP, "common"), source], capture_output=True, text=True,
                           check=False)
        report(p.returncode == 1 and re.search(r"gemv.cu:\d+: 'sum\[?.*' is read before", p.stdout), "--unwritten names the local",
               p.stdout + p.stderr)
        many = "".join(f"float v{k}; if (n > {k}) v{k} = in[i + {k}];" for k in range(400))
        used = "".join(f"if (n > {k}) s += v{k};" for k in range(400))
        with open(source, "w", encoding="utf-8") as f:
            f.write('extern "C" __global__ void gemv(float *out, const float *in, int n) { int i = threadIdx.x; float s;\n'
                    f"{many} {used} out[i] = s; }}")
        p = subprocess.run([SIMTCC, "--unwritten", source], capture_output=True, text=True, check=False,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 11)))  # as in the grader
        report(p.returncode == 1 and "'s' is read before" in p.stdout,
               "--unwritten names it among 400 variables with a branch each, for which the analyzer needs 37 s", p.stdout + p.stderr)
        for kernel in ("gemv", "attention_decode", "sample"):
            p = subprocess.run([SIMTCC, "--unwritten", "-I", os.path.join(TOP, "common"), os.path.join(REFERENCE, kernel + ".cu")],
                               capture_output=True, text=True, check=False)
            report(p.returncode == 0 and not p.stdout, f"--unwritten finds nothing in the reference's {kernel}", p.stdout + p.stderr)


def check_slow():
    slow = plant(reference("copy"), "    // BEGIN SOLUTION\n    //| LAB_TODO_KERNEL", "    volatile float waste = 0;\n"
                 "    for (int k = 0; k < 40000; k++) waste = waste + 1;\n    // BEGIN SOLUTION\n    //| LAB_TODO_KERNEL")
    with Submission({"copy.cu": slow}, only=["launch.json", "copy.cu"]) as s:
        p = subprocess.run([SERVELAB, "grade", "03", s.path, "--check", "quality.copy"], capture_output=True, text=True, check=False)
    report(re.search(r"Took longer than a second: quality.copy \d+\.\d s", p.stdout), "a check that took long says so", p.stdout + p.stderr)


# ---- starters -------------------------------------------------------------------------------------------------------------


def starter_compiles(file, work):
    p = subprocess.run([SIMTCC, "-c", "-Wall", "-I", os.path.join(TOP, "common"), file, "-o", os.path.join(work, os.path.basename(file) + ".o")],
                       capture_output=True, text=True, check=False)
    return p.stderr if p.returncode or p.stderr.strip() else ""


def check_starters():
    work = tempfile.mkdtemp(prefix="servelab-lab03-")
    try:
        made = subprocess.run([os.path.join(TOP, "common/course/make_labs.sh"), "--to", os.path.join(work, "labs")],
                              capture_output=True, text=True, check=False)
        labs = os.path.join(work, "labs/03_kernels")
        report(made.returncode == 0, "the starters can be made", made.stderr)
        kernels = sorted(f for f in os.listdir(labs) if f.endswith(".cu"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda f: starter_compiles(os.path.join(labs, f), work), kernels))
        report(len(kernels) == 15 and not any(said), "fifteen starters compile without a word", "".join(said))
        p = subprocess.run([SERVELAB, "grade", "03", labs, "--seed", "1"], capture_output=True, text=True, check=False)
        report(p.returncode == 3 and "not attempted" in p.stdout and "copy.cu" in p.stdout,
               "the starters as they are: not attempted, and where to begin", p.stdout)
        p = subprocess.run([SERVELAB, "grade", "03", labs, "--check", "evidence"], capture_output=True, text=True, check=False)
        report(p.returncode == 3 and 'roofline.json still has a "TODO"' in p.stdout and "First step" not in p.stdout,
               "a chosen check names its own missing file, and no first step",
               p.stdout)
        shutil.copy(os.path.join(REFERENCE, "copy.cu"), labs)
        p = subprocess.run([SERVELAB, "grade", "03", labs, "--seed", "1", "--check", "copy", "--json"], capture_output=True,
                           text=True, check=False)
        v = json.loads(p.stdout)
        report(p.returncode == 3 and "launch.json says nothing about copy yet" in p.stdout and v["points_earned"] == 0,
               "a kernel without its launch shape is not attempted either", p.stdout)
    finally:
        shutil.rmtree(work)


# ---- evidence -------------------------------------------------------------------------------------------------------------


def check_predictions():
    """Predictions that nobody made from a report."""
    with open(os.path.join(REFERENCE, "roofline.json"), encoding="utf-8") as f:
        text = f.read()
    for what, said, edit in (
            ("a fractional count before", "predictions[0].before: is a count of a report, so a whole number", lambda p: p[0].update(before=3840.5)),
            ("a fractional count after", "predictions[1].counted: is a count of a report, so a whole number", lambda p: p[1].update(counted=0.25)),
            ("one explanation used twice", "predictions[1].explanation: is that of the other prediction", lambda p: p[1].update(explanation=p[0]["explanation"])),
            ("one explanation used twice, with other dots and cases", "predictions[1].explanation: is that of the other prediction",
             lambda p: p[1].update(explanation=p[0]["explanation"].upper() + " .")),
            ("no change", "predictions[0].counted: is what it was before", lambda p: p[0].update(counted=3840)),
            ("the same counter twice", "predictions[1]: is about the same kernel and counter", lambda p: p[1].update(kernel="rmsnorm", counter="requests")),
            ("a prediction that is no whole number", None, lambda p: p[0].update(predicted=960.5))):
        card = json.loads(text)
        edit(card["predictions"])
        with Submission({"roofline.json": json.dumps(card)}, only=["roofline.json"]) as s:
            check = s.grade("evidence.predictions")["by_id"]["evidence.predictions"]
        right = check["outcome"] == "lost" and said in check["message"] if said else check["outcome"] == "earned"
        report(right, f"roofline.json with {what}: {'refused' if said else 'honest'}", check)


# ---- messages -------------------------------------------------------------------------------------------------------------


def check_unsuspected():
    """simtcc --unwritten has nothing to say about a kernel that writes each variable first."""
    kernels = sorted(f for f in os.listdir(REFERENCE) if f.endswith(".cu"))
    said = [subprocess.run([SIMTCC, "--unwritten", "-I", os.path.join(TOP, "common"), os.path.join(REFERENCE, f)], capture_output=True,
                           text=True, check=False).stdout for f in kernels]
    report(len(kernels) == 15 and not any(said), "no variable of the reference is said to be unwritten", "".join(said))


def message_of(kernel, change, check, launch=None, **more):
    text = change(reference(kernel)) if change else reference(kernel)
    with Submission({f"{kernel}.cu": text}, launch, only=["launch.json", f"{kernel}.cu"]) as s:
        v = s.grade(kernel, **more)
    return v["by_id"][check], v


def check_messages():
    def line_of(kernel, what):
        return 1 + reference(kernel)[:reference(kernel).index(what)].count("\n")

    one, _ = message_of("rmsnorm", lambda t: plant(t, "rsqrtf(", "rsqrt_of("), "quality.rmsnorm")
    at = line_of("rmsnorm", "rsqrtf(")
    report(one["outcome"] == "not_run" and one["message"].startswith(f"rmsnorm.cu:{at}: ") and "rsqrt_of" in one["message"],
           "a file that doesn't compile: the first error with the learner's line", one)

    one, v = message_of("rmsnorm", lambda t: plant(t, "    __syncthreads();\n", ""), "safety.rmsnorm")
    report(one["outcome"] == "lost" and re.match(r"rmsnorm\.cu:\d+: (shared-race|uninitialised): thread \(", one["message"])
           is not None, "a barrier that isn't there: what it leads to, with line and threads", one)

    one, v = message_of("rmsnorm", lambda t: plant(t, "if (i >= d / 4) continue;", "if (i > d / 4) continue;"), "quality.rmsnorm")
    report(one["outcome"] == "lost" and re.match(r"rmsnorm\.cu:\d+: out-of-bounds: ", one["message"]) is not None and
           v["points_earned"] == 0, "one value too many: the access, with its line, and no point", one)

    # a sum that every thread adds to: right as lanes run here, one after the other, and wrong on a GPU
    race = ("{ __shared__ float s; int r = blockIdx.x; if (threadIdx.x == 0) s = 0; __syncthreads();"
            " for (int c = threadIdx.x; c < cols; c += blockDim.x) s += __bfloat162float(w[(size_t)r * cols + c]) * x[c];"
            " __syncthreads(); if (threadIdx.x == 0) y[r] = s; }")
    one, v = message_of("gemv", lambda t: t[:t.index("KERNEL gemv(")] + t[t.index("KERNEL gemv("):].split("{", 1)[0] + race,
                        "slo.gemv.v3", launch={"gemv": {"grid": ["rows"], "block": [64]}})
    report(one["outcome"] == "lost" and "clean: gemv.cu:" in one["message"] and "shared-race" in one["message"],
           "no budget is kept by a race, and CHECK=gemv names it", one)

    for kernel, grid in (("copy", 64), ("swiglu", 64), ("gemv", 16), ("embedding", 64), ("gemm", 4)):
        one, v = message_of(kernel, None, f"quality.{kernel}", launch={kernel: {"grid": [grid], "block": [256]}})
        report(v["points_earned"] == 0 and "is as it was before the launch (NaN)" in one["message"],
               f"{kernel} with a grid of {grid} for every size: the unwritten element is reported", one)

    body = "    // BEGIN SOLUTION\n    //| LAB_TODO_KERNEL"
    one, _ = message_of("copy", lambda t: plant(t, body, "    __shared__ float s[60000];\n    s[threadIdx.x] = n;\n" + body), "quality.copy")
    report("illegal-launch" in one["message"] and "240000 bytes" in one["message"],
           "too much shared memory is said, not that nothing was written", one)
    one, _ = message_of("copy", lambda t: plant(t, body, "    while (1) {}\n" + body), "quality.copy")
    report("a loop without an end that does nothing" in one["message"], "a loop that the compiler takes away is named", one)

    one, _ = message_of("rmsnorm", None, "quality.rmsnorm", launch={"rmsnorm": {"grid": ["rows"], "block": [2048]}})
    report(one["outcome"] == "lost" and "launch.json:1: rmsnorm.block" in one["message"], "a block of 2048 threads is named", one)
    report(one["file"] == "launch.json", "and the file to open is launch.json", one)
    one, _ = message_of("rmsnorm", None, "safety.rmsnorm", launch={"rmsnorm": {"grid": ["rows"], "block": [2048]}})
    report(one["outcome"] == "not_run" and "locked until the kernel is right" in one["message"], "and its safety waits for the launch", one)
    one, _ = message_of("rmsnorm", None, "quality.rmsnorm", launch={"rmsnorm": {"grid": ["columns"], "block": [256]}})
    report(one["outcome"] == "lost" and "grid[0]" in one["message"] and "columns" in one["message"],
           "a launch shape of unknown sizes is named", one)

    one, _ = message_of("rmsnorm", lambda t: plant(t, "float scale", "asm(\"bar.sync 0;\");\n    float scale"), "quality.rmsnorm")
    report("rmsnorm.cu:" in one["message"] and "CUDA C" in one["message"], "PTX is refused with line and alternative", one)

    with tempfile.NamedTemporaryFile("w", suffix=".seed") as f:
        f.write("nobody guesses this one\n")
        f.flush()
        one, v = message_of("rmsnorm", lambda t: plant(t, "+ eps", ""), "quality.rmsnorm", seed_file=f.name)
        text = json.dumps(v)
        report("rows=" not in text and not one.get("got") and not one.get("input") and not one.get("rerun"),
               "with an instructor's seed neither sizes nor values are shown", text)

        tells = "    if (i == 0) switch (__float_as_uint(in[0]) >> 20 & 3) {\n" + "".join(
            f"    case {k}: out[n + 100000] = {k}; break;\n" for k in range(4)) + "    }\n"
        text = read(TOP, "grader/tests/lab03/attacks/runtime_name_taken.cu")
        text = text[:text.index("    void __CONCAT")] + tells + "    out[i] = in[i];\n}\n"
        one, v = message_of("copy", lambda t: text, "quality.copy", seed_file=f.name,
                            launch={"copy": {"grid": ["ceil(n, 256)"], "block": [256]}})
        report("in a hidden case" in one["message"] and not re.search(r"\d|bounds", one["message"]),
               "with an instructor's seed a finding has no line and no kind", one)

    one, v = message_of("copy", None, "slo.copy.v3", hooks="compiler")
    report(one["outcome"] == "earned" and v["counting"].startswith("a practice grade"),
           "without clang it is a practice grade, and the verdict says so, and what it misses", v)
    unseen = read(TOP, "grader/tests/lab03/attacks/no_watch_by_concat.cu")
    one, v = message_of("copy", lambda t: unseen, "slo.copy.v3", hooks="compiler", launch={"copy": {"grid": ["ceil(n, 256)"], "block": [256]}})
    report(one["outcome"] == "lost" and "the counts are impossible" in one["message"], "counts below the least are called impossible", v)

    with Submission(only=["rmsnorm.cu"]) as s:
        v = s.grade("rmsnorm")
    report(v["points_earned"] == 0 and "launch.json" in json.dumps(v), "without a launch.json, that is reported", v)


# ---- the handout ----------------------------------------------------------------------------------------------------------


def check_annotate():
    """The handout's two commands about counts, word for word: KEEP=1, and --annotate with the file's own path."""
    with Submission(only=["launch.json", "rmsnorm.cu"]) as s:
        p = subprocess.run([SERVELAB, "grade", "03", "--check", "rmsnorm", "--keep", "--", s.path], capture_output=True,
                           text=True, check=False)
        kept = re.search(r"work folder: (\S+)", p.stdout + p.stderr)
        report(kept is not None and "is missing" not in p.stdout, "one kernel alone: files of others aren't asked for", p.stdout)
        if kept is None:
            return
        q = subprocess.run([SIMTCC, "--annotate", os.path.join(kept.group(1), "rmsnorm.report.json"),
                            os.path.join(s.path, "rmsnorm.cu")], capture_output=True, text=True, check=False)
        shutil.rmtree(kept.group(1))
    report(q.returncode == 0 and "kernel rmsnorm: 1 launches" in q.stdout and re.search(r"\d+ x 16\.0 .*r4\[i\] = ", q.stdout) is not None,
           "the counts of a kept work folder are shown at the learner's lines", q.stdout + q.stderr)


def check_handout():
    p = subprocess.run([sys.executable, os.path.join(TOP, "common/course/lab03_tables.py"), "--check"], capture_output=True,
                       text=True, check=False, env={**os.environ, "SERVELAB": SERVELAB})
    report(p.returncode == 0, "the handout's tables and roofline.json are the grader's (common/course/lab03_tables.py)",
           p.stdout + p.stderr)
    work = tempfile.mkdtemp(prefix="servelab-lab03-")
    try:
        p = subprocess.run([sys.executable, os.path.join(TOP, "common/course/draw_kernels.py"), "--only", "coalescing", work],
                           capture_output=True, text=True, check=False)
        same = p.returncode == 0 and filecmp.cmp(os.path.join(work, "coalescing.svg"),
                                                 os.path.join(REFERENCE, "coalescing.svg"), shallow=False)
        report(same, "the figure of coalescing is what is counted (common/course/draw_kernels.py)", p.stdout + p.stderr)
    finally:
        shutil.rmtree(work)
    handout = read(REFERENCE, "README.md")
    with Submission(only=["launch.json"]) as s:
        sections = {c["section"] for c in s.grade()["checks"]}
    headings = set(re.findall(r"^#+ (.*)$", handout, re.M))
    wanted = {x.split(": ", 1)[1] if x.startswith("Exercise") else x for x in sections}
    report(len(wanted) > 20 and wanted <= headings, "every check's section is in the handout", wanted - headings)


def check_kernels_command():
    def call(*args):
        return subprocess.run([SERVELAB, "kernels", *args], capture_output=True, text=True, check=False)

    p = call("rmsnorm", "rows=16 d=1024", "--json")
    k = json.loads(p.stdout)
    report(k["bytes"] == 16 * 16 * 1024 + 4 * 1024 and k["operations"] == 5 * 16 * 1024 and
           k["versions"][1]["budgets"][0]["allowed"] == 24 * 16 * 1024 * 11 // 10, "servelab kernels: bytes, operations, budgets", p.stdout)
    example = re.search(r"example: build/bin/servelab kernels (.*)", call("--help").stdout).group(1)
    report(call(*shlex.split(example)).returncode == 0 and len(json.loads(call("--json").stdout)["kernels"]) == 15,
           "its example runs, and without a kernel it tells all")
    for args, named in [(["rmsnorms"], "rmsnorms"), (["rmsnorm", "rows=16"], "d"), (["rmsnorm", "rows=16 d=9"], "d"),
                        (["rmsnorm", "rows=1", "d=8"], "d=8"), (["--nothing"], "--nothing")]:
        p = call(*args)
        report(p.returncode == 2 and named in p.stderr and p.stdout == "", f"{' '.join(args)}: refused by name", p.stderr)


def check_speed():
    """Processor time, which a busy machine hardly changes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Submission() as s:
        s.grade("rmsnorm")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report(0.05 < took < 5, f"one kernel is graded in {took:.1f} s of processor time, below 5")


# ---- whose fault it is ---------------------------------------------------------------------------------------------------

BROKEN_SIMTCC = """#!/bin/sh
H=$(dirname "$0") R=$TMPDIR/real
case "$*" in *lab03_kernel.a*)
    if [ WHO = machine ] || grep -q marked_kernel "$2"; then
        [ WHAT = link ] && exit 1
        for P in "$@"; do :; done
        printf '#!/bin/sh\\nexit 3\\n' >"$P"
        exit 0
    fi;;
esac
[ -x $R/simtcc ] || { mkdir -p $R; cp "$H/simt/include/real" $R/simtcc; chmod 755 $R/simtcc; ln -s "$H/simt" $R/simt; }
exec $R/simtcc "$@"
"""


def check_blame():
    """simtcc's link fails, or makes a program that doesn't start: with the learner's kernel, or with every kernel."""
    marked = reference("copy").replace("    // BEGIN SOLUTION\n    //| ", '    if (n < 0) printf("marked_kernel");\n    // BEGIN SOLUTION\n    //| ')
    with Submission({"copy.cu": marked}) as s, tempfile.TemporaryDirectory() as home:
        build = os.path.join(TOP, "build")
        os.chmod(home, 0o755)
        os.mkdir(os.path.join(home, "build"))
        os.symlink(os.path.join(TOP, "common"), os.path.join(home, "common"))
        os.symlink(os.path.join(build, "grader"), os.path.join(home, "build/grader"))
        tool = os.path.join(home, "build/bin/simtcc")
        shutil.copytree(os.path.join(build, "bin/simt"), os.path.join(home, "build/bin/simt"))
        shutil.copy(SIMTCC, os.path.join(home, "build/bin/simt/include/real"))
        for what in ("link", "start"):
            for who, status in (("kernel", 1), ("machine", 4)):
                with open(tool, "w", encoding="utf-8") as f:
                    f.write(BROKEN_SIMTCC.replace("WHO", who).replace("WHAT", what))
                p = subprocess.run([SERVELAB, "grade", "03", "--json", "--seed", "1", "--check", "quality.copy", "--", s.path],
                                   capture_output=True, text=True, check=False, env={**os.environ, "SERVELAB_HOME": home})
                blamed = "with an empty" in p.stdout
                report(p.returncode == status and blamed == (who == "kernel") and ('"grader_fault"' in p.stdout) == (what == "start"
                       and who == "machine"), f"the {what} fails with the {who}: exit status {status}", p.stdout + p.stderr)


def main():
    everything = "all" in (os.environ.get("MUTANTS"), *sys.argv[1:])
    check_handout()
    check_annotate()
    check_worked_kernel()
    check_unwritten()
    check_blame()
    check_slow()
    check_starters()
    check_predictions()
    check_unsuspected()
    check_versions(everything)
    check_honest()
    check_messages()
    check_kernels_command()
    check_speed()
    print(f"1..{count}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
