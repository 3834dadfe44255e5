/* cub.cu: CUB's primitives against plain loops: sums of integers, and the composition of affine
 * maps, which is associative and not commutative, so that a wrong order shows. nvcc compiles the
 * same file with its own CUB. */
#include "tap.cuh"

#include <cub/cub.cuh>

/* x -> a x + b, modulo 2^32; 8 bytes, and 12 with padding of our own for shuffles of odd sizes. */
struct affine {
    unsigned a, b, tag;
};
struct then {
    __host__ __device__ affine operator()(const affine &f, const affine &g) const {
        return affine{f.a * g.a, f.b * g.a + g.b, 7};
    }
};
struct greatest {
    __host__ __device__ int operator()(int a, int b) const {
        return a < b ? b : a;
    }
};
static bool same(const affine &f, const affine &g) {
    return f.a == g.a && f.b == g.b;
}
static std::vector<int> numbers(int n) {
    std::vector<int> v;
    unsigned x = 12345;
    for (int i = 0; i < n; i++) v.push_back((int)((x = x * 1664525 + 1013904223) >> 20) - 2000);
    return v;
}
static std::vector<affine> maps(int n) {
    std::vector<affine> v;
    for (int x : numbers(n)) v.push_back(affine{2u * (unsigned)x + 1, (unsigned)x * 77u, 7});
    return v;
}
static affine all_of(const std::vector<affine> &v, int from, int to) {
    affine f = v[(size_t)from];
    for (int i = from + 1; i < to; i++) f = then()(f, v[(size_t)i]);
    return f;
}

/* ---- warps ------------------------------------------------------------------------------------
 */

template <int N>
__global__ void warp_reduce(affine *out, int *most, const affine *in, const int *n) {
    typedef cub::WarpReduce<affine, N> Maps;
    typedef cub::WarpReduce<int, N> Numbers;
    __shared__ typename Maps::TempStorage maps[128 / N];
    __shared__ typename Numbers::TempStorage numbers[128 / N];
    int warp = (int)threadIdx.x / N;
    affine f = Maps(maps[warp]).Reduce(in[threadIdx.x], then());
    int v = Numbers(numbers[warp]).Reduce(n[threadIdx.x], greatest(), N / 2 + 1);
    if (threadIdx.x % N == 0) out[warp] = f, most[warp] = v;
}

template <int N>
static void test_warp_reduce(const std::vector<affine> &f, const std::vector<int> &n) {
    affine *out = device_filled<affine>(128 / N, 0), *in = device_copy(f);
    int *most = device_filled<int>(128 / N, 0), *dn = device_copy(n);
    warp_reduce<N><<<1, 128>>>(out, most, in, dn);
    std::vector<affine> got = host_copy(out, 128 / N);
    std::vector<int> got_most = host_copy(most, 128 / N);
    bool good = true;
    for (int w = 0; w < 128 / N; w++) {
        int want = n[(size_t)(w * N)];
        for (int i = 1; i < N / 2 + 1; i++) want = greatest()(want, n[(size_t)(w * N + i)]);
        good &= same(got[(size_t)w], all_of(f, w * N, w * N + N)) && got_most[(size_t)w] == want;
    }
    TAP(good, "WarpReduce of %d threads, whole and partly valid", N);
    cudaFree(out), cudaFree(in), cudaFree(most), cudaFree(dn);
}

__global__ void segments(int *head, int *tail, const int *in) {
    typedef cub::WarpReduce<int> Reduce;
    __shared__ typename Reduce::TempStorage temp[2];
    int flag = threadIdx.x % 5 == 0 || threadIdx.x % 7 == 3, warp = (int)threadIdx.x / 32;
    head[threadIdx.x] = Reduce(temp[warp]).HeadSegmentedSum(in[threadIdx.x], flag);
    tail[threadIdx.x] = Reduce(temp[warp]).TailSegmentedSum(in[threadIdx.x], flag);
}

