/* shared.cu: correct kernels with shared memory and barriers. */
#include "corpus.cuh"

/* A tree in shared memory; every level ends with a barrier. */
__global__ void block_sum(const int *in, int *out, int n) {
    __shared__ int part[256];
    int t = threadIdx.x, sum = 0;
    for (int i = t; i < n; i += blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) *out = part[0];
}
CASE(block_reduction) {
    std::vector<int> in = some<int>(1000);
    int *out = device_filled<int>(1, 0);
    block_sum<<<1, 256>>>(device_copy(in), out, 1000);
    return host_copy(out, 1)[0] == total(in);
}

/* Two buffers in turn: one barrier an iteration is enough. */
__global__ void smooth_often(const int *in, int *out, int rounds) {
    __shared__ int ring[2][128];
    int t = threadIdx.x, now = 0;
    ring[0][t] = in[t];
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        ring[1 - now][t] = ring[now][(t + 1) % 128] + ring[now][(t + 127) % 128];
        now = 1 - now;
        __syncthreads();
    }
    out[t] = ring[now][t];
}
CASE(double_buffering) {
    std::vector<int> want = some<int>(128), next(128);
    int *out = device_filled<int>(128, 0);
    smooth_often<<<1, 128>>>(device_copy(want), out, 5);
    for (int r = 0; r < 5; r++, want = next)
        for (int i = 0; i < 128; i++) next[i] = want[(i + 1) % 128] + want[(i + 127) % 128];
    return host_copy(out, 128) == want;
}

/* The padding column is never touched. */
__global__ void transpose(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
CASE(transpose_with_padding) {
    const int rows = 37, columns = 50;
    std::vector<float> in = some<float>(rows * columns);
    float *out = device_filled<float>(rows * columns, 0);
    transpose<<<dim3(4, 3), dim3(16, 16)>>>(device_copy(in), out, rows, columns);
    std::vector<float> got = host_copy(out, rows * columns);
    bool good = true;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) good &= got[x * rows + y] == in[y * columns + x];
    return good;
}

/* A row with its halo, loaded by the first and the last threads as well. */
__global__ void stencil(const int *in, int *out, int n) {
    const int reach = 3;
    __shared__ int row[64 + 2 * reach];
    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + reach;
    row[t] = i < n ? in[i] : 0;
    if (threadIdx.x < reach) {
        row[t - reach] = i >= reach ? in[i - reach] : 0;
        row[t + 64] = i + 64 < n ? in[i + 64] : 0;
    }
    __syncthreads();
    if (i >= n) return;
    int sum = 0;
    for (int d = -reach; d <= reach; d++) sum += row[t + d];
    out[i] = sum;
}
CASE(stencil_with_halo) {
    const int n = 150;
    std::vector<int> in = some<int>(n);
    int *out = device_filled<int>(n, 0);
    stencil<<<3, 64>>>(device_copy(in), out, n);
    std::vector<int> got = host_copy(out, n);
    bool good = true;
    for (int i = 0; i < n; i++) {
        int want = 0;
        for (int k = i - 3; k <= i + 3; k++) want += k >= 0 && k < n ? in[k] : 0;
        good &= got[i] == want;
    }
    return good;
}

/* One piece of dynamic shared memory cut into arrays of three types. */
__global__ void carve(const float *in, float *out, int n) {
    extern __shared__ __align__(16) unsigned char carved[];
    double *wide = (double *)carved;
    float *middle = (float *)(wide + n);
    unsigned char *narrow = (unsigned char *)(middle + n);
    int t = threadIdx.x;
    wide[t] = in[t] * 0.5, middle[t] = in[t], narrow[t] = (unsigned char)(n - 1 - t);
    __syncthreads();
    int o = narrow[t];
    out[t] = (float)wide[o] + middle[o] + narrow[o];
}
CASE(dynamic_memory_carved) {
    const int n = 100;
    std::vector<float> in = some<float>(n);
    float *out = device_filled<float>(n, 0);
    carve<<<1, n, n *(8 + 4 + 1)>>>(device_copy(in), out, n);
    std::vector<float> got = host_copy(out, n);
    bool good = true;
    for (int i = 0; i < n; i++) good &= got[i] == 1.5f * in[n - 1 - i] + i;
    return good;
}

