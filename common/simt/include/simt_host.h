/* simt_host.h: the templates that CUDA's host interface adds in C++. */
#ifndef SIMT_HOST_H
#define SIMT_HOST_H

template <class T> static inline cudaError_t cudaMalloc(T **p, size_t bytes) {
    return cudaMalloc((void **)p, bytes);
}
template <class T>
static inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync((void **)p, bytes, stream);
}
template <class T>
static inline cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned flags = 1) {
    return cudaMallocManaged((void **)p, bytes, flags);
}
template <class T> static inline cudaError_t cudaMallocHost(T **p, size_t bytes) {
    return cudaMallocHost((void **)p, bytes);
}
template <class T> static inline cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned flags) {
    return cudaHostAlloc((void **)p, bytes, flags);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbol_((const void *)&symbol, src, bytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t bytes,
                                                  size_t offset, cudaMemcpyKind kind,
                                                  cudaStream_t = 0) {
    return cudaMemcpyToSymbol_((const void *)&symbol, src, bytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t bytes,
                                               size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpyFromSymbol_(dst, (const void *)&symbol, bytes, offset, kind);
}
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **p, const T &symbol) {
    return cudaGetSymbolAddress_(p, (const void *)&symbol);
}
template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
    return cudaGetSymbolSize_(bytes, (const void *)&symbol);
}
template <class... P>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attr,
                                               int value) {
    return cudaFuncSetAttribute((const void *)kernel, attr, value);
}
template <class... P>
static inline cudaError_t cudaFuncSetCacheConfig(void (*kernel)(P...), cudaFuncCache config) {
    return cudaFuncSetCacheConfig((const void *)kernel, config);
}
template <class... P>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int threads,
                                              size_t dynamic_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel, threads,
                                                         dynamic_bytes);
}
/* As many threads a block as a launch may have, and as many blocks as then run at once. */
template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, T kernel,
                                                             size_t dynamic_bytes = 0,
                                                             int limit = 0) {
    int each = 0, processors = 0;
    *threads = limit > 0 && limit < 1024 ? limit : 1024;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, (const void *)kernel,
                                                                  *threads, dynamic_bytes);
    *blocks = each * processors;
    return e;
}
template <class... P>
static inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **args,
                                           size_t shared_bytes = 0, cudaStream_t stream = 0) {
    return cudaLaunchKernel((const void *)kernel, grid, block, args, shared_bytes, stream);
}

#endif