static void test_segments(const std::vector<int> &n) {
    int *head = device_filled<int>(64, 0), *tail = device_filled<int>(64, 0), *in = device_copy(n);
    segments<<<1, 64>>>(head, tail, in);
    std::vector<int> h = host_copy(head, 64), t = host_copy(tail, 64);
    bool good = true;
    auto flag = [](int i) { return i % 5 == 0 || i % 7 == 3; };
    for (int i = 0; i < 64; i++) {
        int sum = n[(size_t)i], k;
        for (k = i + 1; k % 32 && !flag(k); k++) sum += n[(size_t)k];
        if (i % 32 == 0 || flag(i)) good &= h[(size_t)i] == sum;
        sum = n[(size_t)i];
        for (k = i; !flag(k) && k % 32 < 31;) sum += n[(size_t)++k];
        if (i % 32 == 0 || flag(i - 1)) good &= t[(size_t)i] == sum;
    }
    TAP(good, "segments of a warp by their heads and by their tails");
    cudaFree(head), cudaFree(tail), cudaFree(in);
}

template <int N>
__global__ void warp_scan(affine *inclusive, affine *exclusive, int *sum, int *total,
                          const affine *in, const int *n) {
    typedef cub::WarpScan<affine, N> Maps;
    typedef cub::WarpScan<int, N> Numbers;
    __shared__ typename Maps::TempStorage maps[64 / N];
    __shared__ typename Numbers::TempStorage numbers[64 / N];
    int i = (int)threadIdx.x, warp = i / N;
    Maps(maps[warp]).InclusiveScan(in[i], inclusive[i], then());
    __syncwarp();
    Maps(maps[warp]).ExclusiveScan(in[i], exclusive[i], affine{3, 5, 7}, then());
    Numbers(numbers[warp]).ExclusiveSum(n[i], sum[i], total[i]);
}

template <int N>
static void test_warp_scan(const std::vector<affine> &f, const std::vector<int> &n) {
    affine *inc = device_filled<affine>(64, 0), *exc = device_filled<affine>(64, 0),
           *in = device_copy(f);
    int *sum = device_filled<int>(64, 0), *total = device_filled<int>(64, 0), *dn = device_copy(n);
    warp_scan<N><<<1, 64>>>(inc, exc, sum, total, in, dn);
    std::vector<affine> gi = host_copy(inc, 64), ge = host_copy(exc, 64);
    std::vector<int> gs = host_copy(sum, 64), gt = host_copy(total, 64);
    bool good = true;
    for (int i = 0; i < 64; i++) {
        int first = i / N * N, before = 0, whole = 0;
        for (int k = first; k < first + N; k++) {
            if (k < i) before += n[(size_t)k];
            whole += n[(size_t)k];
        }
        affine start{3, 5, 7};
        good &= same(gi[(size_t)i], all_of(f, first, i + 1)) && gs[(size_t)i] == before &&
                gt[(size_t)i] == whole &&
                same(ge[(size_t)i], i == first ? start : then()(start, all_of(f, first, i)));
    }
    TAP(good, "WarpScan of %d threads, inclusive, exclusive, with its total", N);
    cudaFree(inc), cudaFree(exc), cudaFree(in), cudaFree(sum), cudaFree(total), cudaFree(dn);
}

/* ---- blocks -----------------------------------------------------------------------------------
 */

template <int X, int Y>
__global__ void block_reduce(affine *out, int *sums, const affine *in, const int *n, int valid) {
    typedef cub::BlockReduce<affine, X, cub::BLOCK_REDUCE_WARP_REDUCTIONS, Y> Maps;
    typedef cub::BlockReduce<int, X, cub::BLOCK_REDUCE_WARP_REDUCTIONS, Y> Numbers;
    __shared__ typename Maps::TempStorage maps;
    __shared__ typename Numbers::TempStorage numbers;
    int i = (int)(threadIdx.x + X * threadIdx.y), items[3] = {n[3 * i], n[3 * i + 1], n[3 * i + 2]};
    affine f = Maps(maps).Reduce(in[i], then());
    int all = Numbers(numbers).Sum(items);
    __syncthreads();
    int some = Numbers(numbers).Sum(n[i], valid);
    __syncthreads();
    int most = Numbers(numbers).Reduce(n[i], greatest());
    if (i == 0) out[0] = f, sums[0] = all, sums[1] = some, sums[2] = most;
}

