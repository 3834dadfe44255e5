/* faults_sync.cu: kernels and launches with one planted fault each: barriers, masks, launch shapes.
 * See faults.cuh. */
#include "faults.cuh"
#include <cub/cub.cuh>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* clang-format off: a fault and its mark share a line */

/* ---- barriers ---- */
__global__ void block_reduce_in_branch(int *x) {
    typedef cub::BlockReduce<int, 128> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    int sum;
    if (threadIdx.x < 64)
        sum = Reduce(temp).Sum(x[threadIdx.x]);
    else
        sum = Reduce(temp).Sum(2 * x[threadIdx.x]); //! barrier-divergence
    if (threadIdx.x == 0) *x = sum;
}
__global__ void barrier_in_branch(float *out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = 1;
        __syncthreads(); //! barrier-divergence
    }
}
__global__ void early_return(float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = x[t];
    __syncthreads(); //! barrier-divergence
    x[t] = s[n - 1 - t];
}
__global__ void two_barriers(float *out) {
    int t = threadIdx.x;
    if (t % 64 < 40) {
        out[t] = 1;
        __syncthreads();
    } else {
        out[t] = 2;
        __syncthreads(); //! barrier-divergence
    }
}
__global__ void uneven_loop(float *out) {
    int t = threadIdx.x;
    float v = 0;
    for (int i = 0; i < 1 + t / 32; i++) {
        v += 1;
        __syncthreads(); //! barrier-divergence
    }
    out[t] = v;
}
__global__ void group_in_branch(float *out) {
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x > 5) {
        out[threadIdx.x] = 1;
        block.sync(); //! barrier-divergence
    }
}
__global__ void vote_in_branch(int *out) {
    int t = threadIdx.x;
    if (t != 3) out[t] = __syncthreads_or(t == 5); //! barrier-divergence
}

/* ---- masks ---- */
__global__ void shuffle_in_branch(float *x) {
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffffffu, v, 1); //! warp-mask
    x[threadIdx.x] = v;
}
__global__ void mask_without_me(unsigned *out) {
    out[threadIdx.x] = __ballot_sync(0xfffffffeu, 1); //! warp-mask
}
__global__ void different_operations(int *out) {
    int t = threadIdx.x, v;
    if (t < 16)
        v = __any_sync(0xffffffffu, t == 3);
    else
        v = __all_sync(0xffffffffu, t > 3); //! warp-mask
    out[t] = v;
}
__global__ void shuffle_after_return(float *x, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    float v = x[t];
    v += __shfl_down_sync(0xffffffffu, v, 16); //! warp-mask
    x[t] = v;
}
__global__ void sync_in_branch(float *out) {
    int t = threadIdx.x;
    if (t > 7) {
        out[t] = 1;
    } else {
        out[t] = 2;
        __syncwarp(); //! warp-mask
    }
}
__global__ void lane_that_is_not(unsigned *out) {
    out[threadIdx.x] = __ballot_sync(0x1ffffu, threadIdx.x & 1); //! warp-mask
}
__global__ void width_of_twelve(int *out, int width) {
    int t = threadIdx.x;
    out[t] = __shfl_sync(0xffffffffu, t, 0, width); //! warp-mask
}
__global__ void width_of_a_block(int *out) {
    int t = threadIdx.x;
    out[t] = __shfl_down_sync(0xffffffffu, t, 1, 64); //! warp-mask
}
__global__ void width_of_none(int *out) {
    int t = threadIdx.x;
    out[t] = __shfl_xor_sync(0xffffffffu, t, 1, 0); //! warp-mask
}
__global__ void reduce_in_branch(int *out) {
    int t = threadIdx.x, v = 0;
    if (t & 1) v = __reduce_add_sync(0xffffffffu, t); //! warp-mask
    out[t] = v;
}

/* ---- launches ---- */
__global__ void plain(float *x) {
    x[0] = 1;
}
__global__ void many_threads(float *x) {
    x[0] = 1;
}
__global__ void no_blocks(float *x) {
    x[0] = 1;
}
__global__ void deep_block(float *x) {
    x[0] = 1;
}
__global__ void much_shared(float *x) {
    x[0] = 1;
}
__global__ void __launch_bounds__(128) bounded(float *x) {
    x[0] = 1;
}
__global__ void tall_grid(float *x) {
    x[0] = 1;
}
__global__ void big_static(float *x) {
    __shared__ float s[70000];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[threadIdx.x];
}

static void synchronisation() {
    RUN(barrier_in_branch<<<1, 64>>>(g));
    RUN(early_return<<<1, 64>>>(f, 50));
    RUN(two_barriers<<<1, 64>>>(g));
    RUN(uneven_loop<<<1, 64>>>(g));
    RUN(group_in_branch<<<1, 64>>>(g));
    RUN(block_reduce_in_branch<<<1, 128>>>(n));
    RUN(vote_in_branch<<<1, 64>>>(n));
    RUN(shuffle_in_branch<<<1, 32>>>(f));
    RUN(mask_without_me<<<1, 32>>>((unsigned *)n));
    RUN(different_operations<<<1, 32>>>(n));
    RUN(shuffle_after_return<<<1, 32>>>(f, 20));
    RUN(sync_in_branch<<<1, 32>>>(f));
    RUN(lane_that_is_not<<<1, 16>>>((unsigned *)n));
    RUN(width_of_twelve<<<1, 32>>>(n, 12));
    RUN(width_of_a_block<<<1, 64>>>(n));
    RUN(width_of_none<<<1, 32>>>(n));
    RUN(reduce_in_branch<<<1, 32>>>(n));
}

static void launches() {
    next_case();
    plain<<<1, 1>>>(f);
    many_threads<<<1, 1025>>>(f);         //! illegal-launch
    no_blocks<<<0, 32>>>(f);              //! illegal-launch
    deep_block<<<1, dim3(1, 1, 65)>>>(f); //! illegal-launch
    much_shared<<<1, 32, 49153>>>(f);     //! illegal-launch
    bounded<<<1, 256>>>(f);               //! illegal-launch
    tall_grid<<<dim3(1, 70000), 1>>>(f);  //! illegal-launch
    big_static<<<1, 32>>>(f);             //! illegal-launch
}

int main() {
    synchronisation();
    launches();
    return 0;
}
