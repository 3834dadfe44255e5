#!/usr/bin/env bash
# test_gpu_check.sh: the whole plan of `make gpu-check`, dry: on the CPU, with replacements of the driver, NVML and the profiler.
# No figure of it can be taken for a measurement; a wrong kernel, a step that fails, an interruption and a missing driver are reported.
# servelab-test: long
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
servelab=${SERVELAB:-build/bin/servelab}
check=common/backend/tests/gpu_plan.py
dry=build/gpu-dry
json=$dry/gpu-check.json
rm -f $json
expect() { # expect NAME EXPRESSION: of the results as `d`
    python3 -c "import json, sys; d = json.load(open('$json')); sys.exit(not ($2))" 2>"$work/why"
    report $? "$1" "$work/why"
}

DRY=1 SEED=7 TORCH_PYTHON=/bin/false python3 $check >"$work/out" 2>"$work/err"
report $? "the dry run ends well" "$work/out"
[ "$(grep -c ' right ' "$work/out")" = 19 ] && grep -qx '15 kernels, 0 wrong' "$work/out" && grep -q cublasSgemm "$work/out"
report $? "fifteen kernels and four logits are right, and cuBLAS is compared with gemm" "$work/out"
! grep -qE '[0-9] *(us|ms|GB/s|GFLOP/s|tokens/s|J)\b' "$work/out"
report $? "a dry run states no time" "$work/out"
expect "every step of the plan ran, but torch, which isn't there" \
    "[s['name'] for s in d['steps'] if s['status'] == 'ok'] == ['build', 'roof', 'kernels', 'agree', 'model', 'served', 'counters'] \
    and any('torch' in l for l in d['left_out']) and sum(s['budget_s'] for s in d['steps']) < 480"
expect "every figure is marked as dry" \
    "d['dry'] is True and d['roof']['dry'] is True and len(d['figures']) == 29 and all(f['dry'] is True for f in d['figures'] + d['counters'])"
expect "the targets are there, marked as dry, and no line says that one is met" \
    "len(d['targets']) == 6 and all(t['dry'] is True for t in d['targets']) and 'met' not in open('$work/out').read()"
expect "every time has its bound" "all(f['bound_s'] > 0 and f['of_bound'] > 0 for f in d['figures'] if 's' in f)"
# The replacement's counter is 300 W; the eight responses share what passed while any of them ran.
expect "the responses' joules are those of the counter" \
    "[0 < 8 * f['value'] <= 300 * s['wall_s'] for f in d['figures'] if f['name'] == 'served, joules per response' \
    for s in d['steps'] if s['name'] == 'served'] == [True]"

expect "and the results say so" "d['torch'] == 'absent'"

"$servelab" report $dry/load --objective common/backend/tests/gpu_objective.json >"$work/out" 2>"$work/err"
grep -q 'All times are paced: dry run, CUDA on the CPU, simulated' "$work/out" && grep -q 'nothing was measured' "$work/out"
report $? "a report of the dry load says that nothing was measured" "$work/out"
"$servelab" report $dry/load/records.jsonl --objective common/backend/tests/gpu_objective.json --json >"$work/out" 2>"$work/err"
grep -q '"times": *"paced"' "$work/out" && ! grep -q '"times": *"measured"' "$work/out"
report $? "so does a report of its records alone" "$work/out"
"$servelab" report $json --objective common/backend/tests/gpu_objective.json >"$work/out" 2>"$work/err"
[ $? = 2 ] && [ ! -s "$work/out" ]
report $? "a report refuses the results of the check" "$work/err"

mv $json "$work/kept.json"
SERVELAB_LIBCUDA=/nonexistent/libcuda.so python3 $check >"$work/out" 2>"$work/err"
[ $? = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ] && grep -q 'no CUDA driver here' "$work/err" && grep -q 'DRY=1' "$work/err" &&
    [ ! -e build/gpu/gpu-check.json -o build/gpu/gpu-check.json -ot "$work/kept.json" ]
report $? "without a driver there is one line, with the next step" "$work/err"

# A wrong kernel: the last row is left out. Only the launch file differs.
sed 's/"rmsnorm": {"grid": \["rows"\]/"rmsnorm": {"grid": ["rows - 1"]/' solutions/03_kernels/launch.json >"$work/launch.json"
SERVELAB_LIBCUDA=$PWD/$dry/libfakecuda.so $dry/gpu_check $dry "$work/launch.json" --small --only rmsnorm >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q 'rmsnorm  *WRONG' "$work/out" && grep -qx '1 kernels, 1 wrong' "$work/out"
report $? "a kernel that leaves a row out is wrong" "$work/out"

