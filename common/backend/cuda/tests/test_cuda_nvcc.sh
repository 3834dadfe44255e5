#!/usr/bin/env bash
# test_cuda_nvcc.sh: nvcc compiles the CUDA backend for sm_80 and sm_90 without a warning and without a spilled register,
# and the plug-in links. Where there is no GPU, the server says so in one line; where there is one, it answers.
# servelab-test: long
set -u
cd "$(dirname "$0")/../../../.." || exit 4
servelab=${SERVELAB:-build/bin/servelab}
obj=${OBJ:-build/obj/gcc-release-solutions}
if ! command -v nvcc >/dev/null; then
    echo "ok 1 - nvcc compiles the CUDA backend # SKIP no nvcc here"
    echo "1..1"
    exit 0
fi
n=0 failed=0
check() { # check NAME: after a test of [ ]
    [ $? = 0 ] && ok=ok || ok="not ok" failed=1
    n=$((n + 1))
    echo "$ok $n - $1"
}
[ "$obj" = "${obj#*-solutions}" ] && impl=labs || impl=solutions
said=$(env -u MAKEFLAGS -u MAKELEVEL nice make -s -j2 MODE="${MODE:-release}" CC="${CC:-gcc}" IMPL=$impl cuda 2>&1)
check "nvcc compiles and links the CUDA backend${said:+: $(tail -1 <<<"$said")}"
logs=$(find "$obj/plugin-cuda" -name '*.log')
[ -n "$logs" ] && ! grep -qi warning $logs
check "no warning"
kernels=$(cat $logs | grep -c 'Compiling entry function')
clean=$(cat $logs | grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads')
[ "$kernels" -ge 40 ] && [ "$clean" = "$kernels" ]
check "20 kernels or more for two architectures; $clean of $kernels keep everything in registers"
if nvidia-smi -L >/dev/null 2>&1; then
    "$servelab" quality --backend cuda --logs 1 --per-kind 1
    check "answers on this machine's GPU"
else
    said=$("$servelab" serve --backend cuda --port 0 2>&1)
    [ $? = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -q 'cudaGetDeviceCount.*driver' <<<"$said"
    check "without a driver: $said"
fi
echo "1..$n"
exit $failed
