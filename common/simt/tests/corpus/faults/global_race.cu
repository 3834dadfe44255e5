/* global_race.cu: each kernel has one race in global memory. */
#include "corpus.cuh"
#include <cuda_fp16.h>

__global__ void shift_left(int *x, int n) {
    int i = threadIdx.x;
    if (i + 1 < n) x[i] = x[i + 1]; // FAULT: global-race, OTHER
}
CASE(neighbour_in_place) {
    shift_left<<<1, 128>>>(device_filled<int>(128, 0), 128);
    return true;
}

__global__ void all_write_one(int *out) {
    *out = threadIdx.x; // FAULT: global-race, OTHER
}
CASE(all_threads_write_one_word) {
    all_write_one<<<1, 64>>>(device_filled<int>(1, 0));
    return true;
}

__global__ void count_plainly(const int *in, int *count, int n) {
    int i = threadIdx.x;
    if (i < n && in[i] > 3) (*count)++; // FAULT: global-race, OTHER
}
CASE(counter_without_atomic) {
    count_plainly<<<1, 96>>>(device_copy(some<int>(96)), device_filled<int>(1, 0), 96);
    return true;
}

__global__ void add_block_sums(const int *in, int *sum) {
    int v = in[blockIdx.x];
    if (threadIdx.x == 0) *sum += v; // FAULT: global-race, OTHER
}
CASE(blocks_add_without_atomic) {
    add_block_sums<<<8, 32>>>(device_copy(some<int>(8)), device_filled<int>(1, 0));
    return true;
}

__global__ void read_neighbour_block(int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = 3 * i; // OTHER
    __syncthreads();
    y[i] = x[(i + n - 1) % n]; // FAULT: global-race
}
CASE(halo_of_another_block) {
    read_neighbour_block<<<4, 32>>>(device_filled<int>(128, 0), device_filled<int>(128, 0));
    return true;
}

__device__ unsigned finished;
__global__ void no_fence(int *partial, int *out) {
    bool last = false;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = 10 * blockIdx.x; // OTHER
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
    }
    if (last) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b]; // FAULT: global-race
        *out = sum;
    }
}
CASE(last_block_without_fence) {
    no_fence<<<4, 32>>>(device_filled<int>(4, 0), device_filled<int>(1, 0));
    return true;
}

__device__ unsigned done_too_early;
__global__ void fence_too_early(int *partial, int *out) {
    if (threadIdx.x != 0) return;
    __threadfence();
    partial[blockIdx.x] = 10 * blockIdx.x; // OTHER
    if (atomicAdd(&done_too_early, 1) < gridDim.x - 1) return;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b]; // FAULT: global-race
    *out = sum;
}
CASE(fence_before_the_write) {
    fence_too_early<<<4, 32>>>(device_filled<int>(4, 0), device_filled<int>(1, 0));
    return true;
}

__device__ unsigned counted;
__global__ void fence_for_the_block_only(int *partial, int *out) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = 7; // OTHER
    __threadfence_block();
    if (atomicAdd(&counted, 1) < gridDim.x - 1) return;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b]; // FAULT: global-race
    *out = sum;
}
CASE(block_fence_between_blocks) {
    fence_for_the_block_only<<<3, 32>>>(device_filled<int>(3, 0), device_filled<int>(1, 0));
    return true;
}

__global__ void atomic_here_plain_there(int *sum, int *out) {
    atomicAdd(sum, 1);                                 // OTHER
    out[blockIdx.x * blockDim.x + threadIdx.x] = *sum; // FAULT: global-race
}
CASE(plain_read_of_an_atomic_sum) {
    atomic_here_plain_there<<<1, 64>>>(device_filled<int>(1, 0), device_filled<int>(64, 0));
    return true;
}

__global__ void mark_bytes(unsigned char *seen, const int *in) {
    seen[in[threadIdx.x] % 4] = (unsigned char)threadIdx.x; // FAULT: global-race, OTHER
}
CASE(bytes_of_one_word_met_again) {
    std::vector<int> in(64);
    for (int i = 0; i < 64; i++) in[i] = i;
    mark_bytes<<<1, 64>>>(device_filled<unsigned char>(4, 0), device_copy(in));
    return true;
}

