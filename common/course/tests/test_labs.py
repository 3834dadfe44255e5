"""test_labs.py: labs/ is what solutions/ generates, holds no answer, and each starter reports "not attempted".

Checks the last commit, so that work in progress fails no test; and in it the files that have their digest of
labs/.generated, so that a learner's committed answers fail none. LABS_TREE=FOLDER checks a folder instead;
STRICT_LABS=1 makes an edited file of labs/ a failure (for maintainers of the course).
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
WARNINGS = "-Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Werror".split()
count = failures = 0


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok and why:
        print("# " + str(why).strip().replace("\n", "\n# "), flush=True)


def run(*argv, cwd=None, env=None):
    return subprocess.run(argv, cwd=cwd, env=env and {**os.environ, **env}, capture_output=True, text=True, timeout=300)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def committed_tree(into):
    """Unpacks the last commit into a folder; returns it, or None where there is no git history."""
    archive = subprocess.run(["git", "archive", "HEAD", "labs", "solutions", "common"], cwd=TOP, capture_output=True)
    if archive.returncode != 0:
        return None
    subprocess.run(["tar", "x", "-C", into], input=archive.stdout, check=True)
    return into


def manifest(tree):
    lines = (line.split(maxsplit=1) for line in read(tree, "labs/.generated").splitlines())
    return {name: digest for digest, name in lines}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


# ---- the marks, read independently of strip.awk ------------------------------------------------------------------------


def is_mark(line, word):
    return line.strip() in (f"// {word} SOLUTION", f"<!-- {word} SOLUTION -->")


def split_source(text):
    """(lines outside of regions and kept lines, lines that must not be in the starter)"""
    public, secret, inside = [], [], False
    for line in text.splitlines():
        if is_mark(line, "BEGIN") or is_mark(line, "END"):
            inside = is_mark(line, "BEGIN")
        elif inside and line.lstrip().startswith(("//|", "<!--|")):
            public.append(re.sub(r"^//\| ?|^<!--\| ?| ?-->$", "", line.strip()))
        else:
            (secret if inside else public).append(line.strip())
    return public, secret


def leaves(value, path=""):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, f"{path}.{k}")
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from leaves(v, f"{path}[{i}]")
    else:
        yield path, value


def blank(value):
    return value is None or value == "TODO"


# ---- the checks ------------------------------------------------------------------------------------------------------


def check_regenerating(tree, fresh, pristine):
    made = run(os.path.join(tree, "common/course/make_labs.sh"), "--to", fresh)
    report(made.returncode == 0, "solutions/ can be stripped", made.stderr)
    generated = manifest(tree)
    changed = [f for f in pristine if not os.path.exists(os.path.join(fresh, f))
               or sha256(os.path.join(fresh, f)) != generated[f]]
    made_now = [os.path.relpath(os.path.join(d, f), fresh) for d, _, files in os.walk(fresh) for f in files]
    added = [f for f in made_now if f != ".generated" and f not in generated]
    report(not changed and not added, "regenerating labs/ changes nothing",
           f"run `make labs` and commit labs/: {' '.join(changed + added)}")
    edited = sorted(set(generated) - set(pristine))
    report(not (edited and os.environ.get("STRICT_LABS") == "1"), "labs/ is as it was generated, or a learner's",
           f"edited: {' '.join(edited)}. A learner's edit is fine, and `make test` accepts it. To change "
           "the course, change solutions/ and run `make labs`")


def check_leaks(tree, pristine):
    everything = {f: read(tree, "labs", f) for f in pristine}
    marks = [f for f, text in everything.items() if re.search(r"(begin|end)[ \t_-]*solution|//\||<!--\|", text, re.I)]
    report(not marks, "no mark is left in labs/", marks)

    leaked = []
    for f in pristine:
        public, secret = split_source(read(tree, "solutions", f))
        telling = {s for s in secret if len(re.sub(r"\W", "", s)) >= 12} - set(public)
        for g, text in everything.items():
            lines = {line.strip() for line in text.splitlines()}
            leaked += [f"labs/{g} holds a line of the solution of {f}: {s}" for s in telling if s in lines]
    report(not leaked, "no line of a solution is in labs/", "\n".join(leaked))

    sources = [f for f in manifest(tree) if f.endswith((".c", ".cu"))]
    whole = [f for f in sources if not split_source(read(tree, "solutions", f))[1]]
    report(len(sources) >= 4 and not whole, "every source of a published lab has something to solve",
           f"without a region: {' '.join(whole)}")


def check_data(tree, pristine):
    for f in pristine:
        starter = os.path.join(tree, "solutions", f + ".starter")
        if not f.endswith(".json") or not os.path.exists(starter):
            continue
        reference = dict(leaves(json.loads(read(tree, "solutions", f))))
        template = dict(leaves(json.loads(read(tree, "labs", f))))
        report("TODO" in template.values(), f"{f} says not attempted: it holds a \"TODO\"")
        report("TODO" not in reference.values(), f"the reference's {f} has no blank")
        other = [p for p, v in template.items() if not blank(v) and reference.get(p) != v]
        lists = {re.sub(r"\[\d+\]", "[]", p) for p in reference}
        unknown = [p for p in template if re.sub(r"\[\d+\]", "[]", p) not in lists]
        report(not other and not unknown, f"{f} asks for what the reference answers", other + unknown)
        answers = [v for p, v in reference.items() if p in template and blank(template[p]) and
                   isinstance(v, str) and len(v) > 24]
        labs = "".join(read(tree, "labs", g) for g in pristine)
        report(not [v for v in answers if v in labs], f"no sentence of the reference's {f} is in labs/")


def todo_functions(source):
    return re.findall(r'LAB_TODO\("(\w+)"\)', source)


def check_starters(tree, fresh, pristine, work):
    """Compiles every starter alone; calls each unwritten function and expects status 3 and a helpful line."""
    given = [os.path.join(tree, "common/base", f) for f in ("lab_todo.c", "err.c", "utf8.c")]
    for f in (f for f in pristine if f.endswith(".c")):
        source = os.path.join(tree, "labs", f)
        functions = todo_functions(read(source))
        report(bool(functions), f"{f}: something is left to write")
        obj = os.path.join(work, "starter.o")
        for cc in ("gcc", "clang"):
            if not shutil.which(cc):
                report(False, f"{f} compiles with {cc}", f"{cc} isn't installed; `make deps-test` brings it")
                continue
            built = run(cc, "-Icommon", "-D_GNU_SOURCE", "-std=gnu17", "-O2", *WARNINGS, "-c", f"labs/{f}", "-o", obj,
                        cwd=tree)
            report(built.returncode == 0, f"{f} compiles with {cc} without a warning", built.stderr)
        for name in functions:
            handout = read(fresh, os.path.dirname(f), "README.md")
            ok, why = says_not_attempted(tree, work, obj, given, name, f, handout)
            report(ok, f"{name} reports \"not attempted\"", why)


def says_not_attempted(tree, work, obj, given, name, f, handout):
    # Declared without parameters on purpose: an unwritten function never looks at them.
    driver = os.path.join(work, "driver.c")
    with open(driver, "w") as out:
        out.write(f"void {name}();\nint main(void) {{ {name}(); return 0; }}\n")
    program = os.path.join(work, "driver")
    built = run("gcc", "-Icommon", "-D_GNU_SOURCE", "-std=gnu17", driver, obj, *given, "-lcjson", "-lm", "-o", program,
                cwd=tree)
    if built.returncode != 0:
        return False, built.stderr
    ran = run(program)
    section = re.search(rf"^#+ {name}$", handout, re.M)
    message = ran.stderr.strip()
    ok = (ran.returncode == 3 and ran.stdout == "" and message.count("\n") == 0 and name in message
          and f"labs/{os.path.dirname(f)}/README.md" in message and section is not None)
    return ok, f"status {ran.returncode}, section {'found' if section else 'missing'}, says: {message}"


def check_overwriting(tree, work):
    """In a copy of the tree: edited files are refused, named, saved with FORCE=1."""
    copy = os.path.join(work, "copy")
    for part in ("common", "labs", "solutions"):
        shutil.copytree(os.path.join(tree, part), os.path.join(copy, part))
    tool = os.path.join(copy, "common/course/make_labs.sh")
    again = run(tool, "--to", os.path.join(copy, "labs2"))
    shutil.rmtree(os.path.join(copy, "labs"))
    os.rename(os.path.join(copy, "labs2"), os.path.join(copy, "labs"))
    target = os.path.join(copy, "labs/01_request_record/slo.c")
    mine = read(target) + "/* my work */\n"
    with open(target, "w") as out:
        out.write(mine)
    refused = run(tool)
    report(again.returncode == 0 and refused.returncode == 1 and "labs/01_request_record/slo.c" in refused.stderr
           and "FORCE=1" in refused.stderr and read(target) == mine, "an edited file is named and not overwritten",
           refused.stderr)
    source = os.path.join(copy, "solutions/01_request_record/percentile.c")
    with open(source, "a") as out:
        out.write("/* new in the course */\n")
    run(tool)
    report("new in the course" not in read(copy, "labs/01_request_record/percentile.c"),
           "while one file is edited, no other is changed either")
    forced = run(tool, env={"FORCE": "1"})
    saved = [os.path.join(d, "slo.c") for d, _, fs in os.walk(os.path.join(copy, "build/labs-saved")) if "slo.c" in fs]
    report(forced.returncode == 0 and len(saved) == 1 and read(saved[0]) == mine and read(target) != mine
           and "new in the course" in read(copy, "labs/01_request_record/percentile.c"),
           "FORCE=1 saves the edited file and makes labs/ anew", forced.stdout + forced.stderr)
    with open(source, "a") as out:
        out.write("// BEGIN SOLUTION\n")
    broken = run(tool)
    report(broken.returncode == 2 and "without an END" in broken.stderr, "an unbalanced region stops everything",
           broken.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        tree = os.environ.get("LABS_TREE")
        tree = os.path.abspath(tree) if tree else committed_tree(tempfile.mkdtemp(dir=work))
        if tree is None:
            print("ok 1 - labs/ as committed # SKIP no git history here\n1..1")
            return 0
        pristine = sorted(f for f, digest in manifest(tree).items()
                          if os.path.exists(os.path.join(tree, "labs", f)) and
                          sha256(os.path.join(tree, "labs", f)) == digest)
        fresh = os.path.join(work, "fresh")
        check_regenerating(tree, fresh, pristine)
        check_leaks(tree, pristine)
        check_data(tree, pristine)
        check_starters(tree, fresh, pristine, work)
        check_overwriting(tree, work)
    print(f"1..{count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