/* Blelloch's exclusive scan, up and down the tree. */
__global__ void scan_tree(const int *in, int *out) {
    __shared__ int s[128];
    int t = threadIdx.x, n = 128;
    s[2 * t] = in[2 * t], s[2 * t + 1] = in[2 * t + 1];
    int step = 1;
    for (int d = n / 2; d > 0; d /= 2, step *= 2) {
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1, old = s[left];
            s[left] = s[right];
            s[right] += old;
        }
    }
    __syncthreads();
    out[2 * t] = s[2 * t], out[2 * t + 1] = s[2 * t + 1];
}
CASE(scan_by_blelloch) {
    std::vector<int> in = some<int>(128);
    int *out = device_filled<int>(128, 0), sum = 0;
    scan_tree<<<1, 64>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 128);
    bool good = true;
    for (int i = 0; i < 128; sum += in[i++]) good &= got[i] == sum;
    return good;
}

__global__ void sort_block(int *x) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int o = t ^ j;
            if (o > t && (s[t] > s[o]) == ((t & k) == 0)) {
                int keep = s[t];
                s[t] = s[o];
                s[o] = keep;
            }
            __syncthreads();
        }
    x[t] = s[t];
}
CASE(bitonic_sort) {
    std::vector<int> in(256);
    for (int i = 0; i < 256; i++) in[i] = i * 91 % 257;
    int *x = device_copy(in);
    sort_block<<<1, 256>>>(x);
    std::vector<int> got = host_copy(x, 256);
    bool good = true;
    for (int i = 1; i < 256; i++) good &= got[i - 1] < got[i];
    return good;
}

/* A histogram per block, added to the one of all by atomics. */
__global__ void histogram(const unsigned char *in, int *bins, int n) {
    __shared__ int mine[16];
    if (threadIdx.x < 16) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[in[i]], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
CASE(histogram_privatised) {
    const int n = 3000;
    std::vector<unsigned char> in = some<unsigned char>(n);
    std::vector<int> want(16);
    for (int i = 0; i < n; i++) want[in[i]]++;
    int *bins = device_filled<int>(16, 0);
    histogram<<<4, 64>>>(device_copy(in), bins, n);
    return host_copy(bins, 16) == want;
}

/* Threads whose bytes lie in one word: no conflict. Each reads and writes only its own. */
__global__ void count_bytes(unsigned char *out) {
    __shared__ unsigned char flag[96];
    int t = threadIdx.x;
    flag[t] = (unsigned char)t;
    flag[t] += 3;
    flag[t] ^= 1;
    __syncthreads();
    out[t] = flag[95 - t];
}
CASE(byte_neighbours_shared) {
    unsigned char *out = device_filled<unsigned char>(96, 0);
    count_bytes<<<1, 96>>>(out);
    std::vector<unsigned char> got = host_copy(out, 96);
    bool good = true;
    for (int i = 0; i < 96; i++) good &= got[i] == ((95 - i + 3) ^ 1);
    return good;
}

/* Every thread of a block takes the same way, so the barriers inside are reached by all. */
__global__ void branch_by_block(const int *in, int *out, int mode) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = in[i];
    if (blockIdx.x % 2 == 0 || mode == 7) {
        __syncthreads();
        out[i] = s[63 - t];
    } else if (mode > 3) {
        for (int k = 0; k < mode - 3; k++) {
            __syncthreads();
            int v = s[(t + 1) % 64];
            __syncthreads();
            s[t] = v;
        }
        out[i] = s[t];
    } else {
        out[i] = s[t];
    }
}
CASE(barrier_in_uniform_branch) {
    std::vector<int> in = some<int>(256);
    int *out = device_filled<int>(256, 0);
    branch_by_block<<<4, 64>>>(device_copy(in), out, 5);
    std::vector<int> got = host_copy(out, 256);
    bool good = true;
    for (int i = 0; i < 256; i++) {
        int b = i / 64, t = i % 64;
        good &= got[i] == in[b * 64 + (b % 2 ? (t + 2) % 64 : 63 - t)];
    }
    return good;
}

/* Tiled product with sizes that aren't multiples of a tile, as a template. */
template <int T> __global__ void tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[ty][tx] = y < n && k + tx < n ? a[y * n + k + tx] : 0;
        bs[ty][tx] = x < n && k + ty < n ? b[(k + ty) * n + x] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (x < n && y < n) c[y * n + x] = sum;
}
CASE(matrix_product_in_tiles) {
    const int n = 21;
    std::vector<float> a = some<float>(n * n), b = some<float>(n * n);
    float *c = device_filled<float>(n * n, 0);
    tiles<8><<<dim3(3, 3), dim3(8, 8)>>>(device_copy(a), device_copy(b), c, n);
    std::vector<float> got = host_copy(c, n * n);
    bool good = true;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float want = 0;
            for (int k = 0; k < n; k++) want += a[y * n + k] * b[k * n + x];
            good &= got[y * n + x] == want;
        }
    return good;
}

