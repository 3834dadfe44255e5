/* gpu_driver.h: runs kernels on a CUDA device through the driver, which is loaded at run time.
 *
 * For `make gpu-check` and lab 03's grading on a card: modules, memory, launches, event times, and
 * matrix products by cuBLAS for comparison. Nothing is linked: without libcuda the program
 * starts, and gpu_open fails with the reason. SERVELAB_LIBCUDA and SERVELAB_LIBCUBLAS name other
 * libraries (a dry run's are on the CPU). Every function returns 0, or -1 and *e with the call and
 * the driver's message. So far it has only been run with stand-in libraries, never with a GPU.
 */
#ifndef SERVELAB_BACKEND_GPU_DRIVER_H
#define SERVELAB_BACKEND_GPU_DRIVER_H

#include "backend/launch.h"

#include <stdbool.h>

typedef unsigned long long gpu_pointer;
typedef void *gpu_function, *gpu_event;

struct gpu_about {
    char name[128];
    int driver; /* 12040 is 12.4 */
    int compute_major, compute_minor;
    bool cublas; /* the two products work */
};

/* Device 0. */
int gpu_open(struct gpu_about *about, struct err *e);

/* A function of a cubin or fatbin file. */
int gpu_load(const char *path, const char *function, gpu_function *out, struct err *e);

int gpu_alloc(gpu_pointer *out, size_t bytes, struct err *e);
int gpu_free(gpu_pointer p, struct err *e);
int gpu_upload(gpu_pointer to, const void *from, size_t bytes, struct err *e);
int gpu_download(void *to, gpu_pointer from, size_t bytes, struct err *e);
/* These two return before the work is done. */
int gpu_fill(gpu_pointer to, unsigned char value, size_t bytes, struct err *e);
int gpu_copy(gpu_pointer to, gpu_pointer from, size_t bytes, struct err *e);

/* Returns before the kernel is done. args: one pointer a parameter. */
int gpu_launch(gpu_function f, const struct launch_shape *s, void **args, struct err *e);
/* C = A B in float, row-major (m, n) = (m, k) (k, n); returns before it is done. */
int gpu_sgemm(gpu_pointer c, gpu_pointer a, gpu_pointer b, int m, int n, int k, struct err *e);
/* The same of bf16 matrices, summed in float. */
int gpu_gemm_bf16(gpu_pointer c, gpu_pointer a, gpu_pointer b, int m, int n, int k, struct err *e);
int gpu_wait(struct err *e);

int gpu_event_create(gpu_event *out, struct err *e);
int gpu_event_record(gpu_event ev, struct err *e);
/* After gpu_wait: milliseconds from a to b. */
int gpu_event_ms(gpu_event a, gpu_event b, float *ms, struct err *e);

#endif
