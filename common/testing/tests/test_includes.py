"""test_includes.py: the folders of common/ include each other as the map in common/README.md says.

Tests and benchmarks may include anything: they are outside of the product."""
import os, re, sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
ROW = re.compile(r"^\| \[(\w+)\]\([^)]*\) \|.*\| ([^|]*)\|$")


def read_map():
    allowed = {}
    for line in open("common/README.md"):
        row = ROW.match(line.rstrip())
        if row:
            names = row.group(2).strip()
            allowed[row.group(1)] = None if names == "everything" else {n.strip() for n in names.split(",") if n.strip()}
    return allowed


def sources(folder):
    for place, _, files in os.walk(f"common/{folder}"):
        parts = place.split(os.sep)
        if "tests" not in parts and "bench" not in parts:
            yield from (os.path.join(place, f) for f in files if f.endswith((".c", ".h", ".cu", ".cuh")))


def wrong_includes(folder, may):
    """["file includes x"]: a quoted include that names another folder of common/ than it may."""
    wrong = []
    for path in sources(folder):
        for name in re.findall(r'^#include "(\w+)/', open(path).read(), re.M):
            known = os.path.isdir(f"common/{name}")
            if known and name not in may | {folder, "base"}:
                wrong.append(f"{path} includes {name}/")
    return wrong


def circles(allowed):
    """Folders that reach themselves through the map."""
    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for n in allowed.get(todo.pop()) or ():
                if n not in seen:
                    seen.add(n)
                    todo.append(n)
        return seen
    return [f for f in allowed if f in reach(f)]


def main():
    allowed, failed, n = read_map(), 0, 0

    def check(ok, name, why=""):
        nonlocal failed, n
        n += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {name}{'' if ok else ': ' + why}")

    folders = {f for f in os.listdir("common") if os.path.isdir(f"common/{f}")}
    check(folders == set(allowed), "the map has a row for each folder", f"differ: {sorted(folders ^ set(allowed))}")
    check(not circles(allowed), "no folder reaches itself", str(circles(allowed)))
    for folder, may in sorted(allowed.items()):
        if may is not None:
            wrong = wrong_includes(folder, may)
            check(not wrong, f"includes of {folder}", "; ".join(wrong[:5]))
    print(f"1..{n}")
    return 1 if failed else 0


sys.exit(main())
