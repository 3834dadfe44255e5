/* kernel_glue_simt.c: kernel_glue.h on the CPU. */
#include "kernel_glue.h"

#include <cuda_runtime_api.h>

static const void *opened;

static const char *message(cudaError_t status) {
    return status == cudaSuccess ? NULL : cudaGetErrorString(status);
}

const char *glue_open(const char *kernel) {
    opened = simt_find_kernel(kernel);
    return opened ? NULL : "the program has no kernel of this name";
}
const char *glue_alloc(void **device, size_t bytes) {
    return message(cudaMalloc(device, bytes));
}
const char *glue_free(void *device) {
    return message(cudaFree(device));
}
const char *glue_upload(void *device, const void *host, size_t bytes) {
    return message(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}
const char *glue_download(void *host, const void *device, size_t bytes) {
    return message(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

const char *glue_launch(const struct launch_shape *s, void **args) {
    dim3 grid = {s->grid[0], s->grid[1], s->grid[2]};
    dim3 block = {s->block[0], s->block[1], s->block[2]};
    cudaError_t status = cudaLaunchKernel(opened, grid, block, args, s->shared_bytes, 0);
    return message(status != cudaSuccess ? status : cudaDeviceSynchronize());
}
