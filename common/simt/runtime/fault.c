/* fault.c: SIMT_FAIL=CALL:N:ERROR makes the N-th call of a function of the CUDA runtime fail. */
#include "fault.h"
#include "memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char call_name[64];
static int at, error;
static _Atomic int calls;

/* The calls that ask fault_in. */
static const char *const covered[] = {"cudaGetDeviceCount",   "cudaMalloc",
                                      "cudaMallocHost",       "cudaMemGetInfo",
                                      "cudaMemcpyAsync",      "cudaMemsetAsync",
                                      "cudaLaunchKernel",     "cudaStreamSynchronize",
                                      "cudaEventSynchronize", "cudaStreamBeginCapture",
                                      "cudaStreamEndCapture", "cudaGraphInstantiate",
                                      "cudaGraphLaunch",      "cublasGemmEx",
                                      "cublasLtMatmul"};

static void check_name(void) {
    enum { N = sizeof covered / sizeof *covered };
    for (int i = 0; i < N; i++)
        if (!strcmp(call_name, covered[i])) return;
    fprintf(stderr, "simt: SIMT_FAIL: %s can't be made to fail; these can:", call_name);
    for (int i = 0; i < N; i++) fprintf(stderr, " %s", covered[i]);
    fputc('\n', stderr);
    _exit(2);
}

static void read_fault(void) {
    const char *text = getenv("SIMT_FAIL");
    int end = 0;
    if (!text || !*text) return;
    if (sscanf(text, "%63[A-Za-z0-9]:%d:%d%n", call_name, &at, &error, &end) == 3 && !text[end]) {
        check_name();
        return;
    }
    fprintf(stderr, "simt: SIMT_FAIL=%s is not CALL:N:ERROR, as in cudaMalloc:3:2\n", text);
    _exit(2);
}

int fault_in(const char *call) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_fault);
    if (!at || strcmp(call, call_name) != 0 || ++calls != at) return cudaSuccess;
    return memory_error(error);
}