__global__ void two_sums(const __half *x, __half *sum) {
    int t = threadIdx.x;
    sum[t % 2] += x[t]; // FAULT: global-race, OTHER
}
CASE(sums_in_half) {
    two_sums<<<1, 64>>>(device_copy(some<__half>(64)), device_filled<__half>(2, 0));
    return true;
}

__global__ void ranges_overlap(int *x, int per_block) {
    int from = blockIdx.x * per_block, to = from + per_block;
    for (int i = from + threadIdx.x; i <= to; i += blockDim.x)
        x[i] = blockIdx.x; // FAULT: global-race, OTHER
}
CASE(ranges_of_blocks_overlap) {
    ranges_overlap<<<3, 32>>>(device_filled<int>(3 * 50 + 1, 0), 50);
    return true;
}

__device__ unsigned warps_done;
__global__ void lanes_do_not_meet(int *box, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    box[i] = i; // OTHER
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(&warps_done, 1) < gridDim.x - 1) return;
    int sum = 0;
    for (int k = 0; k < n; k += 32) sum += box[k + 5]; // FAULT: global-race
    *out = sum;
}
CASE(fence_for_lanes_not_met) {
    lanes_do_not_meet<<<3, 32>>>(device_filled<int>(96, 0), device_filled<int>(1, 0));
    return true;
}

__device__ int shared_by_all;
__global__ void set_variable(const int *in) {
    if (threadIdx.x == 0) shared_by_all = in[blockIdx.x]; // FAULT: global-race, OTHER
}
CASE(device_variable_of_all_blocks) {
    set_variable<<<4, 32>>>(device_copy(some<int>(4)));
    return true;
}

__global__ void no_barrier(int *box, int *out) {
    int t = threadIdx.x;
    box[t] = t;                  // FAULT: global-race
    out[t] = box[(t + 32) % 64]; // OTHER
}
CASE(no_barrier_in_global_memory) {
    no_barrier<<<1, 64>>>(device_filled<int>(64, 0), device_filled<int>(64, 0));
    return true;
}

__global__ void column_sums(const float *in, float *sum, int width) {
    int x = threadIdx.x, y = threadIdx.y;
    sum[x] += in[y * width + x]; // FAULT: global-race, OTHER
}
CASE(rows_add_into_one_column) {
    std::vector<float> in = some<float>(32 * 4);
    column_sums<<<1, dim3(32, 4)>>>(device_copy(in), device_filled<float>(32, 0), 32);
    return true;
}

__global__ void pairs_overlap(float *x) {
    int t = threadIdx.x;
    if (t < 32)
        *(float2 *)&x[2 * t] = make_float2(1, 2); // OTHER
    else
        x[3 * (t - 32)] = 3; // FAULT: global-race
}
CASE(vector_and_scalar_overlap) {
    pairs_overlap<<<1, 50>>>(device_filled<float>(64, 0));
    return true;
}

template <class T> __device__ void add_into(T *p, T v) {
    *p = *p + v; // FAULT: global-race, OTHER
}
__global__ void bins(const int *in, double *bin) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) add_into(&bin[in[i] % 2], 1.0);
}
CASE(race_in_a_device_function) {
    bins<<<8, 32>>>(device_copy(std::vector<int>(256, 2)), device_filled<double>(2, 0));
    return true;
}

struct entry {
    int key, value;
};
__global__ void write_entries(entry *table, const int *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    entry e = {in[i], i};
    table[in[i] % 8] = e; // FAULT: global-race, OTHER
}
CASE(structures_at_one_place) {
    write_entries<<<2, 32>>>(device_filled<entry>(8, 0), device_copy(std::vector<int>(64, 3)));
    return true;
}

__global__ void read_then_overwrite(const int *in, int *out, int *flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + *flag;  // OTHER
    if (i == 100) *flag = 1; // FAULT: global-race
}
CASE(write_after_others_read) {
    int *flag = device_filled<int>(1, 0);
    read_then_overwrite<<<4, 32>>>(device_copy(some<int>(128)), device_filled<int>(128, 0), flag);
    return true;
}
