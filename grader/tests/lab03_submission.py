"""lab03_submission.py: folders to hand in as lab 03, for the tests: the reference, with one file or another replaced."""

import json
import os
import shutil
import subprocess
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCE = os.path.join(TOP, "solutions/03_kernels")
STEPS = os.path.join(REFERENCE, "steps")


class Submission:
    """A folder with the reference's files; `files` replaces some, None leaves one out."""

    def __init__(self, files=None, launch=None, only=None):
        self.path = tempfile.mkdtemp(prefix="servelab-lab03-")
        for name in os.listdir(REFERENCE):
            if name.endswith((".cu", ".c", ".json")) and (only is None or name in only):
                shutil.copy(os.path.join(REFERENCE, name), self.path)
        for name, text in (files or {}).items():
            path = os.path.join(self.path, name)
            if text is None:
                os.unlink(path)
            else:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
        if launch:
            path = os.path.join(self.path, "launch.json")
            with open(path, encoding="utf-8") as f:
                entries = json.load(f)
            entries.update(launch)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(entries, f)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def grade(self, check=None, seed=1, seed_file=None, timeout=600, hooks=None):
        """The verdict, and the exit status under "status". hooks="compiler": as if clang weren't there."""
        args = [SERVELAB, "grade", "03", "--json"]
        args += ["--seed-file", seed_file] if seed_file else ["--seed", str(seed)]
        args += ["--check", check] if check else []
        p = subprocess.run(args + ["--", self.path], capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout,
                           check=False, env={**os.environ, **({"SERVELAB_HOOKS": hooks} if hooks else {})})
        if p.returncode not in (0, 1, 3):
            raise RuntimeError(f"exit status {p.returncode}: {p.stderr.decode()}")
        v = json.loads(p.stdout)
        v["status"] = p.returncode
        v["by_id"] = {c["id"]: c for c in v["checks"]}
        return v


def step(kernel, k):
    """The text of a kernel's version k and its launch entry."""
    with open(os.path.join(STEPS, f"{kernel}_{k}.cu"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(STEPS, "launch.json"), encoding="utf-8") as f:
        return text, json.load(f)[f"{kernel}_{k}"]


def steps():
    """(kernel, version) of every earlier version."""
    out = []
    for name in sorted(os.listdir(STEPS)):
        if name.endswith(".cu"):
            kernel, k = name[:-3].rsplit("_", 1)
            out.append((kernel, int(k)))
    return out
