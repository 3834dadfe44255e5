#!/usr/bin/env python3
"""mutate.py FILE...: single-change mutants of C functions and CUDA C kernels, made by rule and not by hand.

    mutate.py FILE...               lists every mutant: its name, one a line
    mutate.py --write NAME DIR FILE...   writes the file of that mutant into DIR

A mutant's name is FILE:FUNCTION:OPERATOR:WHAT:n, where WHAT is the change with its neighbourhood and n
tells equal ones apart, so that names outlive changes elsewhere in the file.

Operators: relation (< <= > >= == !=), arithmetic (+ - * / %), logic (&& ||), negation (! dropped or
added), constant (n-1, n+1), name (a constant of an enumeration becomes its neighbour; true and false),
arguments (two of a call swapped), statement (dropped), condition (always true, always false), branch
(of ?:, swapped). Only the standard library; a tokenizer, not a parser: a mutant that doesn't compile is
the caller's to drop.
"""

import argparse
import os
import re
import sys

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*(?:\\\n[^\n]*)*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<punct><<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[<>=!+\-*/%&|^]=|<<|>>|[{}()\[\];,.?:<>=!+\-*/%&|^~])
""", re.X | re.S)

RELATIONS = {"<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="],
             "==": ["!="], "!=": ["=="]}
ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
              "+=": ["-="], "-=": ["+="], "*=": ["/="], "++": ["--"], "--": ["++"]}
LOGIC = {"&&": ["||"], "||": ["&&"]}
FAMILIES = ["INTERVAL_OK INTERVAL_ABSENT INTERVAL_CROSS_CLOCK INTERVAL_NEGATIVE",
            "TPOT_NONE TPOT_TOKEN_SENT TPOT_BROWSER_BYTES",
            "REASON_DELIVERED REASON_REJECTED REASON_CANCELLED REASON_TIMED_OUT REASON_INTERNAL_ERROR "
            "REASON_IN_BAND_ERROR REASON_NOT_DELIVERED REASON_NO_FINISH_REASON REASON_TRUNCATED",
            "VERDICT_NOT_EVALUATED VERDICT_PASSED VERDICT_FAILED VERDICT_NOT_REQUIRED",
            "SLO_MET SLO_MISSED SLO_NOT_COMPUTABLE", "SCOPE_REQUEST SCOPE_POPULATION",
            "TRUNCATION_REJECT TRUNCATION_FIXED_LENGTH", "IV_TPOT IV_E2E",
            "EV_REQUEST_SUBMITTED EV_REQUEST_ACCEPTED EV_REQUEST_ADMITTED EV_FIRST_TOKEN EV_TOKEN_SENT "
            "EV_FIRST_BYTE_RECEIVED EV_FINAL_BYTE_RECEIVED EV_REQUEST_REJECTED EV_REQUEST_CANCELLED "
            "EV_REQUEST_FAILED", "EV_GPU_START EV_GPU_END",
            "POINT_COMPLETE POINT_SHED POINT_TRUNCATED POINT_BROKEN", "POINT_DONE POINT_REJECTED POINT_FAILED",
            "REGION_UNDERLOADED REGION_KNEE REGION_OVERLOADED", "POLICY_RUN POLICY_PREEMPT POLICY_REJECT",
            "POLICY_ONE_ITERATION POLICY_UNTIL_CHANGE", "KERNEL_CLOCK_GPU KERNEL_CLOCK_HOST",
            "KERNEL_BOUND_MEMORY KERNEL_BOUND_COMPUTE",
            "KERNEL_TIMED KERNEL_TIME_ABSENT KERNEL_NOT_PHYSICAL KERNEL_TOO_NOISY",
            "COMPARE_RIGHT COMPARE_WRONG COMPARE_NOT_FINITE COMPARE_NO_ANSWER", "true false"]
NEIGHBOUR = {}
for family in FAMILIES:
    members = family.split()
    for a, b in zip(members, members[1:] + members[:1]):
        NEIGHBOUR[a] = b
# a statement begins after one of these
OPENERS = {";", "{", "}", ")", "else"}


class Token:
    def __init__(self, kind, text, start):
        self.kind, self.text, self.start = kind, text, start
        self.end = start + len(text)


def tokenize(source):
    tokens, at = [], 0
    while at < len(source):
        m = TOKEN.match(source, at)
        if not m:
            raise SystemExit(f"mutate.py: byte {at}: not C that I know: {source[at:at + 20]!r}")
        if m.lastgroup != "space":
            tokens.append(Token(m.lastgroup, m.group(), at))
        at = m.end()
    return tokens


def match(tokens, i):
    """Index of the bracket that closes tokens[i]."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opener, closer, depth = tokens[i].text, pairs[tokens[i].text], 0
    for k in range(i, len(tokens)):
        if tokens[k].text == opener:
            depth += 1
        elif tokens[k].text == closer:
            depth -= 1
            if depth == 0:
                return k
    raise SystemExit("mutate.py: unbalanced brackets")


