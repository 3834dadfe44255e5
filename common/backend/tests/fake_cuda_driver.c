/* fake_cuda_driver.c: the driver's functions that gpu_driver.c uses, over the CPU runtime of
 * simtcc: what `make gpu-check DRY=1` loads in place of libcuda.so and of cuBLAS. Built as one
 * shared object with all kernels, so a module's file is never read; only its function's name
 * counts. Event times are those of the CPU and mean nothing.
 */
#include <cuda_runtime_api.h>

#include <stdio.h>

typedef unsigned long long CUdeviceptr;
#define DEVICE(p) ((void *)(uintptr_t)(p))

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    return flags != 0;
}
int cuGetErrorString(int status, const char **said);
int cuGetErrorString(int status, const char **said) {
    *said = cudaGetErrorString((cudaError_t)status);
    return 0;
}
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal != 0;
}
int cuDeviceGetName(char *name, int cap, int device);
int cuDeviceGetName(char *name, int cap, int device) {
    snprintf(name, (size_t)cap, "CPU (dry run)");
    return device != 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = 0;
    return attribute < 75 || attribute > 76 || device != 0;
}
int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    *version = 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device) {
    static int only;
    *context = &only;
    return device != 0;
}
int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context) {
    return context == NULL;
}
int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
    return cudaDeviceSynchronize();
}
int cuModuleLoad(void **module, const char *path);
int cuModuleLoad(void **module, const char *path) {
    *module = module;
    return path[0] == 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = (void *)(uintptr_t)simt_find_kernel(name);
    return *function == NULL || module == NULL;
}
int cuMemAlloc_v2(CUdeviceptr *p, size_t bytes);
int cuMemAlloc_v2(CUdeviceptr *p, size_t bytes) {
    void *device = NULL;
    cudaError_t status = cudaMalloc(&device, bytes);
    *p = (CUdeviceptr)(uintptr_t)device;
    return status;
}
int cuMemFree_v2(CUdeviceptr p);
int cuMemFree_v2(CUdeviceptr p) {
    return cudaFree(DEVICE(p));
}
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    return cudaMemcpy(DEVICE(to), from, bytes, cudaMemcpyHostToDevice);
}
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return cudaMemcpy(to, DEVICE(from), bytes, cudaMemcpyDeviceToHost);
}
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *stream) {
    (void)stream;
    return cudaMemcpy(DEVICE(to), DEVICE(from), bytes, cudaMemcpyDeviceToDevice);
}
int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, void *stream);
int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, void *stream) {
    (void)stream;
    return cudaMemset(DEVICE(to), value, bytes);
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared_bytes, void *stream, void **args, void **extra);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared_bytes, void *stream, void **args, void **extra) {
    (void)stream;
    if (extra) return cudaErrorInvalidValue;
    return cudaLaunchKernel(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, args, shared_bytes,
                            0);
}
int cuEventCreate(void **event, unsigned flags);
int cuEventCreate(void **event, unsigned flags) {
    return cudaEventCreateWithFlags((cudaEvent_t *)event, flags);
}
int cuEventRecord(void *event, void *stream);
int cuEventRecord(void *event, void *stream) {
    (void)stream;
    return cudaEventRecord((cudaEvent_t)event, 0);
}
int cuEventElapsedTime(float *ms, void *a, void *b);
int cuEventElapsedTime(float *ms, void *a, void *b) {
    return cudaEventElapsedTime(ms, (cudaEvent_t)a, (cudaEvent_t)b);
}

/* cuBLAS, column-major, nothing transposed; its matrices lie where a host may read them. */
int cublasCreate_v2(void **handle);
int cublasCreate_v2(void **handle) {
    *handle = handle;
    return 0;
}
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                   int ldc);
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                   int ldc) {
    if (!handle || ta || tb || *alpha != 1 || *beta != 0) return 1;
    for (int col = 0; col < n; col++)
        for (int row = 0; row < m; row++) {
            float sum = 0;
            for (int i = 0; i < k; i++) sum += a[i * lda + row] * b[col * ldb + i];
            c[col * ldc + row] = sum;
        }
    return 0;
}
