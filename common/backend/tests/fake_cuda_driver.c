/* fake_cuda_driver.c: replaces libcuda.so, cuBLAS and NVML with the CPU runtime of simtcc, for
 * `make gpu-check DRY=1` and the grader's tests. Has the functions that gpu_driver.c uses. Built as
 * one shared object, with kernels or without. A module's file may be a shared object of simtcc with
 * kernels; a file that doesn't exist means the kernels in this object.
 *
 * Event times come from a clock that only work advances: a launch takes 100 us, copies 1000
 * GB/s, products 10000 GFLOP/s. FAKE_CUDA changes launches of modules but those called reference_*:
 * a number of us; "noisy"; "fail", a launch that fails.
 */
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long CUdeviceptr;
#define DEVICE(p) ((void *)(uintptr_t)(p))

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    return flags != 0;
}
int cuGetErrorString(int status, const char **message);
int cuGetErrorString(int status, const char **message) {
    *message = cudaGetErrorString((cudaError_t)status);
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
    *value = attribute == 75 ? 8 : 0; /* 8.0 */
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

static double clock_us;

typedef const void *find_fn(const char *name);
typedef int launch_fn(const void *kernel, const unsigned shape[7], void **args);

/* The interface of a module's shared object for the driver that loads it. This file is linked to
 * the module too, because its runtime's functions are hidden. */
find_fn fake_find;
launch_fn fake_launch;
const void *fake_find(const char *name) {
    return simt_find_kernel(name);
}
int fake_launch(const void *kernel, const unsigned s[7], void **args) {
    cudaError_t status =
        cudaLaunchKernel(kernel, (dim3){s[0], s[1], s[2]}, (dim3){s[3], s[4], s[5]}, args, s[6], 0);
    return status ? status : cudaDeviceSynchronize();
}

struct module {
    find_fn *find;
    launch_fn *launch;
    int reference;
};
struct function {
    struct module *module;
    const void *kernel;
};

int cuModuleLoad(void **module, const char *path);
int cuModuleLoad(void **module, const char *path) {
    struct module *m = calloc(1, sizeof *m);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *module = m;
    if (!m || (!lib && access(path, F_OK) == 0)) return 200; /* an invalid image */
    m->reference = strstr(path, "/reference_") != NULL;
    m->find = lib ? (find_fn *)dlsym(lib, "fake_find") : fake_find;
    m->launch = lib ? (launch_fn *)dlsym(lib, "fake_launch") : fake_launch;
    return !m->find || !m->launch ? 200 : 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name) {
    struct function *f = calloc(1, sizeof *f);
    *function = f;
    if (!f) return 2;
    *f = (struct function){module, ((struct module *)module)->find(name)};
    return f->kernel == NULL;
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
    clock_us += 2e-6 * (double)bytes;
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
    static int launches;
    const struct function *f = function;
    const char *mode = f->module->reference ? NULL : getenv("FAKE_CUDA");
    (void)stream;
    if (extra) return cudaErrorInvalidValue;
    if (mode && !strcmp(mode, "fail")) return 700; /* an illegal address */
    clock_us += !mode ? 100 : !strcmp(mode, "noisy") ? 60 + 40 * (launches++ % 3) : atof(mode);
    return f->module->launch(f->kernel, (unsigned[]){gx, gy, gz, bx, by, bz, shared_bytes}, args);
}
int cuEventCreate(void **event, unsigned flags);
int cuEventCreate(void **event, unsigned flags) {
    *event = calloc(1, sizeof clock_us);
    return flags != 0 || !*event;
}
int cuEventRecord(void *event, void *stream);
int cuEventRecord(void *event, void *stream) {
    (void)stream;
    *(double *)event = clock_us;
    return 0;
}
int cuEventElapsedTime(float *ms, void *a, void *b);
int cuEventElapsedTime(float *ms, void *a, void *b) {
    *ms = (float)((*(double *)b - *(double *)a) / 1000);
    return 0;
}

/* cuBLAS, column-major, nothing transposed; its matrices are in memory that the host can read. */
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
    clock_us += 2e-7 * m * n * k;
    for (int col = 0; col < n; col++)
        for (int row = 0; row < m; row++) {
            float sum = 0;
            for (int i = 0; i < k; i++) sum += a[i * lda + row] * b[col * ldb + i];
            c[col * ldc + row] = sum;
        }
    return 0;
}

static float bf16_value(const unsigned short *p) {
    unsigned bits = (unsigned)*p << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
/* All three matrices are bf16 (type 14), the sums float (68). */
int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                 const unsigned short *a, int type_a, int lda, const unsigned short *b, int type_b,
                 int ldb, const float *beta, unsigned short *c, int type_c, int ldc, int compute,
                 int algorithm);
int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                 const unsigned short *a, int type_a, int lda, const unsigned short *b, int type_b,
                 int ldb, const float *beta, unsigned short *c, int type_c, int ldc, int compute,
                 int algorithm) {
    if (!handle || ta || tb || *alpha != 1 || *beta != 0 || type_a != 14 || type_b != 14 ||
        type_c != 14 || compute != 68 || algorithm != -1)
        return 1;
    clock_us += 2e-8 * m * n * k;
    for (int col = 0; col < n; col++)
        for (int row = 0; row < m; row++) {
            float sum = 0;
            for (int i = 0; i < k; i++)
                sum += bf16_value(&a[i * lda + row]) * bf16_value(&b[col * ldb + i]);
            unsigned bits;
            memcpy(&bits, &sum, sizeof bits);
            c[col * ldc + row] = (unsigned short)(bits >> 16);
        }
    return 0;
}

/* NVML's energy counter of the one device: a constant 300 W by the machine's clock. */
int nvmlInit_v2(void);
int nvmlInit_v2(void) {
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 1;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = &clock_us;
    return index ? 2 : 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = &clock_us;
    return strncmp(uuid, "GPU-", 4) ? 2 : 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *millijoules = 300ull * ((unsigned long long)t.tv_sec * 1000 + (unsigned)t.tv_nsec / 1000000);
    return device == NULL;
}