def functions(tokens):
    """(name, first, last) of each body: a name, a bracket and a brace at the top level."""
    i = 0
    while i < len(tokens):
        if tokens[i].text == "(" and i and tokens[i - 1].kind == "name":
            close = match(tokens, i)
            if close + 1 < len(tokens) and tokens[close + 1].text == "{":
                end = match(tokens, close + 1)
                yield tokens[i - 1].text, close + 1, end
                i = end + 1
                continue
            i = close + 1
        elif tokens[i].text == "{":
            i = match(tokens, i) + 1
        else:
            i += 1


def binary(tokens, i):
    """Is the operator at i one between two operands?"""
    before = tokens[i - 1]
    return before.kind in ("name", "number", "text") and before.text != "return" or \
        before.text in (")", "]", "++", "--")


def changes(tokens, first, last):
    """(operator, start, end, replacement) of every change within a body."""
    for i in range(first, last + 1):
        t = tokens[i]
        nxt = tokens[i + 1] if i < last else t
        for operator, table in (("relation", RELATIONS), ("arithmetic", ARITHMETIC), ("logic", LOGIC)):
            pointer = t.text == "*" and (tokens[i - 1].text in ("struct", "const", "char", "int64_t", "int32_t", "double") or
                                         nxt.text in (",", ")", "const"))
            if t.text in table and t.kind == "punct" and not pointer and \
                    (t.text in ("++", "--") or binary(tokens, i)):
                for to in table[t.text]:
                    yield operator, t.start, t.end, to
        if t.text == "!":
            yield "negation", t.start, t.end, ""
        if t.kind == "number" and re.fullmatch(r"\d+", t.text):
            yield "constant", t.start, t.end, str(int(t.text) + 1)
            if int(t.text) > 0:
                yield "constant", t.start, t.end, str(int(t.text) - 1)
        if t.text in NEIGHBOUR:
            yield "name", t.start, t.end, NEIGHBOUR[t.text]
        yield from call_changes(tokens, i, last)
        yield from statement_changes(tokens, i, last)
        if t.text == "?":
            yield from branch_change(tokens, i, last)


def split_arguments(tokens, first, last):
    """Index pairs of the arguments between the commas of one bracket."""
    start, i = first, first
    while i <= last:
        if tokens[i].text in "([{":
            i = match(tokens, i)
        elif tokens[i].text == ",":
            yield start, i - 1
            start = i + 1
        i += 1
    yield start, last


def source_of(tokens, a, b, source=None):
    return (source or changes.source)[tokens[a].start:tokens[b].end]


def call_changes(tokens, i, last):
    t = tokens[i]
    if t.kind != "name" or i >= last or tokens[i + 1].text != "(" or \
            t.text in ("if", "for", "while", "switch", "return", "sizeof"):
        return
    close = match(tokens, i + 1)
    if close == i + 2:
        return
    parts = list(split_arguments(tokens, i + 2, close - 1))
    for (a, b), (c, d) in zip(parts, parts[1:]):
        x, y = source_of(tokens, a, b), source_of(tokens, c, d)
        if x != y:
            yield "arguments", tokens[a].start, tokens[d].end, \
                y + changes.source[tokens[b].end:tokens[c].start] + x


