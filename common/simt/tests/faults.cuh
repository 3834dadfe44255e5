/* faults.cuh: what faults_races.cu, faults_memory.cu and faults_sync.cu share: buffers, and RUN,
 * which makes them anew.
 *
 * Each of their kernels has one planted fault. A line that ends in "//! KIND" is where check mode
 * must find it, and nowhere else; `//! KIND?` may come besides, and so may a race's other end.
 * test_corpora.py runs each file in one process and compares. Blocks run in order there, so a fault
 * shows although the result is often right.
 */
#ifndef SIMT_TESTS_FAULTS_CUH
#define SIMT_TESTS_FAULTS_CUH

#include "tap.cuh"

static float *f, *g;
static int *n;

static void next_case() { /* a kernel that died leaves the device unusable */
    cudaDeviceReset();
    cudaMalloc(&f, 4096 * sizeof *f);
    cudaMalloc(&g, 4096 * sizeof *g);
    cudaMalloc(&n, 4096 * sizeof *n);
    cudaMemset(f, 0, 4096 * sizeof *f);
    cudaMemset(g, 0, 4096 * sizeof *g);
    cudaMemset(n, 0, 4096 * sizeof *n);
}
#define RUN(...)                                                                                   \
    next_case();                                                                                   \
    __VA_ARGS__
template <class T> static T *small(size_t count) {
    T *p;
    cudaMalloc(&p, count * sizeof(T));
    cudaMemset(p, 0, count * sizeof(T));
    return p;
}
template <class T> static T *freed(size_t count) {
    T *p = small<T>(count);
    cudaFree(p);
    return p;
}
template <class T> static T *unwritten(size_t count, size_t written) {
    T *p;
    cudaMalloc(&p, count * sizeof(T));
    cudaMemset(p, 0, written * sizeof(T));
    return p;
}

#endif