template <int X, int Y>
static void test_block_reduce(const std::vector<affine> &f, const std::vector<int> &n) {
    const int threads = X * Y, valid = threads - threads / 3;
    affine *out = device_filled<affine>(1, 0), *in = device_copy(f);
    int *sums = device_filled<int>(3, 0), *dn = device_copy(n);
    block_reduce<X, Y><<<1, dim3(X, Y)>>>(out, sums, in, dn, valid);
    std::vector<int> got = host_copy(sums, 3);
    int all = 0, some = 0, most = n[0];
    for (int i = 0; i < 3 * threads; i++) all += n[(size_t)i];
    for (int i = 0; i < valid; i++) some += n[(size_t)i];
    for (int i = 0; i < threads; i++) most = greatest()(most, n[(size_t)i]);
    TAP(same(host_copy(out, 1)[0], all_of(f, 0, threads)) && got[0] == all && got[1] == some &&
            got[2] == most,
        "BlockReduce of %d x %d threads: one item, three, partly valid", X, Y);
    cudaFree(out), cudaFree(in), cudaFree(sums), cudaFree(dn);
}

template <int X, int Y>
__global__ void block_scan(affine *inclusive, affine *exclusive, int *sums, int *totals,
                           const affine *in, const int *n) {
    typedef cub::BlockScan<affine, X, cub::BLOCK_SCAN_WARP_SCANS, Y> Maps;
    typedef cub::BlockScan<int, X, cub::BLOCK_SCAN_WARP_SCANS, Y> Numbers;
    __shared__ typename Maps::TempStorage maps;
    __shared__ typename Numbers::TempStorage numbers;
    int i = (int)(threadIdx.x + X * threadIdx.y), items[3] = {n[3 * i], n[3 * i + 1], n[3 * i + 2]};
    Maps(maps).InclusiveScan(in[i], inclusive[i], then());
    __syncthreads();
    Maps(maps).ExclusiveScan(in[i], exclusive[i], affine{3, 5, 7}, then());
    Numbers(numbers).ExclusiveSum(items, items, totals[i]);
    __syncthreads();
    for (int k = 0; k < 3; k++) sums[6 * i + k] = items[k];
    for (int k = 0; k < 3; k++) items[k] = n[3 * i + k];
    Numbers(numbers).InclusiveSum(items, items);
    for (int k = 0; k < 3; k++) sums[6 * i + 3 + k] = items[k];
}

template <int X, int Y>
static void test_block_scan(const std::vector<affine> &f, const std::vector<int> &n) {
    const int threads = X * Y;
    const size_t count = (size_t)threads;
    affine *inc = device_filled<affine>(count, 0), *exc = device_filled<affine>(count, 0),
           *in = device_copy(f);
    int *sums = device_filled<int>(6 * count, 0), *totals = device_filled<int>(count, 0),
        *dn = device_copy(n);
    block_scan<X, Y><<<1, dim3(X, Y)>>>(inc, exc, sums, totals, in, dn);
    std::vector<affine> gi = host_copy(inc, count), ge = host_copy(exc, count);
    std::vector<int> gs = host_copy(sums, 6 * count), gt = host_copy(totals, count);
    affine start{3, 5, 7}, before = start, whole = f[0];
    int sum = 0, total = 0;
    bool good = true;
    for (int i = 0; i < 3 * threads; i++) total += n[(size_t)i];
    for (size_t i = 0; i < count; i++) {
        if (i) whole = then()(whole, f[i]);
        good &= same(gi[i], whole) && same(ge[i], before) && gt[i] == total;
        before = then()(before, f[i]);
        for (size_t k = 0; k < 3; k++) {
            good &= gs[6 * i + k] == sum;
            sum += n[3 * i + k];
            good &= gs[6 * i + 3 + k] == sum;
        }
    }
    TAP(good,
        "BlockScan of %d x %d threads: one item and three, inclusive, exclusive, with its total", X,
        Y);
    cudaFree(inc), cudaFree(exc), cudaFree(in), cudaFree(sums), cudaFree(totals), cudaFree(dn);
}