def statement_changes(tokens, i, last):
    """Drops a simple statement; forces a condition; empties an else."""
    t = tokens[i]
    if t.text in ("if", "while") and tokens[i + 1].text == "(":
        close = match(tokens, i + 1)
        a, b = tokens[i + 2].start, tokens[close - 1].end
        yield "condition", a, b, "0"
        if t.text == "if":
            yield "condition", a, b, "1"
    if tokens[i - 1].text in OPENERS and (t.kind == "name" or t.text in ("++", "--", "*")):
        if t.text in ("if", "for", "while", "switch", "else", "case", "default", "struct", "const", "enum",
                      "static", "int", "int64_t", "int32_t", "size_t", "bool", "double", "char", "do"):
            return
        k = i
        while k <= last and tokens[k].text != ";":
            if tokens[k].text in "([{":
                k = match(tokens, k)
            elif tokens[k].text == "}":
                return
            k += 1
        opener = tokens[i - 1].text
        if opener == ")" and not heads_statement(tokens, i - 1):
            return
        yield "statement", t.start, tokens[k].end, ";"


def heads_statement(tokens, close):
    """Does the bracket that closes here belong to an if, for or while?"""
    depth = 0
    for k in range(close, -1, -1):
        if tokens[k].text == ")":
            depth += 1
        elif tokens[k].text == "(":
            depth -= 1
            if depth == 0:
                return tokens[k - 1].text in ("if", "for", "while")
    return False


def branch_change(tokens, i, last):
    depth, colon, k = 0, None, i + 1
    while k <= last:
        x = tokens[k].text
        if x in "([{":
            k = match(tokens, k)
        elif x == "?":
            depth += 1
        elif x == ":" and colon is None:
            if depth == 0:
                colon = k
            else:
                depth -= 1
        elif x in (";", ",", ")", "}"):
            break
        k += 1
    if colon:
        a, b = source_of(tokens, i + 1, colon - 1), source_of(tokens, colon + 1, k - 1)
        yield "branch", tokens[i + 1].start, tokens[k - 1].end, f"{b} : {a}"


def plain(text):
    return re.sub(r"\s+", " ", text).strip()


def mutants(path):
    """(name, text of the mutant) for every change in the file."""
    with open(path, encoding="utf-8") as f:
        source = f.read()
    tokens, seen = tokenize(source), {}
    changes.source = source
    for function, first, last in functions(tokens):
        for operator, start, end, to in changes(tokens, first, last):
            line_start = source.rfind("\n", 0, start) + 1
            line_end = source.find("\n", end)
            before, after = source[line_start:start], source[end:line_end]
            what = plain(f"{before}[{source[start:end]} -> {to}]{after}")
            name = f"{os.path.basename(path)}:{function}:{operator}:{what}"
            seen[name] = seen.get(name, 0) + 1
            yield f"{name}:{seen[name]}", source[:start] + to + source[end:]


def listed_survivors(lab):
    """{name: reason} of labNN/survivors.txt: the mutants of this lab that may keep full marks."""
    out = {}
    with open(os.path.join(os.path.dirname(__file__), f"lab{lab}", "survivors.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, reason = line.rstrip("\n").split("\t")
                assert len(reason) > 10, line
                out[name] = reason
    return out


def main():
    p = argparse.ArgumentParser(description="single-change mutants of C functions and kernels")
    p.add_argument("--write", nargs=2, metavar=("NAME", "DIR"))
    p.add_argument("files", nargs="+", metavar="FILE")
    args = p.parse_args()
    for path in args.files:
        for name, text in mutants(path):
            if not args.write:
                print(name)
            elif name == args.write[0]:
                with open(os.path.join(args.write[1], os.path.basename(path)), "w", encoding="utf-8") as f:
                    f.write(text)
                return 0
    return 1 if args.write else 0


if __name__ == "__main__":
    sys.exit(main())
