#!/usr/bin/env python3
"""test_refusals.py: what simtcc refuses, with file, line and an alternative; compile errors at the learner's own line; a grid
that waits on itself; bad usage. TAP.

A file in refused/ carries "//! WORDS" on the line that the message must name; without a mark it must compile and run.
"""
# servelab-test: waits
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from tap import HERE, SIMTCC, TOP, finish, tap

def simtcc(*args):
    return subprocess.run([SIMTCC] + list(args), capture_output=True, text=True, cwd=TOP)


def one(name, work):
    path = os.path.join("common/simt/tests/refused", name)
    with open(os.path.join(TOP, path)) as f:
        marks = [(i, m.group(1)) for i, line in enumerate(f, 1) for m in [re.search(r"//! (.*)$", line)] if m]
    program = os.path.join(work, "p")
    ran = simtcc(path, "-o", program)
    if not marks:
        good = ran.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0
        tap(good, "%s is accepted" % name, ran.stderr.split("\n"))
        return
    line, words = marks[0]
    ours = name not in ("ordinary_error.cu", "wrong_argument.cu")
    where = r"(^|\n)%s:%d:[^\n]*error: [^\n]*(%s)" % (re.escape(path), line, words)
    good = ran.returncode == (2 if ours else 1) and re.search(where, ran.stderr)
    if ours:
        good = good and len(ran.stderr.strip().split("\n")) == 1 and len(ran.stderr) < 400
    tap(bool(good), "%s: line %d: %s" % (name, line, words), ran.stderr.split("\n")[:6])


def time_limit(work):
    program, report = os.path.join(work, "w"), os.path.join(work, "r.json")
    for flags, which, kernel in (((), "b", "first_waits_for_second"), (("--check",), "b", "first_waits_for_second"),
                                 (("--check",), "t", "for_a_neighbour")):
        simtcc(*flags, "common/simt/tests/waits_on_itself.cu", "-o", program)
        env = dict(os.environ, SIMT_TIME_LIMIT_S="0.5", SIMT_REPORT=report, SIMT_THREADS="1")
        ran = subprocess.run([program, which], capture_output=True, text=True, env=env)
        good = ran.returncode == 86 and "waits on itself" in ran.stderr and kernel in ran.stderr
        if flags:
            with open(report) as f:
                good = good and [e["kind"] for e in json.load(f)["errors"]] == ["time-limit"]
        tap(good, "%s%s ends at the time limit and reports why" % (kernel, ", checked" if flags else ""),
            [ran.returncode, ran.stderr])


def crashes(work):
    program, report = os.path.join(work, "c"), os.path.join(work, "r.json")
    for flags in ((), ("--check",)):
        simtcc(*flags, "common/simt/tests/crashes.cu", "-o", program)
        for which, words in (("d", "by zero"), ("a", "assert"), ("r", "64 KiB")):
            ran = subprocess.run([program, which], capture_output=True, text=True, env=dict(os.environ, SIMT_REPORT=report))
            good = ran.returncode == 86 and words in ran.stderr and "thread (0,0,0)" in ran.stderr
            if flags:
                with open(report) as f:
                    good = good and [e["kind"] for e in json.load(f)["errors"]] == ["crash"]
            tap(good, "a kernel that dies reports why: %s%s" % (words, ", checked" if flags else ""), [ran.returncode, ran.stderr])


def usage(work):
    for args, words, status in (((), "simtcc", 2), (("nothing.cu",), "nothing.cu", 2), (("--cxx=no-such-compiler",
                                "common/simt/tests/hello.cu"), "no-such-compiler", 2), (("-o",), "-o needs a value", 2),
                                (("what.txt",), "what.txt", 2), (("--annotate", "nothing.json"), "nothing.json", 2),
                                (("--roofline", "x.json"), "--ops", 2)):
        ran = simtcc(*args)
        tap(ran.returncode == status and words in ran.stderr, "simtcc %s: names %s" % (" ".join(args), words), [ran.stderr])
    ran = simtcc("--help")
    tap(ran.returncode == 0 and "Example:" in ran.stdout, "--help has an example")
    example = re.search(r"Example:\s*((?:.|\n)*?)\n\n", ran.stdout).group(1)
    example = re.sub(r"\\\n", " ", example).replace("build/hello", os.path.join(work, "hello"))
    path = os.path.dirname(SIMTCC) + ":" + os.environ["PATH"]
    ran = subprocess.run(["bash", "-c", example], capture_output=True, text=True, cwd=TOP, env=dict(os.environ, PATH=path))
    tap(ran.returncode == 0 and "y[i] = a * x[i] + y[i]" in ran.stdout, "and the example runs", [ran.stderr])
    nvcc = simtcc("-arch=sm_80", "-gencode", "arch=compute_90,code=sm_90", "-lineinfo", "--use_fast_math", "-Xptxas", "-v",
                  "-Xcompiler", "-Wall,-Werror", "-O3", "common/simt/tests/hello.cu", "-lcublas", "-o", os.path.join(work, "h"))
    tap(nvcc.returncode == 0, "nvcc's options are accepted, and code is clean under -Wall -Werror", [nvcc.stderr])


