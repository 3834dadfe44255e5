/* start.cuh: starts a kernel on the backend's stream.
 *
 *     START(rmsnorm, out, residual, x, weight, rows, d, eps);
 *
 * starts a kernel of lab 03, with the prototype of backend/kernels.h. Its launch shape comes from
 * its launch.json: the int32_t arguments are the sizes that kernel_spec.h names. START_FLAT starts
 * a kernel of extra.cuh with one thread for each of `threads` pieces of work. Both return -1 from
 * the calling function on failure, with *e filled, and want `b` and `e` in it.
 */
#ifndef SERVELAB_BACKEND_CUDA_START_CUH
#define SERVELAB_BACKEND_CUDA_START_CUH

#include "backend/cuda/state.cuh"

extern "C" {
#include "backend/launch.h"
}

#define START(kernel, ...)      TRY(start(b, #kernel, kernel, e, __VA_ARGS__))
#define START_FLAT(kernel, ...) TRY(start_flat(b, #kernel, kernel, e, __VA_ARGS__))

/* The shape of a kernel for the values of its parameters, 0 for those that aren't int32_t.
 * (start.cu) */
int start_shape(const char *kernel, const int64_t *value, struct launch_shape *out, struct err *e);
/* Is the kernel the learner's? (start.cu) */
bool start_is_mine(const char *kernel);
int start_failed(const char *kernel, cudaError_t status, struct err *e);

static inline int64_t size_value(int32_t v) {
    return v;
}
template <class T> static inline int64_t size_value(T) {
    return 0;
}

/* P comes from the kernel alone; arguments convert to it as in a call. */
template <class T> struct as_is { typedef T type; };

template <class... P>
static int start_with(struct cuda_backend *b, const char *name, void (*kernel)(P...),
                      const struct launch_shape &s, struct err *e, P... p) {
    void *args[] = {(void *)&p...};
    dim3 grid(s.grid[0], s.grid[1], s.grid[2]), block(s.block[0], s.block[1], s.block[2]);
    cudaError_t status =
        cudaLaunchKernel((const void *)kernel, grid, block, args, s.shared_bytes, b->stream);
    return status == cudaSuccess ? 0 : start_failed(name, status, e);
}

template <class... P>
static int start(struct cuda_backend *b, const char *name, void (*kernel)(P...), struct err *e,
                 typename as_is<P>::type... p) {
    const int64_t value[] = {size_value(p)...};
    struct launch_shape s;
    TRY(start_shape(name, value, &s, e));
    return start_with<P...>(b, name, kernel, s, e, p...);
}

/* Starts a kernel of no launch.json with this shape. */
template <class... P>
static int start_shaped(struct cuda_backend *b, const char *name, void (*kernel)(P...),
                        const struct launch_shape &s, struct err *e, typename as_is<P>::type... p) {
    return start_with<P...>(b, name, kernel, s, e, p...);
}

template <class... P>
static int start_flat(struct cuda_backend *b, const char *name, void (*kernel)(P...), struct err *e,
                      int64_t threads, typename as_is<P>::type... p) {
    struct launch_shape s = {{(uint32_t)((threads + 255) / 256), 1, 1}, {256, 1, 1}, 0};
    return start_with<P...>(b, name, kernel, s, e, p...);
}

#endif
