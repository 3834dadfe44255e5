/* simt.h: the manual of simtcc and its runtime, which run CUDA C on the CPU.
 *
 *     build/bin/simtcc kernel.cu harness.c -o prog && ./prog            fast, all cores
 *     build/bin/simtcc --check kernel.cu harness.c -o prog && ./prog    checked; exit 86: findings
 *     build/bin/simtcc --check --hooks=ir ...    the same by clang, with hooks that no text avoids
 *
 * A .cu file is C++17, as for nvcc. Kernels and the functions that launch them are in .cu files.
 * Put a harness's loops over large data into a .c file: it is compiled without checks.
 *
 * WHAT A KERNEL MAY USE
 *   threadIdx blockIdx blockDim gridDim warpSize; __global__ (template or not) __device__ __host__
 *   __constant__ __shared__ (static or extern, any type, several names), __launch_bounds__,
 *   __restrict__ __forceinline__ __noinline__ __align__
 *   int2 float4 uchar4 double2 ...; a 2-, 4-, 8- or 16-byte vector moves as one access
 *   __syncthreads, _count, _and, _or; __syncwarp(mask); __threadfence, _block, _system
 *   __shfl_sync, _up, _down, _xor (up to 8 bytes a lane, any width); __ballot_sync __any_sync
 *   __all_sync __uni_sync __match_any_sync __match_all_sync __reduce_{add,min,max,and,or,xor}_sync
 *   __activemask
 *   atomicAdd Sub Min Max And Or Xor Exch CAS Inc Dec, also _block and _system; of numbers of 1 to
 *   8 bytes, half and bf16 too
 *   <cmath>, min max, rsqrtf __expf __logf __fdividef __fmaf_rn ..., __popc __clz __ffs __brev
 *   __byte_perm __dp4a __umulhi __funnelshift_*, __ldg __ldcs __stcs ..., clock64, printf, assert
 *   <cuda_fp16.h> __half __half2, <cuda_bf16.h> __nv_bfloat16 __nv_bfloat162: bit-exact
 *   <mma.h> nvcuda::wmma 16x16x16 of half or bf16 into float or half
 *   <cooperative_groups.h> this_thread_block, tiled_partition<N>, reduce, plus, greater, less
 *   <cub/cub.cuh> WarpReduce, WarpScan, BlockReduce, BlockScan, BlockLoad, BlockStore, DeviceReduce
 *   __pipeline_memcpy_async (done at once), __pipeline_commit, __pipeline_wait_prior
 *
 * WHAT A HOST MAY USE, IN C AND C++: include/cuda_runtime_api.h: memory (host, managed, 2D,
 * symbols), streams, events and graphs (it says when their work is done), attributes, occupancy by
 * launch limits, cudaLaunchKernel; include/cublas_v2.h, include/cublasLt.h; nvtxRangePushA and
 * nvtxRangePop, which do nothing. In C, launch a kernel by name:
 *     const void *k = simt_find_kernel("rmsnorm");
 *     void *args[] = {&out, &x, &n};
 *     cudaLaunchKernel(k, (dim3){grid, 1, 1}, (dim3){threads, 1, 1}, args, shared_bytes, 0);
 *
 * REFUSED BY simtcc, with file, line and an alternative: inline PTX, textures and surfaces, dynamic
 * parallelism, clusters, grid-wide synchronisation, static __shared__ outside of a function,
 * cuRAND. ABSENT, so that the compiler names it: coalesced_threads, thread_group and scans of
 * cooperative groups, shuffles of more than 8 bytes, cuda::barrier, malloc limits, device flags,
 * the driver's interface. A missing NVIDIA header is taken from an installed toolkit. Both then
 * define the same types, and the compiler reports "redefinition of struct char1".
 *
 * WHAT DIFFERS FROM A GPU: the order of blocks is not defined (check mode runs one after another).
 * Lanes of a warp run one after another up to a barrier or warp operation, so warp-synchronous code
 * needs __syncwarp, which CUDA has required since 2017. A copy whose kind says host for a device
 * address is done, as unified addressing does; check mode refuses it. Multiply-adds don't fuse on
 * x86-64. Times mean nothing.
 *
 * WARP OPERATIONS follow CUDA's rule since sm_70: all lanes of a mask that haven't returned call
 * the same operation with the same mask. The calls may be on several lines, as on the two sides of
 * a branch. Lanes that have left the kernel by `return` are ignored. Another operation, another
 * mask, a lane that goes past the operation to the kernel's end, or a shuffle's width that is no
 * power of two up to 32 is a warp-mask finding.
 *
 * BARRIERS are stricter, and stay so: all threads of a block must reach the same __syncthreads() in
 * the text. On sm_70 and later two lines of __syncthreads() often work, because the hardware counts
 * arrivals. CUDA doesn't promise it: "__syncthreads() is allowed in conditional code but only if
 * the conditional evaluates identically across the entire thread block".
 *
 * MACROS: __CUDACC__, __SIMT__ and SERVELAB_SIMT are 1; __CUDA_ARCH__ is not defined. In .c files
 * only __SIMT__.
 *
 * ENVIRONMENT OF THE PROGRAM: SIMT_THREADS (fast mode; default: all cores), SIMT_TIME_LIMIT_S (of
 * one launch; default 120, 0: none), SIMT_BLAS (see cublas_v2.h), SIMT_FAIL=CALL:N:ERROR (the N-th
 * call of this function fails with this number; runtime/fault.c lists which can); in check mode
 * SIMT_REPORT=FILE or fd:N (JSON), SIMT_TRACE=FILE (every access, see runtime/check_trace.c).
 *
 * WHAT CHECK MODE FINDS, by kind: global-race, shared-race, warp-race (a missing __syncwarp),
 * out-of-bounds (also null pointers and writes to constants), use-after-free, uninitialised,
 * host-pointer, async-copy (the host changes what a cudaMemcpyAsync reads or writes before it has
 * waited for it), barrier-divergence (also if some threads have returned),
 * warp-mask, illegal-launch, time-limit, crash (a signal in a kernel: division by zero, a failed
 * assert, 64 KiB of stack used up). A bad access ends its launch before it happens; after any other
 * finding the kernel goes on. A race is reported at the line of its later access, with the line of
 * the earlier one. Each race is reported once: not from its other end, and not as the uninitialised
 * read that it may cause. Of a block's barriers the first one that threads miss is reported.
 *
 * WHAT IT MISSES: an overrun that lands in another live allocation or shared array; the scope of an
 * atomic (atomicAdd_block counts for all blocks); misaligned vectors; races between streams (their
 * work runs one piece after another); an unwritten word that may be the hole of a structure (the
 * second half of 8 bytes). A shuffle up or down from a lane outside of its mask is accepted,
 * because the value is often unused; the source lane of __shfl_sync and __shfl_xor_sync must be in
 * the mask.
 *
 * WHAT A REPORT HAS: `errors`, `kernels` with their counts, and `device_memory`: what cudaMalloc
 * gave and cudaFree has not taken back when the program ends. That is not an error.
 *
 * WHAT IT COUNTS: see `metrics` in a report. A request is one instruction that the lanes of a warp
 * execute together. Lanes that diverge wait for each other where their ways meet, as in a GPU's
 * code: after an if, at the head of a loop for the next round, after the loop (see
 * runtime/check_merge.c). Where they don't meet again, __syncwarp() brings them together. A
 * compiler may write one place twice (a store of a constant after a loop, apart from the same store
 * after a break): it then counts as two. bytes_* are what the lanes asked for; 32 times the sectors
 * is what moved; footprint_bytes counts each touched sector once a launch, reads and writes apart.
 * Local memory, constants and values kept in registers aren't counted. Divergent branches depend on
 * the compiler's layout of branches. All other counts are the same under gcc and clang, except at
 * places that a compiler doubles.
 */