def environment(work):
    """A wrong value in the environment is refused with its name; file names of any kind; an interrupt."""
    odd = os.path.join(work, "simt_odd \\name.cu")
    with open(os.path.join(HERE, "hello.cu")) as f, open(odd, "w") as out:
        out.write(f.read())
    program, report = os.path.join(work, "e"), os.path.join(work, "odd.json")
    ran = simtcc("--check", odd, "-o", program)
    subprocess.run([program], env=dict(os.environ, SIMT_REPORT=report), capture_output=True)
    with open(report) as f:
        files = {line["file"] for k in json.load(f)["kernels"] for line in k["lines"]}
    tap(ran.returncode == 0 and len(files) == 1 and "\\" in files.pop(), "a file's name with a space and a backslash", [ran.stderr])
    for name, value in (("SIMT_TIME_LIMIT_S", "1O"), ("SIMT_REPORT", "fd:9x"),
                        ("SIMT_REPORT", "fd:77"), ("SIMT_REPORT", "/nonexistent/r"), ("SIMT_REPORT", "/dev/full")):
        ran = subprocess.run([program], env=dict(os.environ, **{name: value}), capture_output=True, text=True)
        tap(ran.returncode == 2 and name + "=" + value in ran.stderr, "%s=%s is refused" % (name, value),
            [ran.returncode, ran.stderr])
    simtcc(odd, "-o", program)
    ran = subprocess.run([program], env=dict(os.environ, SIMT_THREADS="two"), capture_output=True, text=True)
    tap(ran.returncode == 2 and "SIMT_THREADS=two" in ran.stderr, "SIMT_THREADS=two is refused", [ran.returncode, ran.stderr])
    folder = os.path.join(work, "tmp")
    os.mkdir(folder)
    stuck = os.path.join(work, "stuck++")  # reports that it runs, then waits until this test closes its pipe
    began, reports = os.pipe()
    waits, ends = os.pipe()
    with open(stuck, "w") as f:
        f.write("#!/bin/sh\necho began >/proc/self/fd/%d\nexec cat /proc/self/fd/%d\n" % (reports, waits))
    os.chmod(stuck, 0o755)
    ran = subprocess.Popen([SIMTCC, "--cxx=" + stuck, odd, "-o", program], env=dict(os.environ, TMPDIR=folder),
                           pass_fds=(reports, waits))
    os.close(reports)
    os.read(began, 1)  # also returns if no process is left that could write
    there = len(os.listdir(folder))
    ran.send_signal(signal.SIGTERM)
    status = ran.wait()
    os.close(ends)
    tap(there == 1 and status == -signal.SIGTERM and not os.listdir(folder),
        "simtcc, interrupted, leaves no temporary files", [there, status, os.listdir(folder)])


def plugin(work):
    """A plug-in, as the server loads its backend: kernels by name, from C."""
    with open(os.path.join(work, "k.cu"), "w") as f:
        f.write('extern "C" __global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }\n')
    with open(os.path.join(work, "h.c"), "w") as f:
        f.write('#include <cuda_runtime_api.h>\n'
                'float run(void);\n'
                'float run(void) {\n'
                '    float h[4] = {1, 2, 3, 4}, *d;\n'
                '    int n = 4;\n'
                '    cudaMalloc((void **)&d, sizeof h);\n'
                '    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);\n'
                '    void *args[] = {&d, &n};\n'
                '    const void *k = simt_find_kernel("twice");\n'
                '    if (cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, 0)) return -1;\n'
                '    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);\n'
                '    return h[3];\n'
                '}\n')
    for flags in ((), ("--check",)):
        library = os.path.join(work, "lib%d.so" % len(flags))
        ran = simtcc(*flags, "-shared", os.path.join(work, "k.cu"), os.path.join(work, "h.c"), "-o", library)
        code = "import ctypes; l = ctypes.CDLL(%r); l.run.restype = ctypes.c_float; print(l.run())" % library
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        tap(ran.returncode == 0 and out.stdout == "8.0\n", "a plug-in with a kernel found by name%s" %
            (", checked" if flags else ""), [ran.stderr, out.stdout, out.stderr])


def main():
    with tempfile.TemporaryDirectory() as work:
        for name in sorted(n for n in os.listdir(os.path.join(HERE, "refused")) if n.endswith(".cu")):
            one(name, work)
        time_limit(work)
        crashes(work)
        usage(work)
        environment(work)
        plugin(work)
    return finish()


sys.exit(main())