# The same in the plan: the step fails, those behind it run, and the exit status says so.
mkdir "$work/lab" && cp solutions/03_kernels/*.cu solutions/03_kernels/*.cuh "$work/lab" 2>/dev/null
cp "$work/launch.json" "$work/lab/launch.json"
DRY=1 SEED=7 KERNELS_DIR=$work/lab ONLY_STEPS="roof kernels agree" python3 $check >"$work/out" 2>"$work/err"
status=$?
[ $status = 1 ] && grep -q '^3 steps, 1 failed' "$work/out"
report $? "a step that fails doesn't stop the others, and the exit status is 1" "$work/out"
expect "the results name the kernel" \
    "[s['status'] for s in d['steps']] == ['ok', 'failed', 'ok'] and [f['name'] for f in d['figures'] if not f['right']] == ['kernel rmsnorm']"

DRY=1 SEED=7 GPU_CHECK_PATIENCE=0.0001 ONLY_STEPS="kernels agree" python3 $check >"$work/out" 2>"$work/err"
status=$?
[ $status = 1 ] && grep -q '^2 steps, 2 failed' "$work/out" && [ "$(grep -c 'out of time' "$work/out")" = 2 ]
report $? "each step has its own time limit" "$work/out"

# torch's step, with a stub that checks what it is called with.
DRY=1 SEED=7 TORCH_PYTHON=stub ONLY_STEPS="roof torch" python3 $check >"$work/out" 2>"$work/err"
[ $? = 0 ] && grep -q 'torch: stub, which walks the step and computes nothing' "$work/out"
report $? "with a stub of torch the step is walked to its end" "$work/out"
expect "the results name the stub, and each figure is marked as dry" \
    "d['torch'] == 'stub' and [f['name'] for f in d['figures']] == ['transformers prefill of 32'] + [w + ' decode, batch %d behind 32' % b \
    for w in ('transformers', 'torch.compile') for b in (1, 2)] and all(f['dry'] is True and f['bound_s'] > 0 for f in d['figures'])"
FAKE_TORCH_MEMORY=60 DRY=1 SEED=7 TORCH_PYTHON=stub ONLY_STEPS="torch" python3 $check >"$work/out" 2>"$work/err"
[ $? = 0 ] && [ "$(grep -c 'left out: .*batch 2 behind 32: out of memory' "$work/out")" = 2 ]
report $? "a batch that torch has no memory for is left out, and the others stay" "$work/out"

DRY=1 SEED=7 NO_NVML=1 ONLY_STEPS="served" python3 $check >"$work/out" 2>"$work/err"
[ $? = 0 ] && grep -q 'left out: joules per response: there is no NVML here' "$work/out"
report $? "without NVML the joules are absent, and the reason is stated" "$work/out"
expect "no figure stands for them" "len(d['figures']) == 5 and not any('joules' in f['name'] for f in d['figures'])"

# Interrupted while the kernels run: what was found stays.
mkfifo "$work/pipe"
DRY=1 SEED=7 ONLY_STEPS="roof kernels model" python3 $check >"$work/pipe" 2>"$work/err" &
plan=$!
while IFS= read -r line; do
    case $line in copy\ *) kill -TERM $plan ;; esac
done <"$work/pipe"
wait $plan
[ $? = 130 ] && grep -q 'interrupted' "$work/err"
report $? "an interruption ends it with a line" "$work/err"
expect "what was found before the interruption is kept" \
    "d['roof'] and [s['status'] for s in d['steps']] == ['ok', 'interrupted'] and d['figures'][0]['name'] == 'kernel copy'"

# ncu's CSV, as it prints it. The modules are a GPU's, which the replaced driver can't load.
mkdir "$work/modules" && echo "no shared object" >"$work/modules/copy.fatbin"
bin=$(dirname "$servelab")
"$bin/simtcc" --check -shared -Icommon solutions/03_kernels/copy.cu $dry/fake_cuda_driver.o -o "$work/libcheck.so" 2>"$work/err" &&
    ONLY=copy python3 common/backend/tests/gpu_counters.py $dry/gpu_check "$work/modules" solutions/03_kernels/launch.json "$work/libcheck.so" \
        common/backend/tests/fake_ncu.sh >"$work/out" 2>"$work/err"
report $? "counters are compared with ncu's" "$work/err"
grep -qE '^copy +global_load_sectors +512 +1024 +0\.500$' "$work/out" && grep -qE '^copy +shared_wavefronts +0 +-$' "$work/out"
report $? "ncu's numbers are read, and a counter it doesn't have is left empty" "$work/out"
echo "1..$n"
exit $failed
