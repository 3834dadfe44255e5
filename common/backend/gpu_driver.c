/* gpu_driver.c: loads the CUDA driver's functions by name. See gpu_driver.h.
 *
 * The prototypes are those of the driver API's versioned symbols ("_v2" where the driver has two);
 * a CUdeviceptr is an unsigned 64-bit number, handles are pointers, 0 is success.
 */
#include "backend/gpu_driver.h"

#include <dlfcn.h>
#include <stdlib.h>

static struct {
    int (*init)(unsigned);
    int (*error_string)(int, const char **);
    int (*device_get)(int *, int);
    int (*device_name)(char *, int, int);
    int (*device_attribute)(int *, int, int);
    int (*driver_version)(int *);
    int (*context_retain)(void **, int);
    int (*context_set)(void *);
    int (*synchronize)(void);
    int (*module_load)(void **, const char *);
    int (*module_function)(void **, void *, const char *);
    int (*mem_alloc)(gpu_pointer *, size_t);
    int (*mem_free)(gpu_pointer);
    int (*to_device)(gpu_pointer, const void *, size_t);
    int (*to_host)(void *, gpu_pointer, size_t);
    int (*on_device)(gpu_pointer, gpu_pointer, size_t, void *);
    int (*set)(gpu_pointer, unsigned char, size_t, void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_elapsed)(float *, void *, void *);
} cu;

static struct {
    int (*create)(void **);
    int (*sgemm)(void *, int, int, int, int, int, const float *, gpu_pointer, int, gpu_pointer, int,
                 const float *, gpu_pointer, int);
    int (*gemm_ex)(void *, int, int, int, int, int, const void *, gpu_pointer, int, int,
                   gpu_pointer, int, int, const void *, gpu_pointer, int, int, int, int);
    void *handle;
} blas;

static const struct {
    const char *name;
    void *slot;
} symbols[] = {
    {"cuInit", &cu.init},
    {"cuGetErrorString", &cu.error_string},
    {"cuDeviceGet", &cu.device_get},
    {"cuDeviceGetName", &cu.device_name},
    {"cuDeviceGetAttribute", &cu.device_attribute},
    {"cuDriverGetVersion", &cu.driver_version},
    {"cuDevicePrimaryCtxRetain", &cu.context_retain},
    {"cuCtxSetCurrent", &cu.context_set},
    {"cuCtxSynchronize", &cu.synchronize},
    {"cuModuleLoad", &cu.module_load},
    {"cuModuleGetFunction", &cu.module_function},
    {"cuMemAlloc_v2", &cu.mem_alloc},
    {"cuMemFree_v2", &cu.mem_free},
    {"cuMemcpyHtoD_v2", &cu.to_device},
    {"cuMemcpyDtoH_v2", &cu.to_host},
    {"cuMemcpyDtoDAsync_v2", &cu.on_device},
    {"cuMemsetD8Async", &cu.set},
    {"cuLaunchKernel", &cu.launch},
    {"cuEventCreate", &cu.event_create},
    {"cuEventRecord", &cu.event_record},
    {"cuEventElapsedTime", &cu.event_elapsed},
};

static int checked(int status, const char *call, struct err *e) {
    if (status == 0) return 0;
    const char *text = NULL;
    if (cu.error_string) cu.error_string(status, &text);
    return err_at(e, 0, call, "%s (error %d)", text ? text : "failed", status);
}
#define CALL(expression) checked((expression), #expression, e)

