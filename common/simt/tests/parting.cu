/* parting.cu: lanes that diverge and meet again, in the usual forms. One warp a launch;
 * test_counts.py has the number of requests of each kernel if its lanes wait for each other where
 * their ways meet. x[i] = i * 7 % 16. Prints nothing. */
#include <cuda_runtime.h>
#include <vector>

enum { ROUNDS = 16, N = 32 * ROUNDS };

/* 16 loads; as many atomics as rounds in which some lane has an odd value: 16 */
__global__ void counts_some(const int *x, int *bin) {
    for (int i = threadIdx.x; i < N; i += 32) {
        int v = x[i];
        if (v & 1) atomicAdd(&bin[v], 1);
    }
}

/* 16 loads in the loop, 4 * 16 atomics: a lane takes one of four ways */
__global__ void switches(const int *x, int *bin) {
    for (int i = threadIdx.x; i < N; i += 32) {
        int v = x[i];
        switch (v & 3) {
        case 0:
            atomicAdd(&bin[v], 1);
            break;
        case 1:
            atomicAdd(&bin[v], 2), atomicAdd(&bin[v + 1], 1);
            break;
        case 2:
            atomicMax(&bin[v], v);
            break;
        default:
            atomicXor(&bin[v], v);
        }
    }
}

/* lane k makes k rounds: 31 loads, then 1 store of all that went on */
__global__ void rounds_of_their_own(const int *x, int *out) {
    int sum = 0;
    for (int i = 0; i < (int)threadIdx.x; i++) sum += x[32 * (i & 15) + threadIdx.x];
    out[threadIdx.x] = sum;
}

/* 16 loads of the outer loop, 16 * 15 of the inner one (up to 15 rounds), 16 stores */
__global__ void loop_in_loop(const int *x, int *out) {
    for (int i = threadIdx.x; i < N; i += 32) {
        int sum = 0;
        for (int k = x[i]; k > 0; k--) sum += x[(i + k) % N];
        out[i] = sum;
    }
}

/* 16 loads, 16 stores: `continue` goes back to the top without waiting for the others there */
__global__ void goes_on(const int *x, int *out) {
    for (int i = threadIdx.x; i < N; i += 32) {
        int v = x[i];
        if (v % 3 == 0) continue;
        if (v % 5 == 0) {
            atomicAdd(&out[0], 1);
            continue;
        }
        out[i] = v;
    }
}

/* lane 31 leaves in its first round, lane 30 in its second ...: 16 loads, 16 stores */
__global__ void leaves(const int *x, int *out) {
    for (int i = 0; i < ROUNDS; i++) {
        if (threadIdx.x + i == 31) return;
        int v = x[32 * i + threadIdx.x];
        if (v > 20) out[1] = v;
        out[32 * i + threadIdx.x] = v;
    }
}

/* 1 load, 1 atomic, 1 load and 1 store more: a lane that returns inside doesn't keep the others
 * apart */
__global__ void returns_inside(const int *x, int *out) {
    int v = x[threadIdx.x];
    if (v & 1) {
        atomicAdd(&out[0], v);
        if (v & 2) return;
    }
    out[threadIdx.x + 32] = x[threadIdx.x + 32] + v;
}

/* 16 loads and up to 16 * 4 more; `break` leaves the inner loop only: 16 stores */
__global__ void breaks(const int *x, int *out, int most) {
    for (int i = threadIdx.x; i < N; i += 32) {
        int k = 0;
        for (; k < most; k++)
            if (x[(i + 32 * k) % N] > 11) break;
        out[i] = k;
    }
}

/* Two ways meet in one __syncwarp, called on two lines, and go on apart: 1 load and 1 atomic on
 * each way before it, 1 load and 1 atomic on each way behind it, then 1 store of all. */
__global__ void meets_on_two_lines(const int *x, int *out) {
    int t = threadIdx.x, v;
    if (t < 16) {
        v = x[t];
        atomicAdd(&out[t], v);
        __syncwarp();
        v += x[32 + 2 * t];
        atomicMax(&out[t], v);
    } else {
        v = 3 * x[64 + t];
        atomicXor(&out[t], v);
        __syncwarp();
        v -= x[128 + 3 * t];
        atomicMin(&out[t], v);
    }
    out[32 + t] = v;
}

/* 1 load, a shuffle on two lines; 1 atomic of the lanes that leave, 1 store of the others */
__global__ void shuffles_and_leaves(const int *x, int *out) {
    int t = threadIdx.x, v = x[t];
    if (t % 2)
        v += __shfl_xor_sync(0xffffffffu, v, 1);
    else
        v -= __shfl_xor_sync(0xffffffffu, v, 1);
    if (t < 8) {
        atomicAdd(&out[t], v);
        return;
    }
    if (__any_sync(0xffffffffu, v > 3)) out[t] = v;
}

int main() {
    std::vector<int> h(N);
    for (int i = 0; i < N; i++) h[i] = i * 7 % 16;
    int *x, *out;
    cudaMalloc(&x, N * sizeof *x);
    cudaMalloc(&out, N * sizeof *out);
    cudaMemcpy(x, h.data(), N * sizeof *x, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, N * sizeof *out);
    counts_some<<<1, 32>>>(x, out);
    switches<<<1, 32>>>(x, out);
    rounds_of_their_own<<<1, 32>>>(x, out);
    loop_in_loop<<<1, 32>>>(x, out);
    goes_on<<<1, 32>>>(x, out);
    leaves<<<1, 32>>>(x, out);
    returns_inside<<<1, 32>>>(x, out);
    breaks<<<1, 32>>>(x, out, 4);
    meets_on_two_lines<<<1, 32>>>(x, out);
    shuffles_and_leaves<<<1, 32>>>(x, out);
    return 0;
}
