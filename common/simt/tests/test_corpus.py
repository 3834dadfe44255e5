#!/usr/bin/env python3
"""test_corpus.py: check mode against corpus/: correct kernels get no finding, each planted fault exactly its own.

Each fault's kernel runs in a separate process, twice, and both reports must be equal byte for byte. The report must hold
one finding: of the marked kind, at the marked line, of that kernel, with the race's other line named in its message.
Then the same once more with every identifier renamed and the layout changed. corpus.cuh describes the marks.

  test_corpus.py          g++: all; clang++: most; renamed: three files; nvcc, where there is one: the same three
  test_corpus.py --all    everything with both compilers, unchanged and renamed (make check-all)

TAP on stdout. A fault that isn't found is listed in MISSED with the reason; the test fails if it is found after all.
"""
# servelab-test: long
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import COMPILERS, HERE, IR, SIMTCC, TOP, check_flags, finish, skip_missing_compilers, tap

CORPUS = os.path.join(HERE, "corpus")
EXIT_FOUND = 86
MISSED = {}  # case: reason

# ---- C++ by tokens ---------------------------------------------------------------------------------------------------
TOKEN = re.compile(r"""(?P<space>\s+)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\.?\d[\w.]*)|(?P<name>[A-Za-z_]\w*)
    |(?P<sign><<<|>>>|->|::|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)""", re.X | re.S)

# Names that are not the corpus's own: the language's, CUDA's, the library's, the harness's.
FOREIGN = set("""alignas auto bool break case catch char class const constexpr continue default delete do double else enum
    explicit extern false float for goto if inline int long namespace new nullptr operator private public return short
    signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void
    volatile while std vector size data push_back calloc free printf dim3 min max size_t
    threadIdx blockIdx blockDim gridDim warpSize CASE TAP some total guard holds BYTES device_copy device_filled
    host_copy cooperative_groups thread_block thread_block_tile tiled_partition this_thread_block reduce plus sync
    thread_rank meta_group_rank shfl any all nvcuda wmma fragment matrix_a row_major load_matrix_sync""".split())
FOREIGN_SHAPES = re.compile(r"__\w+|cuda[A-Z]\w*|atomic[A-Z]\w*|make_\w+|(u?char|u?short|u?int|float|double)[1234]"
                            r"|__half2?|__nv_bfloat16\w*")


def tokens(text):
    """[(kind, text)]; a preprocessor line is one token."""
    out, at = [], 0
    while at < len(text):
        if text[at] == "#" and (at == 0 or text[at - 1] == "\n"):
            end = text.index("\n", at)
            out.append(("line", text[at:end]))
            at = end
            continue
        m = TOKEN.match(text, at)
        if m.lastgroup != "space":
            out.append((m.lastgroup, m.group()))
        at = m.end()
    return out


class Renamer:
    """The same new name for the same old one; members x, y, z, w of CUDA's vectors stay."""

    def __init__(self):
        self.names = {}

    def name(self, word, before=""):
        if word in FOREIGN or FOREIGN_SHAPES.fullmatch(word) or (word in "xyzw" and before in (".", "->")):
            return word
        return self.names.setdefault(word, "Q%dz%s" % (len(self.names) * 7 % 1000, word[::-1][:3] + str(len(self.names))))

    def line(self, text):
        if text.startswith("#include"):
            return text
        return re.sub(r"\b[A-Za-z_]\w*", lambda m: m.group() if m.start() == 1 else self.name(m.group()), text)


def disguised(text, renamer):
    """Other names and another layout: one statement a line, braces on lines of their own, two tabs a level. A mark stays
    on the line of the statement it follows."""
    lines, line, depth, parens, before = [], "", 0, 0, ""

    def end():
        nonlocal line
        if line.strip():
            lines.append("\t\t" * depth + line.strip())
        line = ""

    for kind, word in tokens(text):
        if kind == "comment":
            if "FAULT:" in word or "OTHER" in word:
                if not line.strip():
                    while not lines[-1]:
                        lines.pop()
                    lines[-1] += "   " + word
                else:
                    line += "   " + word
                    end()
            continue
        if kind == "line":
            end()
            lines.append(renamer.line(word))
        elif word == "{" and parens == 0 and before != "=" and before != "return":
            end()
            lines.append("\t\t" * depth + "{")
            depth += 1
        elif word == "}" and parens == 0 and not line.strip():
            end()
            depth -= 1
            lines.append("\t\t" * depth + "}")
        else:
            parens += (word in "([") - (word in ")]")
            new = renamer.name(word, before) if kind == "name" else word
            line += new + (" " if word not in ("::", ".", "->") else "")
            if word == ";" and parens == 0:
                end()
                lines.append("")
        before = word
    end()
    return "\n".join(lines) + "\n"


