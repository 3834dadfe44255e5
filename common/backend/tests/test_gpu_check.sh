#!/usr/bin/env bash
# test_gpu_check.sh: the whole plan of `make gpu-check`, dry: on the CPU, with replacements of the driver and the
# profiler. A wrong kernel is found, a missing driver is reported, and ncu's table is read.
set -u
cd "$(dirname "$0")/../../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
report() { # report STATUS NAME [FILE to show]
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        failed=1
        echo "not ok $n - $2"
        [ $# -lt 3 ] || tail -5 "$3" | sed 's/^/# /'
    fi
}
check=common/backend/tests/gpu_check.sh
dry=build/gpu-dry

DRY=1 bash $check >"$work/out" 2>"$work/err"
report $? "the dry run ends well" "$work/err"
[ "$(grep -c ' right ' "$work/out")" = 15 ] && grep -qx '15 kernels, 0 wrong' "$work/out" && grep -q cublasSgemm "$work/out"
report $? "fifteen kernels are right, and cuBLAS is compared with gemm" "$work/out"
! grep -qE '[0-9] *(us|GB/s|GFLOP/s)' "$work/out"
report $? "a dry run states no time" "$work/out"

SERVELAB_LIBCUDA=/nonexistent/libcuda.so $dry/gpu_check $dry solutions/03_kernels/launch.json >"$work/out" 2>"$work/err"
[ $? = 2 ] && grep -q 'no CUDA driver here' "$work/err" && grep -q 'DRY=1' "$work/err"
report $? "without a driver it reports that, and the next step" "$work/err"

# A wrong kernel: the last row is left out. Only the launch file differs.
sed 's/"rmsnorm": {"grid": \["rows"\]/"rmsnorm": {"grid": ["rows - 1"]/' solutions/03_kernels/launch.json >"$work/launch.json"
SERVELAB_LIBCUDA=$PWD/$dry/libfakecuda.so $dry/gpu_check $dry "$work/launch.json" --small --only rmsnorm >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q 'rmsnorm  *WRONG' "$work/out" && grep -qx '1 kernels, 1 wrong' "$work/out"
report $? "a kernel that leaves a row out is wrong" "$work/out"

# ncu's CSV, as it prints it: lines of the program first, numbers with commas.
cat >"$work/ncu" <<'STUB'
#!/bin/sh
echo '==PROF== Connected to process 4711'
echo '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
for m in requests_pipe_lsu_mem_global_op_ld sectors_pipe_lsu_mem_global_op_ld requests_pipe_lsu_mem_global_op_st sectors_pipe_lsu_mem_global_op_st; do
    echo "\"0\",\"1\",\"gpu_check\",\"host\",\"k\",\"1\",\"7\",\"(256, 1, 1)\",\"(4, 1, 1)\",\"0\",\"9.0\",\"Command line profiler metrics\",\"l1tex__t_$m.sum\",\"\",\"1,024\""
done
STUB
chmod +x "$work/ncu"
bin=$(dirname "${SERVELAB:-build/bin/servelab}")
"$bin/simtcc" --check -shared -Icommon solutions/03_kernels/copy.cu $dry/fake_cuda_driver.o -o "$work/libcheck.so" 2>"$work/err" &&
    ONLY=copy python3 common/backend/tests/gpu_counters.py $dry/gpu_check $dry solutions/03_kernels/launch.json "$work/libcheck.so" \
        "$work/ncu" >"$work/out" 2>"$work/err"
report $? "counters are compared with ncu's" "$work/err"
grep -qE '^copy +global_load_sectors +512 +1024 +0\.500$' "$work/out" && grep -qE '^copy +shared_wavefronts +0 +-$' "$work/out"
report $? "ncu's numbers are read, and a counter it doesn't have is left empty" "$work/out"
echo "1..$n"
exit $failed
