/* device.c: the rest of the host interface: properties, names of errors. Streams: stream.c. */
#include "block.h"
#include "fault.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

long long simt_clock(void);
long long simt_clock(void) {
    return now_ns();
} /* clock64() */

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
};

static int error_index(int code) {
    int n = (int)(sizeof errors / sizeof *errors), i = 0;
    while (i < n && errors[i].code != code) i++;
    return i < n ? i : -1;
}

const char *cudaGetErrorName(cudaError_t error) {
    int i = error_index(error);
    return i < 0 ? "cudaErrorUnknown" : errors[i].name;
}

const char *cudaGetErrorString(cudaError_t error) {
    int i = error_index(error);
    return i < 0 ? "unknown error" : errors[i].text;
}

/* ---- device --------------------------------------------------------------------------------- */
cudaError_t cudaGetDeviceCount(int *count) {
    int fault = fault_in("cudaGetDeviceCount");
    *count = !fault;
    return (cudaError_t)fault;
}

cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : memory_error(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) {
    if (device != 0) return memory_error(cudaErrorInvalidDevice);
    size_t unused, total;
    cudaMemGetInfo(&unused, &total);
    *prop = (struct cudaDeviceProp){.name = "simt (CUDA C on the CPU)",
                                    .totalGlobalMem = total,
                                    .sharedMemPerBlock = SHARED_DEFAULT_BYTES,
                                    .sharedMemPerBlockOptin = SHARED_OPTIN_BYTES,
                                    .sharedMemPerMultiprocessor = SHARED_OPTIN_BYTES + 1024,
                                    .totalConstMem = 65536,
                                    .regsPerBlock = 65536,
                                    .regsPerMultiprocessor = 65536,
                                    .warpSize = WARP,
                                    .maxThreadsPerBlock = MAX_THREADS,
                                    .maxThreadsDim = {1024, 1024, 64},
                                    .maxGridSize = {2147483647, 65535, 65535},
                                    .clockRate = 1000000,
                                    .major = 9,
                                    .minor = 0,
                                    .memoryClockRate = 1000000,
                                    .memoryBusWidth = 64,
                                    .l2CacheSize = 4 << 20,
                                    .maxThreadsPerMultiProcessor = 2048,
                                    .unifiedAddressing = 1,
                                    .managedMemory = 1,
                                    .integrated = 1,
                                    .canMapHostMemory = 1};
    prop->multiProcessorCount = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device) {
    struct cudaDeviceProp p = {0};
    cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (e != cudaSuccess) return e;
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = p.maxThreadsPerBlock;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = (int)p.sharedMemPerBlock;
        break;
    case cudaDevAttrWarpSize:
        *value = p.warpSize;
        break;
    case cudaDevAttrClockRate:
        *value = p.clockRate;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = p.multiProcessorCount;
        break;
    case cudaDevAttrIntegrated:
        *value = p.integrated;
        break;
    case cudaDevAttrComputeMode:
        *value = cudaComputeModeDefault;
        break;
    case cudaDevAttrMemoryClockRate:
        *value = p.memoryClockRate;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = p.memoryBusWidth;
        break;
    case cudaDevAttrL2CacheSize:
        *value = p.l2CacheSize;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = p.maxThreadsPerMultiProcessor;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = p.major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = p.minor;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = (int)p.sharedMemPerMultiprocessor;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)p.sharedMemPerBlockOptin;
        break;
    default:
        return memory_error(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    return cudaDriverGetVersion(version);
}
cudaError_t cudaProfilerStart(void) {
    return cudaSuccess;
}
cudaError_t cudaProfilerStop(void) {
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
    (void)config;
    return function ? cudaSuccess : memory_error(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t dynamic_bytes) {
    if (!function || threads < 1 || threads > MAX_THREADS)
        return memory_error(cudaErrorInvalidValue);
    int by_threads = 2048 / ((threads + WARP - 1) / WARP * WARP);
    size_t by_shared = dynamic_bytes ? (SHARED_OPTIN_BYTES + 1024) / (dynamic_bytes + 1024) : 32;
    *blocks = by_threads < 32 ? by_threads : 32;
    if (by_shared < (size_t)*blocks) *blocks = (int)by_shared;
    return cudaSuccess;
}