# ---- what is expected ------------------------------------------------------------------------------------------------
KERNEL = re.compile(r"__global__ void (?:__launch_bounds__\s*\(\s*\d+\s*\)\s*)?(\w+)\s*\(")


def expectations(text):
    """{case: ([(kind, line)], [lines of a race's earlier access], {kernels})} from the marks. A case's part of the file
    goes from the end of the case before to the first brace at the left margin after CASE(...)."""
    found, marks, others, kernels, case = {}, [], [], set(), None
    for number, line in enumerate(text.split("\n"), 1):
        begins = re.match(r"CASE\s*\(\s*(\w+)\s*\)", line)
        mark = re.search(r"// FAULT: ([a-z-]+)", line)
        case = begins.group(1) if begins else case
        kernels |= set(KERNEL.findall(line))
        if mark:
            marks.append((mark.group(1), number))
        if "// OTHER" in line or ", OTHER" in line:
            others.append(number)
        if case and line.rstrip() == "}":
            found[case] = (marks, others, kernels)
            marks, others, kernels, case = [], [], set(), None
    return found


def findings(report):
    out = []
    for e in report["errors"]:
        other = re.search(r" at line (\d+)", e["message"]) if e["kind"].endswith("race") else None
        out.append((e["kind"], e["line"], int(other.group(1)) if other else 0, e["kernel"]))
    return out


def wrong_with(case, want, ran, report, source):
    """Notes on one fault's run."""
    marks, others, kernels = want
    notes, got = [], findings(report)
    if len(marks) != 1:
        return ["%s has %d marks" % (case, len(marks))]
    if [(k, l) for k, l, _, _ in got] != marks:
        notes.append("want %s, got %s" % (marks, [(k, l) for k, l, _, _ in got]))
    if got and got[0][2] and [got[0][2]] != others:
        notes.append("the other line: want %s, got %d" % (others, got[0][2]))
    if got and others and not got[0][2]:
        notes.append("the message names no other line")
    for e in report["errors"]:
        launch = e["kind"] == "illegal-launch" or e["message"].startswith("host code")
        if e["file"] != source:
            notes.append("file %s, not %s" % (e["file"], source))
        if e["kernel"].split("<")[0] not in kernels and not e["message"].startswith("host code"):
            notes.append("kernel %s, not of %s" % (e["kernel"], sorted(kernels)))
        if (e["thread"] is None or e["block"] is None) != launch:
            notes.append("thread and block: %s %s" % (e["thread"], e["block"]))
    if ran.returncode != EXIT_FOUND:
        notes.append("exit status %d" % ran.returncode)
    if ran.stdout != b"ok " + case.encode() + b"\n":
        notes.append("the guard: %r" % ran.stdout[-200:])
    return notes


# ---- running ---------------------------------------------------------------------------------------------------------
def build(source, program, compiler, check=True):
    done = subprocess.run([SIMTCC] + check_flags(compiler, check) + ["-I" + CORPUS, source, "-o", program],
                          capture_output=True, text=True, cwd=TOP)
    return done.stderr.strip() if done.returncode else None


def run(program, cases, report_path):
    ran = subprocess.run([program] + cases, capture_output=True,
                         env=dict(os.environ, SIMT_REPORT=report_path))
    try:
        with open(report_path, "rb") as f:
            return ran, f.read()
    except OSError:
        return ran, b""


def run_fault(program, case, want, source, work):
    path = os.path.join(work, os.path.basename(program) + "-" + case)
    first, second = run(program, [case], path), run(program, [case], path)
    try:
        report = json.loads(first[1])
    except ValueError:
        return case, ["no report; stderr: " + first[0].stderr.decode("utf-8", "replace")[-300:]]
    notes = wrong_with(case, want, first[0], report, source)
    if first[1] != second[1] or first[0].stderr != second[0].stderr:
        notes.append("two runs differ")
    return case, notes


class Variant:
    """One file, one compiler, unchanged or disguised."""

    def __init__(self, path, compiler, work, disguise):
        self.path, self.compiler, self.work, self.disguise = path, compiler, work, disguise
        self.faults = os.sep + "faults" + os.sep in path
        self.label = "%s/%s, %s%s" % ("faults" if self.faults else "correct", os.path.basename(path), compiler,
                                      ", renamed and reformatted" if disguise else "")
        with open(path) as f:
            text = f.read()
        self.want, self.originals = expectations(text), {}
        self.source = os.path.relpath(path, TOP)
        self.program = os.path.join(work, re.sub(r"\W+", "-", self.label))
        self.shown = self.source
        if disguise:
            renamer = Renamer()
            text = disguised(text, renamer)
            self.want = expectations(text)
            self.originals = {new: old for old, new in renamer.names.items()}
            self.source = self.shown = self.program + ".cu"
            with open(self.source, "w") as f:
                f.write(text)
        self.error = None

    def build(self):
        self.error = build(self.source, self.program, self.compiler)
        return self


