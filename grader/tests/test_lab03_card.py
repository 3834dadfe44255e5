#!/usr/bin/env python3
"""test_lab03_card.py: `servelab grade 03 --device cuda` without a GPU: the driver is fake_cuda_driver.c, over simtcc's
runtime on the CPU, with a simulated clock; nvcc is a script that calls simtcc. TAP."""

# servelab-test: long
import os
import re
import shutil
import subprocess
import tempfile

from lab03_submission import REFERENCE, SERVELAB, TOP, Submission

BIN = os.path.join(TOP, "build/bin")  # the plain one, as the grader itself uses: a sanitizer needs more memory than a compiler gets
count = failures = 0
work = tempfile.mkdtemp(prefix="servelab-card-")
os.chmod(work, 0o755)  # the compiler may run as nobody

NVCC = """#!/bin/bash
flags=()
while [ $# -gt 0 ]; do
    case $1 in
        -o) out=$2; shift ;;
        -I | -include) flags+=("$1" "$2"); shift ;;
        *.cu) in=$1 ;;
    esac
    shift
done
if grep -q no-module "$in"; then echo garbage >"$out"; exit; fi
{work}/simtcc -shared "${flags[@]}" "$in" {work}/fake.o -o "$out" 2>&1 | sed -E 's/^([a-z_0-9]+[.]cu):([0-9]+):[0-9:]* /\\1(\\2): /'
"""