/* WHO PUTS THE HOOKS. By default the compiler does, as if for its thread sanitizer. It leaves out
 * what an attribute excludes, what a library function writes, and operands passed by value; good
 * enough for one's own kernels. With --hooks=ir simtcc does it in clang's bitcode and leaves out
 * nothing (ir/instrument.h); so does the grader of lab 03. Counts are equal, except where clang
 * keeps a load that gcc finds again in a register.
 */
/* HOW IT IS BUILT, in the order to read it.
 *   driver/    simtcc.c (options), command.c (which compilers run, with what); tokens.c,
 *              rewrite.c, then rewrite_declare, _shared, _launch, _refuse: CUDA's syntax into C++.
 *              simtcc -E shows the result. report_file.c, annotate.c, roofline.c read a report.
 *   ir/        --hooks=ir: instrument.h says what it does. llvm_c.h loads LLVM's C interface; ir.c
 *              reads and writes; module.c, function.c, access.c, call.c go from the file down to
 *              one access; origin.c follows pointers, place.c finds lines.
 *   include/   what a .cu file sees: simt_launch.h (how a launch reaches the runtime), simt_abi.h
 *   runtime/   launch.c (a launch becomes blocks), schedule.c over fiber.c (a block's threads),
 *              warp.c, memory.c, stream.c, device.c, cublas.c and cublaslt.c over gemm.c;
 *              watchdog.c, crash.c
 *   runtime/check_*.c, only with --check: check_access.c is called before each access. It
 *              asks check_place (is the address valid?) and check_race (does it race? order comes
 *              from check_sync and check_fence) and leaves a record. check_merge with check_graph
 *              makes requests of the lanes' records, check_request counts one, check_count keeps
 *              the sums. check_warp checks warp operations. check_report and check_json write.
 */
#ifndef SERVELAB_SIMT_SIMT_H
#define SERVELAB_SIMT_SIMT_H

/* This header holds no code. Generated code uses include/simt_abi.h, host code
 * include/cuda_runtime_api.h. */

#endif
