"""test_docs.py: `make docs` renders every document into complete pages, and check_links.py finds what is wrong in one.

Renders the working tree with a freshly generated labs/, so that what a learner writes into a handout fails no test.
"""

import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
COURSE = os.path.join(TOP, "common/course")
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
count = failures = 0


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok and why:
        print("# " + str(why).strip().replace("\n", "\n# "), flush=True)


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, **more)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def tree_with_fresh_labs(into):
    os.mkdir(into)
    for name in os.listdir(TOP):
        if name not in ("labs", "build", ".git"):
            os.symlink(os.path.join(TOP, name), os.path.join(into, name))
    made = run(os.path.join(COURSE, "make_labs.sh"), "--to", os.path.join(into, "labs"))
    report(made.returncode == 0, "the handouts can be made", made.stderr)
    return into


def check_rendering(tree, folder):
    # an unusable proxy: loading something from the network would fail
    offline = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    made = run(os.path.join(tree, "common/course/make_docs.sh"), folder, env=offline)
    report(made.returncode == 0, "every document is rendered and every link leads somewhere", made.stdout + made.stderr)
    pages = sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, names in os.walk(folder) for f in names)
    wanted = ["01_request_record.html", "instructor/01_request_record.html", "index.html"]
    report(set(wanted) <= set(pages), "the README, the handout and its instructor's version are there", pages)
    if made.returncode != 0 or not set(wanted) <= set(pages):
        return
    handout, instructor = read(folder, wanted[0]), read(folder, wanted[1])
    report(all("<style" in read(folder, p) and not re.search(r'(src|rel="stylesheet" href)="(?!data:)', read(folder, p))
               for p in pages), "a page is one file: its style and figures are inside")
    report("data:image/svg+xml" in handout, "the figure is inside the handout")
    report("Answer.</em>" in instructor and "Answer.</em>" not in handout, "only the instructor's version has the answers")
    report("SOLUTION" not in instructor and "|--" not in instructor, "no mark of a region is left in a page")
    report(instructor.count("<table") == handout.count("<table"), "no table falls apart over a region")
    report('href="../common/record/intervals.h"' in handout, "links to sources lead from the page to the source")


def check_commands(tree):
    """Every `make TARGET`, CHECK and `servelab COMMAND` that a document names is there."""
    rules = "".join(read(d, f) for d, _, files in os.walk(TOP) if "/build" not in d for f in files
                    if f == "Makefile" or f == "module.mk")
    labs = sorted(f[3:] for f in os.listdir(os.path.join(TOP, "grader")) if re.fullmatch(r"lab\d\d", f))
    listed = "".join(run(SERVELAB, "grade", lab, "--list").stdout for lab in labs)
    known = set(re.findall(r"\b((?:intervals|quality|slo|evidence|safety)\.[\w.]+)", listed))
    known |= {part for name in known for part in name.split(".")[:2]}  # a dimension, and a dimension's check
    wrong = []
    handouts = sorted(f"{top}/{lab}/README.md" for top in ("labs", "solutions") for lab in os.listdir(os.path.join(tree, top))
                      if os.path.exists(os.path.join(tree, top, lab, "README.md")))
    for document in ["README.md", *handouts]:
        code = re.findall(r"```sh\n(.*?)```|`([^`\n]+)`", read(tree, document), re.S)
        code = "\n".join(a + b for a, b in code)
        for target in re.findall(r"\bmake ([a-z][a-z-]*)", code):
            if not re.search(rf"^{target}:", rules, re.M):
                wrong.append(f"{document}: make {target}")
        for check in ",".join(re.findall(r"CHECK=(\S+)", code)).split(","):
            if check and check not in known and check != "...":
                wrong.append(f"{document}: CHECK={check}")
        for command in re.findall(r"(?:bin|mine)/servelab ([a-z]+)", code):
            if not os.path.exists(os.path.join(TOP, f"common/cli/cmd_{command}.c")):
                wrong.append(f"{document}: servelab {command}")
    report(known and not wrong, "every command that a document names is there", "\n".join(wrong))


GOOD = ('<h1 id="top">T</h1><a href="#top">a</a><a href="other.html#there">b</a><a href="notes.txt">c</a>'
        '<a href="https://example.org/x">d</a><img alt="x" src="data:,"><code>[x](y)</code><p>[1, 2] (3)</p>')
FAULTS = [
    ("a missing file", '<a href="gone.html">x</a>', "gone.html: there is no such file"),
    ("a missing section", '<a href="#gone">x</a>', "#gone: there is no such section"),
    ("a missing section of another page", '<a href="other.html#gone">x</a>', "other.html#gone: there is no such"),
    ("an absolute path", '<a href="/etc/passwd">x</a>', "leads out of the tree"),
    ("another scheme", '<a href="file:///tmp/x">x</a>', "leads out of the tree"),
    ("an empty link", '<a href="">x</a>', "leads nowhere"),
    ("a broken web address", '<a href="https://">x</a>', "not a web address"),
    ("a picture from the web", '<img alt="x" src="https://example.org/x.png">', "from outside of the page"),
    ("a script from a file", '<script src="x.js"></script>', "from outside of the page"),
    ("an image without a description", '<img src="data:,">', "no description"),
    ("an anchor given twice", '<p id="a"></p><p id="a"></p>', "#a is there twice"),
    ("a reference that resolved to nothing", "<p>see [the notes][notes]</p>", "[the notes][notes]"),
    ("a link that wasn't one", "<p>see [the notes](no tes.md)</p>", "without a target"),
]


def check_checker(folder):
    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
        return os.path.join(folder, name)

    write("other.html", '<p id="there"></p>')
    write("notes.txt", "")
    tool = os.path.join(COURSE, "check_links.py")
    good = run(sys.executable, tool, write("page.html", GOOD))
    report(good.returncode == 0 and not good.stderr, "a good page passes", good.stderr)
    for name, fault, message in FAULTS:
        found = run(sys.executable, tool, write("page.html", GOOD + fault))
        report(found.returncode == 1 and message in found.stderr and found.stderr.count("\n") == 1,
               f"finds {name}", found.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        tree = tree_with_fresh_labs(os.path.join(work, "tree"))
        check_rendering(tree, os.path.join(tree, "pages"))
        check_commands(tree)
        check_checker(work)
    print(f"1..{count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
