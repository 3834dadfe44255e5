/* cuda_runtime_api.h: the part of the CUDA runtime's host interface that simt has; C and C++.
 *
 * Work of the default stream is done when the call returns. Work of a stream of cudaStreamCreate is
 * done when the program waits for it (cudaStreamSynchronize, an event, cudaDeviceSynchronize), so
 * that a missing wait shows. Textures, peer access, IPC and graphs made by hand are absent from
 * this header, so that the compiler names their use.
 */
#ifndef SIMT_CUDA_RUNTIME_API_H
#define SIMT_CUDA_RUNTIME_API_H
#define __DRIVER_TYPES_H__ /* as cuda_runtime.h has __CUDA_RUNTIME_H__ */

#include "vector_types.h"

#define CUDART_VERSION 12000

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidDevicePointer = 17,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorAssert = 710,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorUnknown = 999
} cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
typedef void (*cudaHostFn_t)(void *userData);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);

#define cudaStreamDefault        0
#define cudaStreamNonBlocking    1
#define cudaStreamLegacy         ((cudaStream_t)1)
#define cudaStreamPerThread      ((cudaStream_t)2)
#define cudaEventDefault         0
#define cudaEventBlockingSync    1
#define cudaEventDisableTiming   2
#define cudaHostAllocDefault     0
#define cudaHostAllocPortable    1
#define cudaHostAllocMapped      2
#define cudaHostRegisterDefault  0
#define cudaHostRegisterPortable 1
#define cudaHostRegisterMapped   2
#define cudaMemAttachGlobal      1
#define cudaOccupancyDefault     0

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxL1 = 0,
    cudaSharedmemCarveoutMaxShared = 100
};
enum cudaFuncCache {
    cudaFuncCachePreferNone,
    cudaFuncCachePreferShared,
    cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaComputeMode { cudaComputeModeDefault = 0, cudaComputeModeProhibited = 2 };
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor,
        sharedMemPerBlockOptin;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate,
        major, minor, multiProcessorCount, memoryClockRate, memoryBusWidth, l2CacheSize,
        maxThreadsPerMultiProcessor, concurrentKernels, unifiedAddressing, managedMemory,
        integrated, canMapHostMemory, ECCEnabled, regsPerMultiprocessor;
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
#ifndef __cplusplus
typedef struct cudaDeviceProp cudaDeviceProp;
typedef struct cudaPointerAttributes cudaPointerAttributes;
typedef enum cudaMemcpyKind cudaMemcpyKind;
#endif

#ifdef __cplusplus
extern "C" {
#define SIMT_DEFAULT(x) = x
#else
#define SIMT_DEFAULT(x)
#endif

/* errors: cudaGetLastError clears the error that it returns, except after a kernel failed */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);

/* device */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

/* memory */
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags SIMT_DEFAULT(1));
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                         size_t width_bytes, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t width_bytes, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemset(void *p, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width_bytes, size_t height);
cudaError_t cudaMemcpyToSymbol_(const void *symbol, const void *src, size_t bytes, size_t offset,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol_(void *dst, const void *symbol, size_t bytes, size_t offset,
                                  enum cudaMemcpyKind kind);
cudaError_t cudaGetSymbolAddress_(void **p, const void *symbol);
cudaError_t cudaGetSymbolSize_(size_t *bytes, const void *symbol);

/* streams and events */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags SIMT_DEFAULT(0));
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

/* graphs: between BeginCapture and EndCapture the stream's work is kept, not done. Waiting for a
 * stream that captures, and copies from or to pageable host memory, are refused. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags SIMT_DEFAULT(0));
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

/* launches. `function` is the kernel itself; args holds one pointer a parameter. */
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                             size_t shared_bytes, cudaStream_t stream);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attr, int value);
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config);
/* Occupancy as the launch limits alone give it (threads and shared memory; registers unknown). */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t dynamic_bytes);

/* Not CUDA's, for harnesses in C: the kernel of that name, NULL if the program has none. */
const void *simt_find_kernel(const char *name);
/* 1 in a program built with --check. */
int simt_checking(void);
/* In a program built with --check: starts the tool that finds source lines, for a program that can
 * start none later. */
void simt_check_prepare(void);
/* In a program built with --check: which bytes of an allocation the last launch was counted to have
 * read, or written. Sets a bit for each in bits, (bytes + 7) / 8 of them, which the caller has
 * zeroed: byte i is bit i % 8 of bits[i / 8]. p is what cudaMalloc returned. */
void simt_check_counted(const void *p, size_t bytes, int write, unsigned char *bits);

#ifdef __cplusplus
}
#endif

#endif