def report_faults(v, pool):
    missed, wrong = [], []
    jobs = [pool.submit(run_fault, v.program, case, want, v.shown, v.work) for case, want in v.want.items()]
    for job in jobs:
        case, notes = job.result()
        name = v.originals.get(case, case)
        if name in MISSED and notes:
            missed.append(name)
        elif name in MISSED:
            wrong.append("%s is found after all: take it out of MISSED" % name)
        elif notes:
            wrong += ["%s: %s" % (name, n) for n in notes]
    found = len(v.want) - len(missed) - len({w.split(":")[0] for w in wrong})
    tap(not wrong and v.want, "%s: %d of %d planted faults found, each at its line and nothing else, twice alike"
        % (v.label, found, len(v.want)), wrong)
    return len(v.want), found


def report_correct(v, fast):
    first, second = run(v.program, [], v.program + "-1"), run(v.program, [], v.program + "-2")
    notes = []
    try:
        notes = ["%s at line %d: %s: %s" % (e["kind"], e["line"], e["kernel"], e["message"])
                 for e in json.loads(first[1])["errors"]]
    except ValueError:
        notes = ["no report; stderr: " + first[0].stderr.decode("utf-8", "replace")[-300:]]
    wanted = "".join("ok %s\n" % case for case in v.want).encode()
    if first[0].stdout != wanted:
        notes.append("answers: " + ", ".join(set(first[0].stdout.decode("utf-8", "replace").split("\n"))
                                             - set(wanted.decode().split("\n"))))
    if first[0].returncode:
        notes.append("exit status %d" % first[0].returncode)
    if first[1] != second[1]:
        notes.append("two runs differ")
    tap(not notes and v.want, "%s: no finding about %d correct kernels, answers right, twice alike"
        % (v.label, len(v.want)), notes)
    if fast:
        error = build(v.source, v.program + "-fast", v.compiler, check=False)
        ran = None if error else subprocess.run([v.program + "-fast"], capture_output=True)
        tap(ran is not None and ran.stdout == wanted and ran.returncode == 0, v.label + ": right without checks",
            [error or ran.stdout.decode("utf-8", "replace")[-500:]])
    return len(v.want)


def compile_with_nvcc(files, work, archs):
    name = "nvcc compiles both corpora for " + " and ".join(archs)
    if not shutil.which("nvcc"):
        tap(True, name + " # SKIP no nvcc here")
        return
    codes = [w for a in archs for w in ("-gencode", "arch=compute_%s,code=sm_%s" % (a[3:], a[3:]))]
    notes = []
    for path in files:
        done = subprocess.run(["nvcc", "-std=c++17", "-w", "-I" + CORPUS] + codes +
                              ["-c", path, "-o", os.path.join(work, "nvcc.o")], capture_output=True, text=True)
        if done.returncode:
            notes += [os.path.basename(path)] + done.stderr.strip().split("\n")[:5]
    tap(not notes, name, notes)


def main(everything):
    correct = sorted(glob.glob(os.path.join(CORPUS, "correct", "*.cu")))
    faults = sorted(glob.glob(os.path.join(CORPUS, "faults", "*.cu")))
    sample = correct[:1] + faults[:1] + faults[-1:]
    plans = [(p, "g++", False) for p in correct + faults]
    plans += [(p, "clang++", False) for p in (correct + faults if everything else correct[1:] + faults[1:3])]
    plans += [(p, IR, False) for p in (correct + faults if everything else correct + faults[:3])]
    plans += [(p, c, True) for c in (("g++", "clang++") if everything else ("g++",))
              for p in (correct + faults if everything else sample)]
    plans = [p for p in plans if p[1] in COMPILERS]
    skip_missing_compilers("the corpora")
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        kernels = planted = found = 0
        for v in pool.map(Variant.build, [Variant(p, c, work, d) for p, c, d in plans]):
            if v.error:
                tap(False, v.label + ": compiles", v.error.split("\n")[:8])
            elif v.faults:
                n, f = report_faults(v, pool)
                if v.compiler == "g++" and not v.disguise:
                    planted, found = planted + n, found + f
            else:
                n = report_correct(v, not v.disguise and (v.compiler == "g++" or everything))
                kernels += n if v.compiler == "g++" and not v.disguise else 0
        tap(kernels >= 40 and planted >= 60, "the corpora have %d correct kernels and %d faults" % (kernels, planted))
        tap(found == planted - len(MISSED), "%d of %d faults are found; known misses: %s"
            % (found, planted, ", ".join(sorted(MISSED)) or "none"))
        compile_with_nvcc(correct + faults if everything else sample, work, ["sm_80", "sm_90"] if everything else ["sm_90"])
    return finish()


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
