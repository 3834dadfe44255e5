#!/usr/bin/env bash
# gpu_check.sh: builds what gpu_plan.py runs, into build/gpu, or with DRY=1 into build/gpu-dry.
#
#   gpu_check.sh host        the two programs, by the C compiler; on a dry run the driver's replacement too
#   gpu_check.sh device      the kernels and the backend, by nvcc (a dry run needs nothing more)
#   gpu_check.sh counters    the kernels on the CPU, checked, whose counters are compared with ncu's
#
# KERNELS_DIR=FOLDER takes other kernels. Exit status: 0, 1 a compiler refused a kernel, 2 something is missing (and how to get it),
# 4 our own fault.
set -u
cd "$(dirname "$0")/../../.." || exit 4
bin=$(dirname "${SERVELAB:-build/bin/servelab}")
obj=${OBJ:-build/obj/gcc-release-solutions}
lab=${KERNELS_DIR:-solutions/03_kernels}
here=common/backend/tests
out=build/gpu
if [ "${DRY:-0}" = 1 ]; then out=build/gpu-dry; fi
mkdir -p "$out"

die() { # die STATUS MESSAGE
    echo "gpu-check: $2" >&2
    exit "$1"
}

host() {
    local program
    for program in gpu_check gpu_model; do
        gcc -O2 -g -Icommon -D_GNU_SOURCE -std=gnu17 -Wall -Wextra $here/$program.c \
            "$obj/libservelab.a" -lcjson -lm -ldl -o "$out/$program" || die 4 "$program.c doesn't build"
    done
    if [ "${DRY:-0}" = 1 ]; then cpu_driver "$out/libfakecuda.so" "" "$lab"/*.cu; fi
}

cpu_driver() { # cpu_driver FILE FLAG KERNEL..: kernels and the driver's functions, on the CPU
    local file=$1 flag=$2
    shift 2
    gcc -O2 -g -fPIC -I"$bin/simt/include" -D__SIMT__=1 -D_GNU_SOURCE -std=gnu17 -c $here/fake_cuda_driver.c \
        -o "$out/fake_cuda_driver.o" || die 4 "fake_cuda_driver.c doesn't build"
    "$bin/simtcc" ${flag:+"$flag"} -shared -Icommon "$@" "$out/fake_cuda_driver.o" -o "$file" || die 1 "simtcc refused a kernel"
}

device() { # one fatbin a kernel, for the card that is here, as many at a time as there are cores
    if [ "${DRY:-0}" = 1 ]; then return; fi
    command -v nvcc >/dev/null || die 2 "nvcc is not installed; it comes with the CUDA toolkit (DRY=1 needs none)"
    printf '%s\n' "$lab"/*.cu | xargs -P "$(nproc)" -I{} sh -c \
        'nvcc -std=c++17 -O3 -Icommon -arch="$1" -fatbin "$2" -o "$3/$(basename "$2" .cu).fatbin"' sh "${ARCH:-native}" {} "$out" ||
        die 1 "nvcc refused a kernel"
    env -u MAKEFLAGS -u MAKELEVEL make -s -j"$(nproc)" cuda || die 1 "the CUDA backend doesn't build"
}

counters() { # a dry run takes one kernel: the checked build of all is slow
    if [ "${DRY:-0}" = 1 ]; then
        cpu_driver "$out/libfakecuda_check.so" --check "$lab/copy.cu"
    else
        cpu_driver "$out/libfakecuda_check.so" --check "$lab"/*.cu
    fi
}

case ${1:-} in
host | device | counters) "$1" ;;
*) die 2 "usage: gpu_check.sh host|device|counters" ;;
esac
