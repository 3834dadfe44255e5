#!/usr/bin/env bash
# gpu_check.sh: what `make gpu-check` runs. Builds the kernels of lab 03 with nvcc and gpu_check.c with the C compiler, runs
# every kernel on the GPU and prints one table; if ncu can profile, simt's counters are compared with its. DRY=1 does all of it
# on the CPU, on small shapes and without times: kernels and driver by simtcc. KERNELS_DIR=FOLDER takes other kernels.
#
# Exit status: 0 all right, 1 a kernel is wrong, 2 something is missing (and how to get it).
set -u
cd "$(dirname "$0")/../../.." || exit 4
bin=$(dirname "${SERVELAB:-build/bin/servelab}")
obj=${OBJ:-build/obj/gcc-release-solutions}
lab=${KERNELS_DIR:-solutions/03_kernels}
dry=${DRY:-0}
out=build/gpu
here=common/backend/tests
if [ "$dry" = 1 ]; then out=build/gpu-dry; fi
mkdir -p "$out"

die() { # die STATUS MESSAGE
    echo "gpu-check: $2" >&2
    exit "$1"
}

host() { # host: gpu_check
    gcc -O2 -g -Icommon -D_GNU_SOURCE -std=gnu17 -Wall -Wextra $here/gpu_check.c \
        "$obj/libservelab.a" -lcjson -lm -ldl -o "$out/gpu_check" || die 4 "gpu_check.c doesn't build"
}

cpu_driver() { # cpu_driver FILE [--check]: kernels and the driver's functions, on the CPU
    gcc -O2 -g -fPIC -I"$bin/simt/include" -D__SIMT__=1 -D_GNU_SOURCE -std=gnu17 -c $here/fake_cuda_driver.c \
        -o "$out/fake_cuda_driver.o" || die 4 "fake_cuda_driver.c doesn't build"
    "$bin/simtcc" ${2+"$2"} -shared -Icommon "$lab"/*.cu "$out/fake_cuda_driver.o" -o "$1" || die 1 "simtcc refused a kernel"
}

modules() { # one fatbin a kernel, for the card that is here
    command -v nvcc >/dev/null || die 2 "nvcc is not installed; it comes with the CUDA toolkit (DRY=1 needs none)"
    for f in "$lab"/*.cu; do
        nvcc -std=c++17 -O3 -Icommon -arch="${ARCH:-native}" -fatbin "$f" -o "$out/$(basename "$f" .cu).fatbin" ||
            die 1 "nvcc refused $f"
    done
}

host
if [ "$dry" = 1 ]; then
    cpu_driver "$out/libfakecuda.so"
    SERVELAB_LIBCUDA=$PWD/$out/libfakecuda.so SERVELAB_LIBCUBLAS=$PWD/$out/libfakecuda.so \
        "$out/gpu_check" "$out" "$lab/launch.json" --small
    exit
fi
modules
"$out/gpu_check" "$out" "$lab/launch.json"
status=$?
if [ $status != 2 ] && command -v ncu >/dev/null; then
    cpu_driver "$out/libfakecuda_check.so" --check
    echo
    python3 $here/gpu_counters.py "$out/gpu_check" "$out" "$lab/launch.json" "$PWD/$out/libfakecuda_check.so" ||
        echo "simt's counters were not compared with ncu's (see above; profiling may need the permission of the machine's owner)"
else
    echo "simt's counters were not compared: ncu is not installed"
fi
exit $status