/* Structures exchanged whole. */
struct best_of {
    float value;
    int index;
    short tag;
};
__global__ void arg_max(const float *in, best_of *out, int n) {
    __shared__ best_of s[64];
    int t = threadIdx.x;
    best_of mine;
    mine.value = -1, mine.index = -1, mine.tag = (short)t;
    for (int i = t; i < n; i += 64)
        if (in[i] > mine.value) mine.value = in[i], mine.index = i;
    s[t] = mine;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (t < half && (s[t + half].value > s[t].value ||
                         (s[t + half].value == s[t].value && s[t + half].index < s[t].index)))
            s[t] = s[t + half];
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}
CASE(structures_in_shared_memory) {
    std::vector<float> in(500);
    for (int i = 0; i < 500; i++) in[i] = (float)(i * 77 % 499);
    int want = 0;
    for (int i = 0; i < 500; i++)
        if (in[i] > in[want]) want = i;
    best_of *out = device_filled<best_of>(1, 0);
    arg_max<<<1, 64>>>(device_copy(in), out, 500);
    return host_copy(out, 1)[0].index == want;
}

/* The same array serves twice, with barriers around each use; values go over by votes. */
__global__ void votes_and_reuse(const int *in, int *out) {
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = in[t];
    int big = __syncthreads_count(in[t] > 7), some_zero = __syncthreads_or(in[t] == 0);
    int v = s[95 - t];
    int all = __syncthreads_and(v < 16);
    s[t] = v * big;
    __syncthreads();
    out[t] = s[(t + 1) % 96] + 1000 * some_zero + 2000 * all;
}
CASE(barriers_that_vote) {
    std::vector<int> in = some<int>(96);
    int big = 0, zero = 0;
    for (int i = 0; i < 96; i++) big += in[i] > 7, zero |= in[i] == 0;
    int *out = device_filled<int>(96, 0);
    votes_and_reuse<<<1, 96>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 96);
    bool good = true;
    for (int t = 0; t < 96; t++) good &= got[t] == in[95 - (t + 1) % 96] * big + 1000 * zero + 2000;
    return good;
}

/* A barrier inside of a device function that all call, and shared memory passed by pointer. */
__device__ __noinline__ int sum_of_all(int *room, int v) {
    room[threadIdx.x] = v;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < (int)blockDim.x; i++) sum += room[i];
    __syncthreads();
    return sum;
}
__global__ void means(const int *in, int *out) {
    __shared__ int room[50];
    int sum = sum_of_all(room, in[threadIdx.x]);
    int squares = sum_of_all(room, in[threadIdx.x] * in[threadIdx.x]);
    if (threadIdx.x == 0) out[0] = sum, out[1] = squares;
}
CASE(barrier_in_a_function) {
    std::vector<int> in = some<int>(50);
    int squares = 0;
    for (int v : in) squares += v * v;
    int *out = device_filled<int>(2, 0);
    means<<<1, 50>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 2);
    return got[0] == total(in) && got[1] == squares;
}

/* One thread writes for all; the values are read after a barrier, and every block has its own. */
__global__ void broadcast(const int *in, int *out) {
    __shared__ int first, *pointer;
    __shared__ float4 vector;
    if (threadIdx.x == 40) {
        first = in[blockIdx.x], pointer = out + blockIdx.x * 64;
        vector = make_float4(1, 2, 3, 4);
    }
    __syncthreads();
    float4 v = vector;
    pointer[threadIdx.x] = first + (int)(v.x + v.y + v.z + v.w);
}
CASE(broadcast_by_one_thread) {
    std::vector<int> in = some<int>(3);
    int *out = device_filled<int>(192, 0);
    broadcast<<<3, 64>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 192);
    bool good = true;
    for (int i = 0; i < 192; i++) good &= got[i] == in[i / 64] + 10;
    return good;
}

/* Threads that return before the last barrier's work, but not before the barrier. */
__global__ void return_after_barrier(const int *in, int *out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t < n ? in[t] : 0;
    __syncthreads();
    if (t >= n) return;
    out[t] = s[n - 1 - t];
}
CASE(early_return_after_the_barrier) {
    std::vector<int> in = some<int>(77);
    int *out = device_filled<int>(77, 0);
    return_after_barrier<<<1, 128>>>(device_copy(in), out, 77);
    std::vector<int> got = host_copy(out, 77);
    bool good = true;
    for (int i = 0; i < 77; i++) good &= got[i] == in[76 - i];
    return good;
}