def report(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok:
        print("# " + str(why).strip().replace("\n", "\n# "), flush=True)


def set_up():
    shutil.copy(os.path.join(BIN, "simtcc"), work)
    shutil.copytree(os.path.join(BIN, "simt"), os.path.join(work, "simt"))
    path = os.path.join(work, "nvcc")
    with open(path, "w", encoding="utf-8") as f:
        f.write(NVCC.replace("{work}", work))
    os.chmod(path, 0o755)
    subprocess.run(["gcc", "-O2", "-fPIC", "-I", os.path.join(BIN, "simt/include"), "-D__SIMT__=1", "-D_GNU_SOURCE", "-std=gnu17",
                    "-c", os.path.join(TOP, "common/backend/tests/fake_cuda_driver.c"), "-o", os.path.join(work, "fake.o")], check=True)
    subprocess.run([os.path.join(work, "simtcc"), "-shared", os.path.join(work, "fake.o"), "-o", os.path.join(work, "libfake.so")],
                   check=True)


def grade(folder, check="copy", lab="03", flags=(), stdout=subprocess.PIPE, **env):
    """(exit status, the kernel's row, everything)"""
    fake = os.path.join(work, "libfake.so")
    e = dict(os.environ, SERVELAB_LIBCUDA=fake, SERVELAB_LIBCUBLAS=fake, SERVELAB_NVCC=os.path.join(work, "nvcc"),
             SERVELAB_GPU_SMALL="1", SERVELAB_GPU_LIMIT_S="60", **{"SIMT_THREADS": "2"})
    e.update(env)
    p = subprocess.run([SERVELAB, "grade", lab, "--device", "cuda", "--sandbox", "rlimits", "--check", check, *flags, "--", folder],
                       stdout=stdout, stderr=subprocess.PIPE, text=True, env=e, stdin=subprocess.DEVNULL, timeout=120, check=False)
    out = (p.stdout or "") + p.stderr
    row = re.search(rf"^{check} .*$", out, re.M)
    return p.returncode, re.sub(" +", " ", row.group(0)) if row else "", out


def expect(name, status, pattern, *args, text=False, **kwargs):
    got, row, out = grade(*args, **kwargs)
    report(got == status and re.search(pattern, out if text else row), name, f"exit status {got}, wanted {status}\n{out}")


def copy_kernel(body, before=""):
    launch = {"copy": {"grid": ["ceil(n, 256)"], "block": [256]}}
    text = f"""#include "backend/kernels.h"
{before}
KERNEL copy(float *out, const float *in, int32_t n) {{
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    {body}
}}
"""
    return Submission({"copy.cu": text}, launch=launch)


def expect_copy(name, status, pattern, body, before="", **kwargs):
    with copy_kernel(body, before) as s:
        expect(name, status, pattern, s.path, **kwargs)


def verdicts():
    right = "if (i < n) out[i] = in[i];"
    expect("the reference is right, and as fast as itself", 0, r"^rmsnorm yes 100\.0 100\.0 1\.00 \d+ % timed$", REFERENCE, "rmsnorm")
    expect_copy("half of the reference's speed", 0, r"^copy yes 200\.0 100\.0 0\.50 \d+ % timed$", right, FAKE_CUDA="200")
    expect_copy("wrong scores zero, and no time is shown", 1, r"^copy no - - 0 - wrong: .*out: element",
                "if (i < n) out[i] = in[i] * 1.01f;")
    expect_copy("an output that isn't written is wrong", 1, r"no - - 0 - wrong: ", "if (i < n - 1) out[i] = in[i];")
    expect_copy("an input that is changed is wrong", 1, r"wrong: .*in: an input, was changed",
                right + " if (i == 0) const_cast<float *>(in)[0] = 0;")
    # answers the hidden shapes and gives up afterwards: the timed launches are compared, too
    expect_copy("a kernel that is lazy once it is timed", 1, r"no - - 0 - wrong: a timed launch",
                "if (calls < 4 && i < n) out[i] = in[i]; if (i == 0 && n > 100) calls++; if (i == 0 && n < 100) calls = 0;"
                " if (i == 0 && calls > 3) calls = 9;", "static __device__ int calls;")
    expect_copy("times that waver", 0, r"^copy yes \d+\.\d 100\.0 - - too noisy: ", right, FAKE_CUDA="noisy")
    expect_copy("faster than the card", 1, r"^copy yes 0\.0 100\.0 - - not physically possible: ", right, FAKE_CUDA="0.0001")
    expect_copy("a launch that fails", 1, r"no - - 0 - the launch failed: .*launch", right, FAKE_CUDA="fail")
    expect_copy("a kernel that crashes takes its process only", 1, r"no - - 0 - the launch failed", "out[(size_t)i << 40] = in[0];")
    expect_copy("a kernel that never ends is ended", 1, r"no - - 0 - comes to no end: ",
                "volatile float *p = out; while (p[0] != 12345.0f) {}", SERVELAB_GPU_LIMIT_S="2")
    expect_copy("a module that the driver refuses", 1, r"no - - 0 - refused: the driver doesn't load", right, "// no-module")


def real_compiler():
    name = "nvcc's first error has the learner's line"
    nvcc = shutil.which("nvcc")
    if nvcc:
        expect_copy(name, 1, r'refused: copy\.cu:5: identifier "missing" is undefined', "out[i] = missing;", SERVELAB_NVCC=nvcc)
    else:
        report(True, f"{name} # SKIP no nvcc here")


def refusals():
    expect_copy("the counted run's refusals hold", 1, r"refused: copy\.cu:5: .*asm", 'asm("exit;");')
    expect_copy("the compiler's first error has the learner's line", 1, r"refused: copy\.cu:5: .*missing", "out[i] = missing;")
    with Submission(launch={"copy": {"grid": ["0"], "block": [256]}}) as s:
        expect("a launch shape that is none", 1, r"refused: launch\.json: grid", s.path)
    expect("starters aren't attempted", 3, r"^copy - - - - - not written yet$", os.path.join(TOP, "labs/03_kernels"))
    expect("without a driver: reported with the next step", 2, r"no CUDA driver here .*`make grade LAB=03`", REFERENCE, text=True,
           SERVELAB_LIBCUDA="/nonexistent/libcuda.so")
    expect("without nvcc: reported with the next step", 2, r"nvcc is not installed.*CUDA toolkit.*`make grade LAB=03`", REFERENCE,
           text=True, SERVELAB_NVCC="/nonexistent/nvcc")
    expect("a check without a kernel", 2, r"--check: chooses no kernel", REFERENCE, "intervals", text=True)
    expect("another lab", 2, r"--device cuda is for lab 03", REFERENCE, lab="01", text=True)
    expect("no verdict, no JSON", 2, r"leave --format and --json out", REFERENCE, flags=["--json"], text=True)


def full_disk():
    e = {"FAKE_CUDA": "200"}
    with copy_kernel("if (i < n) out[i] = in[i];") as s, open("/dev/full", "wb") as full:
        status, _, out = grade(s.path, stdout=full, **e)
        report(status == 4 and out.count("can't be written to standard output: No space left") == 1,
               "a table that can't be written is exit 4", f"{status} {out}")


def secrets():
    seed = os.path.join(work, "seed")
    with open(seed, "w", encoding="utf-8") as f:
        f.write("correct horse battery")
    with copy_kernel("if (i < n) out[i] = in[i] * 1.01f;") as s:
        status, row, out = grade(s.path, flags=["--seed-file", seed])
        report(status == 1 and row.endswith("one value: out: isn't right") and not re.search(r"seed|n=\d", out),
               "an instructor's seed: no sizes, no values", out)


set_up()
try:
    verdicts()
    refusals()
    real_compiler()
    secrets()
    full_disk()
finally:
    shutil.rmtree(work)
print(f"1..{count}")
raise SystemExit(failures > 0)