static void open_cublas(void) {
    static const char *const name[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
    const char *given = getenv("SERVELAB_LIBCUBLAS");
    void *lib = given ? dlopen(given, RTLD_NOW) : NULL;
    for (int i = 0; i < 3 && !given && !lib; i++) lib = dlopen(name[i], RTLD_NOW);
    if (!lib) return;
    *(void **)&blas.create = dlsym(lib, "cublasCreate_v2");
    *(void **)&blas.sgemm = dlsym(lib, "cublasSgemm_v2");
    *(void **)&blas.gemm_ex = dlsym(lib, "cublasGemmEx");
    if (!blas.create || !blas.sgemm || !blas.gemm_ex || blas.create(&blas.handle))
        blas.handle = NULL;
}

int gpu_open(struct gpu_about *about, struct err *e) {
    enum { COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_... */
    const char *given = getenv("SERVELAB_LIBCUDA");
    void *lib = dlopen(given ? given : "libcuda.so.1", RTLD_NOW), *context;
    int device;
    *about = (struct gpu_about){0};
    if (!lib)
        return err_set(e, "there is no CUDA driver here (%s)", given ? given : "libcuda.so.1");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *(void **)symbols[i].slot = dlsym(lib, symbols[i].name);
        if (!*(void **)symbols[i].slot)
            return err_set(e, "this CUDA driver has no %s; it is too old", symbols[i].name);
    }
    if (CALL(cu.init(0)) || CALL(cu.device_get(&device, 0)) ||
        CALL(cu.device_name(about->name, sizeof about->name, device)) ||
        CALL(cu.driver_version(&about->driver)) ||
        CALL(cu.device_attribute(&about->compute_major, COMPUTE_MAJOR, device)) ||
        CALL(cu.device_attribute(&about->compute_minor, COMPUTE_MINOR, device)) ||
        CALL(cu.context_retain(&context, device)) || CALL(cu.context_set(context)))
        return -1;
    open_cublas();
    about->cublas = blas.handle != NULL;
    return 0;
}

int gpu_load(const char *path, const char *function, gpu_function *out, struct err *e) {
    void *module;
    return CALL(cu.module_load(&module, path)) || CALL(cu.module_function(out, module, function))
               ? -1
               : 0;
}

int gpu_alloc(gpu_pointer *out, size_t bytes, struct err *e) {
    return CALL(cu.mem_alloc(out, bytes));
}
int gpu_free(gpu_pointer p, struct err *e) {
    return CALL(cu.mem_free(p));
}
int gpu_upload(gpu_pointer to, const void *from, size_t bytes, struct err *e) {
    return CALL(cu.to_device(to, from, bytes));
}
int gpu_download(void *to, gpu_pointer from, size_t bytes, struct err *e) {
    return CALL(cu.to_host(to, from, bytes));
}
int gpu_fill(gpu_pointer to, unsigned char value, size_t bytes, struct err *e) {
    return CALL(cu.set(to, value, bytes, NULL));
}
int gpu_copy(gpu_pointer to, gpu_pointer from, size_t bytes, struct err *e) {
    return CALL(cu.on_device(to, from, bytes, NULL));
}

int gpu_launch(gpu_function f, const struct launch_shape *s, void **args, struct err *e) {
    return CALL(cu.launch(f, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1],
                          s->block[2], s->shared_bytes, NULL, args, NULL));
}

int gpu_sgemm(gpu_pointer c, gpu_pointer a, gpu_pointer b, int m, int n, int k, struct err *e) {
    const float one = 1, zero = 0;
    /* column-major: the transposed product, so that C is row-major */
    if (!blas.handle || blas.sgemm(blas.handle, 0, 0, n, m, k, &one, b, n, a, k, &zero, c, n) != 0)
        return err_set(e, "cublasSgemm failed");
    return 0;
}

int gpu_gemm_bf16(gpu_pointer c, gpu_pointer a, gpu_pointer b, int m, int n, int k, struct err *e) {
    enum { R_16BF = 14, COMPUTE_32F = 68, ALGO_DEFAULT = -1 }; /* CUDA_..., CUBLAS_... */
    const float one = 1, zero = 0;
    if (!blas.handle || blas.gemm_ex(blas.handle, 0, 0, n, m, k, &one, b, R_16BF, n, a, R_16BF, k,
                                     &zero, c, R_16BF, n, COMPUTE_32F, ALGO_DEFAULT) != 0)
        return err_set(e, "cublasGemmEx failed");
    return 0;
}

int gpu_wait(struct err *e) {
    return CALL(cu.synchronize());
}
int gpu_event_create(gpu_event *out, struct err *e) {
    return CALL(cu.event_create(out, 0));
}
int gpu_event_record(gpu_event ev, struct err *e) {
    return CALL(cu.event_record(ev, NULL));
}
int gpu_event_ms(gpu_event a, gpu_event b, float *ms, struct err *e) {
    return CALL(cu.event_elapsed(ms, a, b));
}