/* Each tile of 64 * 4 numbers is loaded, increased by the thread's rank, and stored. */
template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__global__ void through(int *out, const int *in, int n) {
    typedef cub::BlockLoad<int, 64, 4, L> Load;
    typedef cub::BlockStore<int, 64, 4, S> Store;
    __shared__ typename Load::TempStorage loading;
    __shared__ typename Store::TempStorage storing;
    int items[4], tile = (int)blockIdx.x * 256;
    if (tile + 256 <= n)
        Load(loading).Load(in + tile, items);
    else
        Load(loading).Load(in + tile, items, n - tile, -1);
    for (int &v : items) v += (int)threadIdx.x;
    if (tile + 256 <= n)
        Store(storing).Store(out + tile, items);
    else
        Store(storing).Store(out + tile, items, n - tile);
}

template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
static void test_through(const char *name, bool striped, const std::vector<int> &n) {
    const int count = 256 + 101;
    int *out = device_filled<int>(512, 0), *in = device_copy(n);
    through<L, S><<<2, 64>>>(out, in, count);
    std::vector<int> got = host_copy(out, 512);
    bool good = true;
    for (int i = 0; i < 512; i++) {
        int rank = striped ? i % 64 : i % 256 / 4;
        good &= got[(size_t)i] == (i < count ? n[(size_t)i] + rank : 0);
    }
    TAP(good, "BlockLoad and BlockStore, %s, a whole tile and a part", name);
    cudaFree(out), cudaFree(in);
}

static void test_device_reduce(const std::vector<int> &n) {
    int *out = device_filled<int>(3, 0), *in = device_copy(n);
    bool good = true;
    for (int count : {0, 1, 100, 256, 1000}) {
        size_t bytes = 0;
        void *storage = nullptr;
        cub::DeviceReduce::Sum(storage, bytes, in, out, count);
        good &= bytes > 0;
        cudaMalloc(&storage, bytes);
        cub::DeviceReduce::Sum(storage, bytes, in, out, count);
        if (count) cub::DeviceReduce::Max(storage, bytes, in, out + 1, count);
        cub::DeviceReduce::Reduce(storage, bytes, in, out + 2, count, greatest(), 17);
        std::vector<int> got = host_copy(out, 3);
        int sum = 0, most = count ? n[0] : 0, with = 17;
        for (int i = 0; i < count; i++) {
            sum += n[(size_t)i];
            most = greatest()(most, n[(size_t)i]);
            with = greatest()(with, n[(size_t)i]);
        }
        good &= got[0] == sum && (!count || got[1] == most) && got[2] == with;
        cudaFree(storage);
    }
    TAP(good, "DeviceReduce of 0 to 1000 items: Sum, Max, Reduce");
    cudaFree(out), cudaFree(in);
}

int main() {
    std::vector<int> n = numbers(3 * 1024);
    std::vector<affine> f = maps(1024);
    test_warp_reduce<32>(f, n);
    test_warp_reduce<8>(f, n);
    test_warp_reduce<1>(f, n);
    test_segments(n);
    test_warp_scan<32>(f, n);
    test_warp_scan<4>(f, n);
    test_block_reduce<32, 1>(f, n);
    test_block_reduce<48, 1>(f, n);
    test_block_reduce<1024, 1>(f, n);
    test_block_reduce<24, 5>(f, n);
    test_block_scan<32, 1>(f, n);
    test_block_scan<7, 1>(f, n);
    test_block_scan<80, 1>(f, n);
    test_block_scan<256, 1>(f, n);
    test_block_scan<16, 9>(f, n);
    test_through<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>("direct", false, n);
    test_through<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>("striped", true, n);
    test_through<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>("vectorized", false, n);
    test_through<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>("transposed", false, n);
    test_device_reduce(n);
    TAP(cudaDeviceSynchronize() == cudaSuccess, "no launch failed");
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}
