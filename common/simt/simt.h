/* simt.h: the manual of CUDA C on the CPU.
 *
 *     build/bin/simtcc kernel.cu harness.c -o prog && ./prog            fast, all cores
 *     build/bin/simtcc --check kernel.cu harness.c -o prog && ./prog    watched; exit 86: errors
 *
 * A .cu file is C++17 as nvcc takes it. Kernels and the functions that launch them stand in .cu
 * files; put a harness's loops over large data into a .c file, which is compiled without checks.
 *
 * WHAT A KERNEL MAY USE
 *   threadIdx blockIdx blockDim gridDim warpSize; __global__ (template or not) __device__ __host__
 *   __constant__ __shared__ (static, extern, structures, several names), __launch_bounds__,
 *   __restrict__ __forceinline__ __noinline__ __align__
 *   int2 float4 uchar4 double2 ...; a 2-, 4-, 8- or 16-byte vector moves as one access
 *   __syncthreads, _count, _and, _or; __syncwarp(mask); __threadfence, _block, _system
 *   __shfl_sync, _up, _down, _xor (up to 8 bytes a lane, any width); __ballot_sync __any_sync
 *   __all_sync __uni_sync __match_any_sync __match_all_sync __reduce_{add,min,max,and,or,xor}_sync
 *   __activemask
 *   atomicAdd Sub Min Max And Or Xor Exch CAS Inc Dec, also _block and _system; 1 to 8 bytes
 *   <cmath>, min max, rsqrtf __expf __logf __fdividef __fmaf_rn ..., __popc __clz __ffs __brev
 *   __byte_perm __dp4a __umulhi __funnelshift_*, __ldg __ldcs __stcs ..., clock64, printf, assert
 *   <cuda_fp16.h> __half __half2, <cuda_bf16.h> __nv_bfloat16 __nv_bfloat162: bit-exact
 *   <mma.h> nvcuda::wmma 16x16x16 of half or bf16 into float or half
 *   <cooperative_groups.h> this_thread_block, tiled_partition<N>, reduce, plus, greater, less
 *   __pipeline_memcpy_async (done at once), __pipeline_commit, __pipeline_wait_prior
 *
 * WHAT A HOST MAY USE, IN C AND C++: cuda_runtime_api.h beside this file's include/ folder: memory
 * (host, managed, 2D, symbols), streams and events (work is done when a call returns), attributes,
 * occupancy by launch limits, cudaLaunchKernel; cublas_v2.h. In C, launch a kernel by name:
 *     const void *k = simt_find_kernel("rmsnorm");
 *     void *args[] = {&out, &x, &n};
 *     cudaLaunchKernel(k, (dim3){grid, 1, 1}, (dim3){threads, 1, 1}, args, shared_bytes, 0);
 *
 * REFUSED BY simtcc, with file, line and another way: inline PTX, textures and surfaces, dynamic
 * parallelism, clusters, grid-wide synchronisation, graphs, __shared__ outside of a function,
 * cublasLt, cuRAND. ABSENT, so that the compiler names it: coalesced_threads, thread_group and
 * scans of cooperative groups, shuffles of more than 8 bytes, cuda::barrier, malloc limits,
 * device flags, the driver's interface. An NVIDIA header that is missing here but installed on
 * the machine is taken from there, and then both define the same types: "redefinition of struct
 * char1" says so.
 *
 * WHAT DIFFERS FROM A GPU: blocks run in no order you may rely on (in check mode one after
 * another); lanes of a warp run apart, so warp-synchronous code needs __syncwarp, as CUDA says
 * since 2017; multiply-adds don't fuse on x86-64; time means nothing.
 *
 * MACROS: __CUDACC__, __SIMT__ and SERVELAB_SIMT are 1; __CUDA_ARCH__ is not defined. In .c files
 * only __SIMT__.
 *
 * ENVIRONMENT OF THE PROGRAM: SIMT_THREADS (fast mode, all cores), SIMT_TIME_LIMIT_S (120: one
 * launch; 0: none), SIMT_BLAS (cublas_v2.h); in check mode SIMT_REPORT=FILE or fd:N (JSON),
 * SIMT_TRACE=FILE (every access, see runtime/check_trace.c).
 *
 * WHAT CHECK MODE FINDS, by kind: global-race, shared-race, warp-race (a missing __syncwarp),
 * out-of-bounds (also null pointers and writes to constants), use-after-free, uninitialised,
 * host-pointer, barrier-divergence (also where some threads have returned), warp-mask,
 * illegal-launch, time-limit, crash
 * (a signal in a kernel: division by zero, a failed assert, 64 KiB of stack used up). A bad access
 * ends its launch before it happens; the others are noted and the kernel goes on. A race is told at
 * the line of its later access and names the other line. One race is one finding: its other end,
 * and an early read of what nobody has written yet, stay unsaid. Of a block's barriers the first
 * that threads miss is told.
 *
 * WHAT IT DOESN'T: an overrun so far that it lands in another live allocation or shared array; the
 * scope of an atomic (atomicAdd_block counts for all blocks); misaligned vectors; races between
 * streams (work is done when a call returns); a word never written where it may be the hole of a
 * structure: the second half of 8 bytes. A shuffle down or up past its mask is let through, as its
 * value often goes unused; a source lane that is named, or exchanged with, must be in the mask.
 *
 * WHAT IT COUNTS: see `metrics` in a report. A request is what the lanes of a warp do at one place
 * in the code, together. Lanes that part wait for each other where their ways meet, as a GPU's
 * compiler has it: behind an if, at the head of a loop for its next round, behind the loop (see
 * runtime/check_merge.c). A warp whose lanes don't meet again is brought together by __syncwarp().
 * The compiler may write one place twice (a store of a constant behind a loop, apart from the same
 * store after a break): then it counts as two under that compiler.
 * bytes_* are what lanes asked for, 32 times the sectors what moved, footprint_bytes each touched
 * sector once a launch, read and written apart. Local memory and constants aren't counted; an
 * access that the compiler keeps in a register isn't an access. Divergent branches depend on how
 * the compiler lays out branches; all else is, but for such places, the same under gcc and clang.
 */
/* HOW IT IS MADE, in the order to read it.
 *   driver/    simtcc.c (options), command.c (which compilers run, with what); tokens.c,
 *              rewrite.c, then rewrite_declare, _shared, _launch, _refuse: CUDA's syntax into C++.
 *              See the result with simtcc -E. report_file.c, annotate.c, roofline.c read a
 *              finished report.
 *   include/   what a .cu file sees: simt_launch.h (how a launch reaches the runtime), simt_abi.h
 *   runtime/   launch.c (a launch becomes blocks), schedule.c over fiber.c (a block's threads),
 *              warp.c, memory.c, device.c, cublas.c over gemm.c; watchdog.c, crash.c
 *   runtime/check_*.c, only with --check: check_access.c is what the compiler calls before each
 *              access. It asks check_place (may it?), check_race (of cells, ordered by check_sync
 *              and check_fence), and leaves a record; check_merge over check_graph makes requests
 *              of the lanes' records, check_request counts one, check_count keeps the sums,
 *              check_json and check_report say it all.
 */
#ifndef SERVELAB_SIMT_SIMT_H
#define SERVELAB_SIMT_SIMT_H

/* The interface of generated code is include/simt_abi.h, that of host code
 * include/cuda_runtime_api.h; this header is text. */

#endif
