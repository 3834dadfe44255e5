/* order.cu: correct kernels whose order comes from atomics, fences, streams and launches. */
#include "corpus.cuh"

/* The last block to finish adds up the others' results. */
__device__ unsigned blocks_done;
__global__ void sum_in_one_launch(const int *in, int *partial, int *out, int n) {
    __shared__ int s[64];
    __shared__ bool last;
    int t = threadIdx.x, v = 0;
    for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) v += in[i];
    s[t] = v;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    if (t == 0) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b];
        *out = sum;
        blocks_done = 0;
    }
}
CASE(last_block_reduction) {
    std::vector<int> in = some<int>(1000);
    int *partial = device_filled<int>(5, 0), *out = device_filled<int>(1, 0), *x = device_copy(in);
    sum_in_one_launch<<<5, 64>>>(x, partial, out, 1000);
    bool good = host_copy(out, 1)[0] == total(in);
    sum_in_one_launch<<<3, 64>>>(x, partial, out, 500);
    return good && host_copy(out, 1)[0] < total(in);
}

/* Every thread writes and fences; after a barrier one counts the block. All of the last block read.
 */
__global__ void count_then_all_read(int *scratch, int *out, unsigned *done) {
    __shared__ unsigned ticket;
    int t = threadIdx.x, n = blockDim.x * gridDim.x;
    scratch[blockIdx.x * blockDim.x + t] = blockIdx.x + t;
    __threadfence();
    __syncthreads();
    if (t == 0) ticket = atomicInc(done, gridDim.x - 1);
    __syncthreads();
    if (ticket == gridDim.x - 1)
        for (int i = t; i < n; i += blockDim.x) out[i] = scratch[n - 1 - i];
}
CASE(fence_before_the_barrier) {
    int *scratch = nullptr, *out = device_filled<int>(256, 0);
    cudaMalloc(&scratch, 256 * sizeof(int));
    count_then_all_read<<<4, 64>>>(scratch, out, device_filled<unsigned>(1, 0));
    std::vector<int> got = host_copy(out, 256);
    bool good = true;
    for (int i = 0; i < 256; i++) good &= got[i] == (255 - i) / 64 + (255 - i) % 64;
    return good;
}

/* Each thread by itself: write, fence, count; the very last thread reads them all. */
__global__ void last_thread_sums(const int *in, int *copy, int *out, int *done, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    copy[i] = in[i] * 2;
    __threadfence();
    if (atomicAdd(done, 1) != n - 1) return;
    __threadfence();
    int sum = 0;
    for (int k = 0; k < n; k++) sum += copy[k];
    *out = sum;
}
CASE(last_thread_of_the_grid) {
    std::vector<int> in = some<int>(192);
    int *out = device_filled<int>(1, 0), *done = device_filled<int>(1, 0);
    last_thread_sums<<<3, 64>>>(device_copy(in), device_filled<int>(192, 0), out, done, 192);
    return host_copy(out, 1)[0] == 2 * total(in);
}

/* The same inside of a block: the last warp to finish adds up, with no barrier at all. */
__global__ void last_warp_sums(const int *in, int *out) {
    __shared__ int part[4], finished;
    int t = threadIdx.x, v = in[t];
    if (t == 0) finished = 0;
    __syncthreads();
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (t % 32 == 0) {
        part[t / 32] = v;
        __threadfence_block();
        if (atomicAdd(&finished, 1) == 3) {
            __threadfence_block();
            *out = part[0] + part[1] + part[2] + part[3];
        }
    }
}
CASE(last_warp_of_the_block) {
    std::vector<int> in = some<int>(128);
    int *out = device_filled<int>(1, 0);
    last_warp_sums<<<1, 128>>>(device_copy(in), out);
    return host_copy(out, 1)[0] == total(in);
}

/* Warps instead of threads: all lanes write, __syncwarp, one fences and counts for all; the last
 * warp of the grid reads, which its leader publishes with another __syncwarp. */
__global__ void last_warp_reads(const int *in, int *box, int *out, int *done, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, ticket = 0;
    box[i] = 3 * in[i];
    __syncwarp();
    if (lane == 0) {
        __threadfence();
        ticket = atomicAdd(done, 1);
        __threadfence();
    }
    ticket = __shfl_sync(0xffffffffu, ticket, 0);
    __syncwarp();
    if (ticket != n / 32 - 1) return;
    int sum = 0;
    for (int k = lane; k < n; k += 32) sum += box[k];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane == 0) *out = sum;
}
CASE(last_warp_of_the_grid) {
    std::vector<int> in = some<int>(256);
    int *out = device_filled<int>(1, 0), *done = device_filled<int>(1, 0);
    last_warp_reads<<<2, 128>>>(device_copy(in), device_filled<int>(256, 0), out, done, 256);
    return host_copy(out, 1)[0] == 3 * total(in);
}

