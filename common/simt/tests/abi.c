/* abi.c: a kernel without any C++: the calls that generated code makes, from C. Small enough to run
 * on another processor under an emulator: it needs only the runtime, a C compiler and the fibers.
 */
#include <simt_abi.h>

#include <cuda_runtime_api.h>
#include <stdio.h>

enum { THREADS = 96, BLOCKS = 5 };
static int out[BLOCKS][THREADS];
static _Atomic int next_block;

/* Reverses through shared memory, then sums over each warp; doubles survive the switches. */
static void one_thread(void) {
    unsigned t = simt_thread_rank(), lane = simt_lane();
    int *shared = simt_shared_dynamic();
    double kept = 1.5 * t, more = 0.25 * t, most = t / 3.0;
    shared[t] = (int)t;
    simt_barrier(1, 0, 0);
    int v = shared[THREADS - 1 - t];
    int count = simt_barrier(2, 1, v % 3 == 0);
    for (int d = 16; d; d /= 2)
        v += (int)simt_warp_op(SIMT_OP_SHUFFLE, ~0u, (uint64_t)v, lane ^ (unsigned)d, 3);
    simt_barrier(4, 0, 0);
    int sound = kept == 1.5 * t && more == 0.25 * t && most == t / 3.0;
    shared[t] = sound ? v + 1000 * count : -1;
    simt_barrier(5, 0, 0);
    if (t == 0) {
        int b = next_block++;
        for (int i = 0; i < THREADS; i++) out[b][i] = shared[i];
    }
}

static void run(void *arg) {
    (void)arg;
    do one_thread();
    while (simt_thread_next());
}

int main(void) {
    struct simt_launch l = {.grid = {BLOCKS, 1, 1},
                            .block = {THREADS, 1, 1},
                            .dynamic_bytes = THREADS * sizeof(int),
                            .run = run,
                            .name = "abi",
                            .file = "abi.c"};
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
        next_block = 0;
        simt_launch(&l);
        for (int b = 0; b < BLOCKS; b++)
            for (int t = 0; t < THREADS; t++) {
                int first = THREADS - 32 - t / 32 * 32; /* of the values of t's warp */
                int want = 32 * first + 31 * 16 + 1000 * (THREADS / 3);
                wrong += out[b][t] != want;
            }
    }
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaGetLastError()));
    return wrong != 0;
}
