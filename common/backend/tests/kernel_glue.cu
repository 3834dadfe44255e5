/* kernel_glue.cu: memory and the launch of one kernel, -DKERNEL_NAME=rmsnorm. See kernel_glue.h.
 *
 * The arguments' types come from the kernel's own declaration, so that one launch line serves every
 * kernel. */
#include <cuda_runtime.h>
#include <utility>

#include "backend/kernels.h"
#include "backend/launch.h"
#include "kernel_glue.h"

static const char *said(cudaError_t status) {
    return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

const char *glue_alloc(void **device, size_t bytes) {
    return said(cudaMalloc(device, bytes));
}
const char *glue_free(void *device) {
    return said(cudaFree(device));
}
const char *glue_upload(void *device, const void *host, size_t bytes) {
    return said(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}
const char *glue_download(void *host, const void *device, size_t bytes) {
    return said(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

template <class... A, size_t... I>
static void launch(void (*)(A...), const launch_shape *s, void **args, std::index_sequence<I...>) {
    dim3 grid(s->grid[0], s->grid[1], s->grid[2]), block(s->block[0], s->block[1], s->block[2]);
    KERNEL_NAME<<<grid, block, s->shared_bytes>>>(*static_cast<A *>(args[I])...);
}

template <class... A> static void launch_all(void (*k)(A...), const launch_shape *s, void **args) {
    launch(k, s, args, std::index_sequence_for<A...>());
}

const char *glue_launch(const struct launch_shape *shape, void **args) {
    launch_all(KERNEL_NAME, shape, args);
    cudaError_t status = cudaGetLastError();
    return said(status != cudaSuccess ? status : cudaDeviceSynchronize());
}