__global__ void many_atomics(int *x) {
    __shared__ int low, high;
    if (threadIdx.x == 0) low = 1 << 30, high = -1;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMin(&low, i), atomicMax(&high, i);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&x[0], high - low), atomicMax(&x[1], high);
    atomicOr(&x[2], 1 << i % 31);
    atomicXor(&x[3], i);
    atomicSub(&x[4], 2);
}
CASE(atomics_shared_and_global) {
    int *x = device_filled<int>(5, 0), all = 0;
    many_atomics<<<3, 50>>>(x);
    std::vector<int> got = host_copy(x, 5);
    for (int i = 0; i < 150; i++) all ^= i;
    return got[0] == 147 && got[1] == 149 && got[2] == 0x7fffffff && got[3] == all &&
           got[4] == -300;
}

/* An atomic that the hardware lacks, from compare and swap. */
__device__ float atomic_max_float(float *p, float v) {
    unsigned *word = (unsigned *)p, old = atomicAdd(word, 0u), seen;
    do {
        seen = old;
        if (__uint_as_float(seen) >= v) break;
        old = atomicCAS(word, seen, __float_as_uint(v));
    } while (old != seen);
    return __uint_as_float(old);
}
__global__ void maximum(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_max_float(out, in[i]);
}
CASE(atomic_by_compare_and_swap) {
    std::vector<float> in(300);
    for (int i = 0; i < 300; i++) in[i] = (float)(i * 71 % 301);
    float *out = device_filled<float>(1, 0), want = 0;
    for (float v : in) want = v > want ? v : want;
    maximum<<<4, 80>>>(device_copy(in), out, 300);
    return host_copy(out, 1)[0] == want;
}

/* Value and place in one 64-bit word. */
__global__ void smallest(const int *in, unsigned long long *best, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMin(best, (unsigned long long)in[i] << 32 | (unsigned)i);
}
CASE(packed_argmin) {
    std::vector<int> in(200);
    for (int i = 0; i < 200; i++) in[i] = 5 + (i * 83 + 7) % 211;
    int want = 0;
    for (int i = 0; i < 200; i++) want = in[i] < in[want] ? i : want;
    unsigned long long *best = device_filled<unsigned long long>(1, 255);
    smallest<<<2, 128>>>(device_copy(in), best, 200);
    return host_copy(best, 1)[0] == ((unsigned long long)in[want] << 32 | (unsigned)want);
}

/* Work items handed out by a counter: only the thread that takes an item writes its place. */
__global__ void take_tickets(int *next, int *owner, int items) {
    for (;;) {
        int mine = atomicAdd(next, 1);
        if (mine >= items) return;
        owner[mine] += 1;
    }
}
CASE(work_queue_by_tickets) {
    int *next = device_filled<int>(1, 0), *owner = device_filled<int>(70, 0);
    take_tickets<<<3, 32>>>(next, owner, 70);
    return host_copy(owner, 70) == std::vector<int>(70, 1);
}

/* A flag taken by exchange: one thread of all wins and writes without competition. */
__global__ void first_come(int *taken, int *winner) {
    if (atomicExch(taken, 1) == 0) {
        winner[0] = blockIdx.x * blockDim.x + threadIdx.x;
        winner[1] = 77;
    }
}
CASE(one_winner_by_exchange) {
    int *taken = device_filled<int>(1, 0), *winner = device_filled<int>(2, 255);
    first_come<<<2, 64>>>(taken, winner);
    std::vector<int> got = host_copy(winner, 2);
    return got[0] >= 0 && got[0] < 128 && got[1] == 77;
}

/* Producer and consumer: the order of a stream, and an event between two streams. */
__global__ void produce(int *x, int v) {
    x[blockIdx.x * blockDim.x + threadIdx.x] = v + threadIdx.x;
}
__global__ void consume(const int *x, int *y) {
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[n - 1 - i];
}
CASE(streams_and_events) {
    cudaStream_t a, b;
    cudaEvent_t ready;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreate(&ready);
    int *x = device_filled<int>(128, 0), *y = device_filled<int>(128, 0),
        *z = device_filled<int>(128, 0);
    produce<<<2, 64, 0, a>>>(x, 5);
    cudaEventRecord(ready, a);
    consume<<<2, 64, 0, a>>>(x, y);
    cudaStreamWaitEvent(b, ready, 0);
    consume<<<2, 64, 0, b>>>(x, z);
    cudaStreamSynchronize(a);
    cudaStreamSynchronize(b);
    bool good = host_copy(y, 128) == host_copy(z, 128) && host_copy(y, 128)[0] == 68;
    cudaEventDestroy(ready);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    return good;
}

