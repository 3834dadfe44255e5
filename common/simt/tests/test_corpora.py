#!/usr/bin/env python3
"""test_corpora.py: check mode reports nothing in correct.cu and finds every fault of faults_*.cu at its line.

The identifiers of the files are then renamed and the files reformatted (one statement a line), and the findings must
stay the same. With g++; with clang++ as the files stand. TAP on stdout.
"""
# servelab-test: long
import json
import os
import re
import subprocess
import sys
import tempfile

from tap import COMPILERS, HERE, SIMTCC, TOP, check_flags, finish, skip_missing_compilers, tap

PLANTED = {"faults_races.cu": 38, "faults_memory.cu": 32, "faults_sync.cu": 24}  # at least so many kernels with a fault

def expectations(text):
    """{kernel: [(kind, line, optional)]} from `//! KIND[?] [above|-N]` marks; launches belong to the kernel they name."""
    found, kernel, last_code = {}, None, 0
    for number, line in enumerate(text.split("\n"), 1):
        start = re.search(r"__global__\s+void\s+(?:__launch_bounds__\(\d+\)\s+)?(\w+)\s*\(", line)
        if start:
            kernel = start.group(1)
            found.setdefault(kernel, [])
        mark = re.search(r"//! ([a-z-]+)(\??)\s*(above|-\d+)?\s*$", line)
        code = line.split("//!")[0].strip()
        if code:
            last_code = number
        if mark:
            back = mark.group(3) or ""
            at = last_code + (int(back) if back.startswith("-") else 0)
            launch = re.search(r"(\w+)<<<", line)
            found[launch.group(1) if launch else kernel].append((mark.group(1), at, mark.group(2) == "?"))
    return found


def run(source, work, compiler, check=True):
    program, report = os.path.join(work, "program"), os.path.join(work, "report.json")
    built = subprocess.run([SIMTCC] + check_flags(compiler, check) + ["-I" + HERE, source, "-o", program],
                           capture_output=True, text=True, cwd=TOP)
    if built.returncode:
        raise RuntimeError("simtcc: " + built.stderr[:800])
    ran = subprocess.run([program], capture_output=True, text=True, env=dict(os.environ, SIMT_REPORT=report))
    with open(report) as f:
        return ran, json.load(f)


def compare(want, report):
    """Notes on what is missing or too much."""
    got = {}
    for e in report["errors"]:
        other = re.search(r"at line (\d+)", e["message"])
        got.setdefault(e["kernel"].split("<")[0], set()).add(
            (e["kind"], e["line"], int(other.group(1)) if other and e["kind"].endswith("race") else 0))
    notes, right = [], 0
    for kernel in sorted(set(want) | set(got)):
        must = {(k, l) for k, l, optional in want.get(kernel, []) if not optional}
        may = {(k, l) for k, l, _ in want.get(kernel, [])}
        findings = got.get(kernel, set())
        have = {(k, l) for k, l, _ in findings} | {(k, other) for k, _, other in findings}  # either end of a race
        races = {l for k, l in may if k.endswith("race")}
        missing = must - have
        extra = {(k, l) for k, l, other in findings if (k, l) not in may and not (k.endswith("race") and other in races)}
        right += bool(must) and not missing and not extra
        for kind, line in sorted(missing):
            notes.append("%s: line %d: %s not found" % (kernel, line, kind))
        for kind, line in sorted(extra):
            notes.append("%s: line %d: %s reported, not planted" % (kernel, line, kind))
    return right, notes


def known_words():
    """Names that belong to CUDA, C++ or the helper header: not to be renamed."""
    words = set("""alignas alignof auto bool break case catch char class const constexpr const_cast continue default
        delete do double dynamic_cast else enum explicit extern false float for friend goto if inline int long mutable
        namespace new noexcept nullptr operator private protected public register reinterpret_cast return short signed
        sizeof static static_assert static_cast struct switch template this throw true try typedef typename union
        unsigned using virtual void volatile while main printf fflush stdout free calloc malloc abort vector push_back
        data size cmath cstdio cstdlib std include define pragma unroll size_t include cuda_runtime x y z w
        condition launch name __VA_ARGS__ h hpp cuh off on clang format""".split())
    folder = os.path.join(os.path.dirname(SIMTCC), "simt", "include")
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name)) as f:
                words |= set(re.findall(r"[A-Za-z_]\w*", f.read()))
            words |= set(re.findall(r"[A-Za-z_]\w*", name))
    for name in ("tap.cuh", "faults.cuh"):
        with open(os.path.join(HERE, name)) as f:
            words |= set(re.findall(r"[A-Za-z_]\w*", without_comments(f.read())))
    return words


