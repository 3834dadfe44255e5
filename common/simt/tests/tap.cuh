/* tap.cuh: what the .cu programs of these tests share: TAP lines and device copies. */
#ifndef SIMT_TESTS_TAP_CUH
#define SIMT_TESTS_TAP_CUH

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

static int tap_count, tap_failed;

#define TAP(condition, ...)                                                                        \
    do {                                                                                           \
        bool good_ = (condition);                                                                  \
        tap_failed += !good_;                                                                      \
        printf("%sok %d - ", good_ ? "" : "not ", ++tap_count);                                    \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        fflush(stdout);                                                                            \
    } while (0)

template <class T> T *device_copy(const std::vector<T> &v) {
    T *p = nullptr;
    if (cudaMalloc(&p, v.size() * sizeof(T)) != cudaSuccess) abort();
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
template <class T> T *device_filled(size_t n, int byte) {
    T *p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) abort();
    cudaMemset(p, byte, n * sizeof(T));
    return p;
}
template <class T> std::vector<T> host_copy(const T *p, size_t n) {
    std::vector<T> v(n);
    if (cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost) != cudaSuccess) abort();
    return v;
}

#endif