/* Two buffers change places between launches. */
CASE(ping_pong_between_launches) {
    int *x = device_filled<int>(96, 0), *y = nullptr;
    cudaMalloc(&y, 96 * sizeof(int));
    produce<<<3, 32>>>(x, 1);
    for (int i = 0; i < 5; i++) {
        consume<<<3, 32>>>(x, y);
        int *keep = x;
        x = y, y = keep;
    }
    return host_copy(x, 96)[0] == 32;
}

CASE(memset_and_copies_in_order) {
    std::vector<int> in = some<int>(64), got(64);
    int *x = nullptr, *y = nullptr;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMalloc(&y, 64 * sizeof(int));
    cudaMemcpyAsync(x, in.data(), 32 * sizeof(int), cudaMemcpyHostToDevice, s);
    cudaMemsetAsync(x + 32, 0, 32 * sizeof(int), s);
    consume<<<2, 32, 0, s>>>(x, y);
    cudaMemcpyAsync(x, y, 64 * sizeof(int), cudaMemcpyDeviceToDevice, s);
    cudaMemsetAsync(y, 255, 64 * sizeof(int), s);
    cudaMemcpyAsync(got.data(), x, 64 * sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    bool good = host_copy(y, 64)[3] == -1;
    for (int i = 0; i < 64; i++) good &= got[i] == (i < 32 ? 0 : in[63 - i]);
    return good;
}

/* Memory that is freed and allocated again, smaller and larger, many times. */
CASE(memory_freed_and_taken_again) {
    bool good = true;
    for (int i = 1; i < 12; i++) {
        int *x = nullptr, *y = nullptr;
        cudaMalloc(&x, i * 32 * sizeof(int));
        produce<<<i, 32>>>(x, i);
        cudaMalloc(&y, i * 32 * sizeof(int));
        consume<<<i, 32>>>(x, y);
        cudaFree(x);
        good &= host_copy(y, i * 32)[0] == i + 31;
        cudaFree(y);
    }
    return good;
}

/* Host memory that a kernel may use: page-locked and managed. */
CASE(pinned_and_managed_memory) {
    int *pinned = nullptr, *managed = nullptr, *seen = nullptr;
    cudaMallocHost(&pinned, 64 * sizeof(int));
    cudaMallocManaged(&managed, 64 * sizeof(int));
    cudaHostGetDevicePointer((void **)&seen, pinned, 0);
    for (int i = 0; i < 64; i++) pinned[i] = i;
    consume<<<2, 32>>>(seen, managed);
    cudaDeviceSynchronize();
    bool good = true;
    for (int i = 0; i < 64; i++) good &= managed[i] == 63 - i;
    for (int i = 0; i < 64; i++) managed[i] = 2 * i;
    consume<<<2, 32>>>(managed, seen);
    cudaDeviceSynchronize();
    for (int i = 0; i < 64; i++) good &= pinned[i] == 126 - 2 * i;
    cudaFreeHost(pinned);
    cudaFree(managed);
    return good;
}

/* Sums of several blocks in global memory, block after block of the same words, all by atomics. */
__global__ void columns(const int *in, int *sum, int rows, int width) {
    for (int y = blockIdx.x; y < rows; y += gridDim.x)
        for (int x = threadIdx.x; x < width; x += blockDim.x) atomicAdd(&sum[x], in[y * width + x]);
}
CASE(columns_by_atomics) {
    std::vector<int> in = some<int>(20 * 40), want(40);
    for (int i = 0; i < 800; i++) want[i % 40] += in[i];
    int *sum = device_filled<int>(40, 0);
    columns<<<4, 32>>>(device_copy(in), sum, 20, 40);
    return host_copy(sum, 40) == want;
}

/* A value handed through global memory inside of a block, ordered by its barrier. */
__global__ void through_global(int *box, int *out) {
    int base = blockIdx.x * blockDim.x, t = threadIdx.x, n = blockDim.x;
    for (int round = 0; round < 3; round++) {
        box[base + t] = base + t + round;
        __syncthreads();
        out[base + t] = box[base + (t + 33) % n];
        __syncthreads();
    }
}
CASE(block_exchange_in_global_memory) {
    int *box = device_filled<int>(128, 0), *out = device_filled<int>(128, 0);
    through_global<<<2, 64>>>(box, out);
    std::vector<int> got = host_copy(out, 128);
    bool good = true;
    for (int i = 0; i < 128; i++) good &= got[i] == i / 64 * 64 + (i % 64 + 33) % 64 + 2;
    return good;
}
