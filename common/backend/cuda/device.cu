/* device.cu: errors of CUDA calls, the plan of the device's memory, opening and closing. */
#include "backend/cuda/state.cuh"

#include <stdlib.h>
#include <string.h>

enum { BLAS_SPACE = 32 << 20 }; /* what NVIDIA recommends for sm_90 */

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *next_step(cudaError_t status) {
    switch (status) {
    case cudaErrorMemoryAllocation:
        return "ask for less: --kv-blocks, --max-batch, --token-budget, --context";
    case cudaErrorInsufficientDriver:
        return "install a driver at least as new as the CUDA toolkit; `nvidia-smi` shows both";
    case cudaErrorNoDevice:
        return "`nvidia-smi` lists the devices; --backend cpu needs none";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
        return "restart the server: the device is lost to this one";
    default:
        return "`nvidia-smi` shows the device's state";
    }
}

int cuda_failed(struct err *e, cudaError_t status, const char *call) {
    return err_set(e, "%.140s failed: %s (%s); %s", call, cudaGetErrorName(status),
                   cudaGetErrorString(status), next_step(status));
}

int blas_failed(struct err *e, cublasStatus_t status, const char *call) {
    return err_set(e, "%.140s failed: %s; %s", call, cublasGetStatusString(status),
                   next_step(cudaPeekAtLastError()));
}

/* ---- memory ---------------------------------------------------------------------------------- */

int memory_take(struct cuda_backend *b, enum memory_use use, void **p, int64_t bytes,
                struct err *e) {
    struct memory *m = &b->memory;
    bytes = (bytes + 511) / 512 * 512; /* cudaMalloc's step */
    *p = NULL;
    if (!m->allocate) {
        m->bytes[use] += bytes;
        return 0;
    }
    void **more = (void **)realloc(m->held, (size_t)(m->n + 1) * sizeof *more);
    if (!more) return err_set(e, "out of memory");
    m->held = more;
    CUDA_TRY(cudaMalloc(p, (size_t)bytes));
    m->held[m->n++] = *p;
    return 0;
}

/* What the driver, cuBLAS and the steps of its allocations may take. */
static int64_t reserve_of(int64_t total) {
    int64_t part = total / 50, least = (int64_t)256 << 20;
    return part > least ? part : least;
}

static double gib(int64_t bytes) {
    return (double)bytes / (1 << 30);
}

int device_plan(struct cuda_backend *b, bool open_blocks, FILE *say, struct err *e) {
    struct backend_info *i = &b->base.info;
    int64_t *bytes = b->memory.bytes;
    size_t free_bytes, total_bytes;
    CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    int64_t reserve = reserve_of((int64_t)total_bytes), block = bytes[OF_KV] / i->kv_blocks;
    int64_t left = (int64_t)free_bytes - reserve - bytes[OF_WEIGHTS] - bytes[OF_WORKSPACE];
    if (open_blocks && bytes[OF_KV] > left && left >= block) {
        i->kv_blocks = (int32_t)(left / block);
        bytes[OF_KV] = i->kv_blocks * block;
    }
    if (bytes[OF_KV] > left)
        return err_set(e,
                       "the device has %.2f GiB free; weights %.2f + KV blocks %.2f + workspace "
                       "%.2f + reserve %.2f GiB are needed; ask for fewer --kv-blocks, --max-batch "
                       "or --token-budget, or for a smaller model",
                       gib((int64_t)free_bytes), gib(bytes[OF_WEIGHTS]), gib(bytes[OF_KV]),
                       gib(bytes[OF_WORKSPACE]), gib(reserve));
    if (say)
        fprintf(say,
                "servelab: device memory: weights %.3f GiB, %d KV blocks of %d tokens %.3f GiB, "
                "workspace %.3f GiB, reserve %.3f GiB, of %.3f GiB free\n",
                gib(bytes[OF_WEIGHTS]), i->kv_blocks, KV_BLOCK_TOKENS, gib(bytes[OF_KV]),
                gib(bytes[OF_WORKSPACE]), gib(reserve), gib((int64_t)free_bytes));
    return 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int device_open(struct cuda_backend *b, struct err *e) {
    int n = 0;
    CUDA_TRY(cudaGetDeviceCount(&n));
    if (n == 0) return cuda_failed(e, cudaErrorNoDevice, "cudaGetDeviceCount(&n)");
    CUDA_TRY(cudaSetDevice(0));
    CUDA_TRY(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    BLAS_TRY(cublasCreate(&b->blas));
    BLAS_TRY(cublasSetStream(b->blas, b->stream));
    CUDA_TRY(cudaEventCreate(&b->started));
    CUDA_TRY(cudaEventCreate(&b->ended));
    CUDA_TRY(cudaEventCreate(&b->last_ended));
    CUDA_TRY(cudaEventRecord(b->last_ended, b->stream));
    return 0;
}

/* An event's distance is a float of milliseconds, so the clock adds up distances between
 * neighbours: each is right to a microsecond as long as it is less than 16 s. */
int device_time(struct cuda_backend *b, struct err *e) {
    float idle_ms, step_ms;
    if (!b->timed) return 0;
    CUDA_TRY(cudaEventElapsedTime(&idle_ms, b->last_ended, b->started));
    CUDA_TRY(cudaEventElapsedTime(&step_ms, b->started, b->ended));
    b->base.device_start_ns = b->base.device_end_ns + (int64_t)(idle_ms * 1e6);
    b->base.device_end_ns = b->base.device_start_ns + (int64_t)(step_ms * 1e6);
    cudaEvent_t ended = b->ended;
    b->ended = b->last_ended;
    b->last_ended = ended;
    return 0;
}

int device_blas_space(struct cuda_backend *b, struct err *e) {
    TRY(memory_take(b, OF_WORKSPACE, &b->blas_space, BLAS_SPACE, e));
    if (b->memory.allocate) BLAS_TRY(cublasSetWorkspace(b->blas, b->blas_space, BLAS_SPACE));
    return 0;
}

void device_close(struct cuda_backend *b) {
    if (b->stream) cudaStreamSynchronize(b->stream);
    for (int32_t i = 0; b->decode && i <= b->base.info.max_seqs; i++)
        if (b->decode[i]) cudaGraphExecDestroy(b->decode[i]);
    free(b->decode);
    cudaEvent_t events[] = {b->started, b->ended, b->last_ended};
    for (int i = 0; i < 3; i++)
        if (events[i]) cudaEventDestroy(events[i]);
    if (b->blas) cublasDestroy(b->blas);
    for (int32_t i = 0; i < b->memory.n; i++) cudaFree(b->memory.held[i]);
    free(b->memory.held);
    cudaFreeHost(b->host_in.token);
    cudaFreeHost(b->host_draws.id);
    cudaFreeHost(b->host_draws.uniform);
    if (b->stream) cudaStreamDestroy(b->stream);
}
