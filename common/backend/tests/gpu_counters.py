#!/usr/bin/env python3
"""gpu_counters.py: compares simt's counters with Nsight Compute's, for one launch of every kernel.

    gpu_counters.py GPU_CHECK MODULES LAUNCH.json DRY_LIBRARY [NCU]

simt's counts come from GPU_CHECK --once with DRY_LIBRARY, a driver on the CPU built with simtcc --check; ncu's (default:
"ncu") from the same program on the GPU. ONLY=KERNEL in the environment takes one. Prints a line a kernel and counter that either saw. A difference is
information, not a failure: the tensor-core loads of attention_prefill are emulated, and an assembler may merge or split
accesses. Exit status: 0, or 2 if one of the two can't be run.
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

SHAPES = {
    "copy": "n=4096", "copy_strided": "rows=64 cols=64 stride=192", "rmsnorm": "rows=32 d=576", "softmax": "rows=32 d=576",
    "rope": "tokens=33 q_heads=8 kv_heads=2 head_dim=64", "swiglu": "rows=32 d=576", "embedding": "tokens=32 d=576",
    "gemm": "m=64 n=64 k=64", "gemv": "rows=64 cols=576", "gemv_int8": "rows=64 cols=576",
    "attention_prefill": "pos0=0 tokens=48 q_heads=4 kv_heads=2 head_dim=64",
    "attention_decode": "seqs=2 context=200 q_heads=8 kv_heads=2 head_dim=64 splits=3",
    "attention_merge": "seqs=5 q_heads=8 head_dim=64 splits=5", "argmax": "rows=3 vocab=2048",
    "sample": "rows=2 vocab=2048 top_k=40",
}
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_requests": "smsp__inst_executed_op_shared.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
}


def run(args, **env):
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=240, env={**os.environ, **env})
    except FileNotFoundError:
        sys.exit(f"gpu_counters: {args[0]} is not installed")
    if done.returncode:
        print(f"gpu_counters: {args[0]}: {(done.stderr or done.stdout).strip()[-300:]}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def ours(program, launch, library, kernel, sizes):
    """The kernels are in the library: of a module that doesn't exist the replaced driver takes those. MODULES holds the GPU's."""
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        run([program, os.path.join(work, "none"), launch, "--once", kernel, sizes], SERVELAB_LIBCUDA=library, SIMT_REPORT=report)
        with open(report) as f:
            entry = next(k for k in json.load(f)["kernels"] if k["name"] == kernel)
    return {ours_name: entry[ours_name] for ours_name in METRICS}


def theirs(once, ncu, kernel):
    """ncu's CSV: some lines of the program and its own, then a header line that has "Metric Name"."""
    text = run([ncu, "--csv", "--target-processes", "all", "--kernel-name", f"regex:^{kernel}$", "--metrics",
                ",".join(METRICS.values()), *once])
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if '"Metric Name"' in line), None)
    if start is None:
        print(f"gpu_counters: {ncu} printed no table for {kernel}", file=sys.stderr)
        sys.exit(2)
    values = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(io.StringIO("\n".join(lines[start:])))}
    return {name: float(values[metric].replace(",", "")) for name, metric in METRICS.items() if metric in values}


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit("usage: gpu_counters.py GPU_CHECK MODULES LAUNCH.json DRY_LIBRARY [NCU]")
    program, modules, launch, library = sys.argv[1:5]
    ncu = sys.argv[5] if len(sys.argv) == 6 else "ncu"
    print(f"{'kernel':18s} {'counter':24s} {'ours':>10s} {'ncu':>10s} {'ours/ncu':>9s}")
    only = os.environ.get("ONLY")
    for kernel, sizes in SHAPES.items():
        if only and kernel != only:
            continue
        once = [program, modules, launch, "--once", kernel, sizes]
        mine, other = ours(program, launch, library, kernel, sizes), theirs(once, ncu, kernel)
        for name in METRICS:
            if name not in other:
                print(f"{kernel:18s} {name:24s} {mine[name]:10d} {'-':>10s}")
            elif mine[name] or other[name]:
                ratio = f"{mine[name] / other[name]:9.3f}" if other[name] else f"{'-':>9s}"
                print(f"{kernel:18s} {name:24s} {mine[name]:10d} {other[name]:10.0f} {ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