def disguise(text, words):
    """Renamed and reformatted text; names {new: old}; lines [old line of each new line]."""
    names, out, lines = {}, [], []

    def rename(match):
        word = match.group(0)
        if word in words or word.startswith("__"):
            return word
        new = "q%d_%s" % (len(word), "".join(chr(97 + (ord(c) * 7 + 3) % 26) for c in word))
        names[new] = word
        return new

    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#") or line.rstrip().endswith("\\") or (out and out[-1].rstrip().endswith("\\")):
            pieces = [line if "include" in line else re.sub(r'"[^"]*"|\b[A-Za-z_]\w*', lambda m: m.group(0)
                      if m.group(0)[0] == '"' else rename(m), line)]
        else:
            code = re.sub(r'//.*|/\*.*?\*/|"[^"]*"|\b[A-Za-z_]\w*',
                          lambda m: "" if m.group(0)[:2] in ("//", "/*") else m.group(0) if m.group(0)[0] == '"'
                          else rename(m), line)
            pieces, depth, piece = [], 0, ""
            for c in code:
                piece += c
                depth += (c in "([") - (c in ")]")
                if c in ";{" and depth == 0 and "=" not in piece.split("{")[0][-3:]:
                    pieces.append(piece)
                    piece = ""
            pieces.append(piece)
        for p in pieces:
            if p.strip() or len(pieces) == 1:
                out.append("\t" + re.sub(r"[ \t]+", "  ", p.strip()) if not p.lstrip().startswith("#") and
                           not p.rstrip().endswith("\\") else p)
                lines.append(number)
    return "\n".join(out) + "\n", names, lines


def undisguise(report, names, lines):
    for e in report["errors"]:
        e["kernel"] = re.sub(r"\w+", lambda m: names.get(m.group(0), m.group(0)), e["kernel"])
        e["line"] = lines[e["line"] - 1] if 0 < e["line"] <= len(lines) else -1
        e["message"] = re.sub(r"at line (\d+)", lambda m: "at line %d" % lines[int(m.group(1)) - 1], e["message"])
    return report


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)


def one_corpus(name, compiler, work, words=None):
    with open(os.path.join(HERE, name)) as f:
        text = f.read()
    want = expectations(text)
    source, label = os.path.join("common/simt/tests", name), "%s, %s" % (name, compiler)
    names, lines = None, None
    if words:
        disguised, names, lines = disguise(without_comments(text), words)
        source, label = os.path.join(work, name), label + ", renamed and reformatted"
        with open(source, "w") as f:
            f.write(disguised)
    try:
        ran, report = run(source, work, compiler)
    except RuntimeError as e:
        tap(False, label + ": compiles", str(e).split("\n")[:8])
        return None
    if words:
        report = undisguise(report, names, lines)
    planted = sum(any(not o for _, _, o in v) for v in want.values())
    right, notes = compare(want, report)
    if planted:
        tap(not notes and right == planted >= PLANTED[name] and ran.returncode == 86,
            "%s: %d of %d planted faults found at their line, nothing else" % (label, right, planted), notes)
    else:
        kernels = len(report["kernels"])
        wrong = [l for l in ran.stdout.split("\n") if l.startswith("not ok")]
        tap(not report["errors"] and not wrong and ran.returncode == 0 and kernels >= 40,
            "%s: no alarm about %d correct kernels, results right" % (label, kernels), notes + wrong)
    return ran.stderr, report


def main():
    with tempfile.TemporaryDirectory() as work:
        words = known_words()
        first = [one_corpus(name, "g++", work) for name in PLANTED]
        for name in PLANTED:
            one_corpus(name, "g++", work, words)
        one_corpus("correct.cu", "g++", work)
        last = one_corpus("correct.cu", "g++", work, words)
        skip_missing_compilers("the corpora")
        for compiler in COMPILERS[1:]:
            for name in PLANTED:
                one_corpus(name, compiler, work)
            last = one_corpus("correct.cu", compiler, work)
        again = [subprocess.run([os.path.join(work, "program")], capture_output=True, env=dict(os.environ,
                 SIMT_REPORT=os.path.join(work, "r%d" % i))) for i in range(2)]
        with open(os.path.join(work, "r0"), "rb") as a, open(os.path.join(work, "r1"), "rb") as b:
            tap(a.read() == b.read() and again[0].stderr == again[1].stderr and last is not None,
                "a report is the same byte for byte, run after run")
        if all(first):
            messages = [e["message"] for _, report in first for e in report["errors"]]
            tap(all(re.search(r"thread \(|launch|host code", m) and len(m) < 400 for m in messages) and messages,
                "every message names a thread or the launch and is one sentence or two")
    return finish()


sys.exit(main())
