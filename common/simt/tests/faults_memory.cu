/* faults_memory.cu: kernels with one planted bad access each: out of bounds, freed, unwritten, on
 * the host. See faults.cuh. */
#include "faults.cuh"

/* clang-format off: a fault and its mark share a line */

/* ---- out of bounds ---- */
__global__ void read_past(const float *x, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i]; //! out-of-bounds
}
__global__ void write_past(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 1; //! out-of-bounds
}
__global__ void before_start(const float *x, float *out) {
    int i = threadIdx.x;
    out[i] = x[i - 1]; //! out-of-bounds
}
__global__ void off_by_one(float *x, int n) {
    int i = threadIdx.x;
    if (i <= n) x[i] = 1; //! out-of-bounds
}
__global__ void vector_past(const float4 *x, float4 *out) {
    int i = threadIdx.x;
    out[i] = x[i]; //! out-of-bounds
}
__global__ void shared_past(float *out) {
    __shared__ float first[32], second[32];
    int t = threadIdx.x;
    first[t] = 1;
    second[t] = 2;
    __syncthreads();
    out[t] = first[t] + second[t + 1]; //! out-of-bounds
}
__global__ void dynamic_past(float *out) {
    extern __shared__ float pool[];
    int t = threadIdx.x;
    pool[t] = 1; //! out-of-bounds
    out[t % 32] = pool[t];
}
__global__ void dynamic_of_nothing(float *out) {
    extern __shared__ int pool[];
    pool[threadIdx.x] = 1; //! out-of-bounds
    out[threadIdx.x] = (float)pool[threadIdx.x];
}
__device__ float table[16];
__global__ void device_array_past(float *out) {
    int t = threadIdx.x;
    out[t] = table[t]; //! out-of-bounds
}
__global__ void null_pointer(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! out-of-bounds
}
struct particle {
    float x, y, z;
};
__global__ void structure_past(particle *p, int n) {
    int i = threadIdx.x;
    p[i].x = 1; //! out-of-bounds
    if (i < n) p[i].y = 1;
}
__global__ void odd_bytes(unsigned char *x) {
    x[threadIdx.x] = 1; //! out-of-bounds
}
__global__ void atomic_past(int *bins) {
    atomicAdd(&bins[threadIdx.x], 1); //! out-of-bounds
}
__global__ void row_past(float *out) {
    __shared__ float s[4][8];
    int t = threadIdx.x;
    s[t / 8][t % 8] = 1;
    __syncthreads();
    out[t] = s[t / 8 + 1][t % 8]; //! out-of-bounds
}
__constant__ float fixed[8];
__global__ void writes_constant(float *out) {
    float *p = const_cast<float *>(fixed);
    p[threadIdx.x] = 1; //! out-of-bounds
    out[threadIdx.x] = fixed[threadIdx.x];
}
__global__ void anothers_local(float **where, float *out) {
    float mine[4] = {1, 2, 3, 4};
    int t = threadIdx.x;
    mine[t % 4] = out[t];
    where[t] = mine;
    __syncthreads();
    out[t] = where[(t + 1) % 32][1]; //! out-of-bounds
}
__global__ void far_index(float *x, size_t n) {
    x[n * 1000003u] = 1; //! out-of-bounds
}

/* ---- freed and unwritten memory ---- */
__global__ void reads_freed(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! use-after-free
}
__global__ void writes_freed(float *x) {
    x[threadIdx.x] = 1; //! use-after-free
}
__global__ void atomic_freed(int *x) {
    atomicAdd(x, 1); //! use-after-free
}
__global__ void reads_unwritten(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! uninitialised
}
__global__ void half_copied(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! uninitialised
}
__global__ void accumulates_unset(float *sums, const float *x) {
    sums[threadIdx.x] += x[threadIdx.x]; //! uninitialised
}
__global__ void shared_unset(float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) s[t] = 1;
    __syncthreads();
    out[t] = s[t]; //! uninitialised
}
__global__ void shared_sum_unset(const float *x, float *out) {
    __shared__ float sum;
    int t = threadIdx.x;
    atomicAdd(&sum, x[t]); //! uninitialised
    __syncthreads();
    if (t == 0) *out = sum;
}
__global__ void padding_column(const float *x, float *out) {
    __shared__ float s[8][9];
    int t = threadIdx.x;
    s[t / 8][t % 8] = x[t];
    __syncthreads();
    out[t] = s[t / 8][t % 8 + 1]; //! uninitialised
}
__global__ void last_blocks_values(float *out) { /* shared memory doesn't outlive a block */
    __shared__ float s[32];
    if (blockIdx.x == 0) s[threadIdx.x] = 1;
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x]; //! uninitialised
}

/* ---- pointers to the host ---- */
__global__ void host_array(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! host-pointer
}
__global__ void host_result(float *out) {
    *out = 1; //! host-pointer
}
static float host_variable[4] = {1, 2, 3, 4};
__global__ void host_global(float *out, const float *x) {
    out[threadIdx.x] = x[threadIdx.x]; //! host-pointer
}
struct view {
    const float *data;
    int n;
};
__global__ void host_in_structure(view v, float *out) {
    if ((int)threadIdx.x < v.n) out[threadIdx.x] = v.data[threadIdx.x]; //! host-pointer
}
__global__ void structure_on_host(const view *v, float *out) {
    out[threadIdx.x] = v->data[threadIdx.x]; //! host-pointer
}

static void bad_accesses() {
    RUN(read_past<<<2, 64>>>(small<float>(100), g));
    RUN(write_past<<<2, 64>>>(small<float>(100)));
    RUN(before_start<<<1, 32>>>(small<float>(100), g));
    RUN(off_by_one<<<1, 128>>>(small<float>(100), 100));
    RUN(vector_past<<<1, 32>>>((float4 *)small<float>(102), (float4 *)g));
    RUN(shared_past<<<1, 32>>>(g));
    RUN(dynamic_past<<<1, 64, 32 * 4>>>(g));
    RUN(dynamic_of_nothing<<<1, 32>>>(g));
    RUN(device_array_past<<<1, 32>>>(g));
    RUN(null_pointer<<<1, 32>>>(nullptr, g));
    RUN(structure_past<<<1, 32>>>(small<particle>(20), 20));
    RUN(odd_bytes<<<1, 32>>>(small<unsigned char>(13)));
    RUN(atomic_past<<<1, 32>>>(small<int>(16)));
    RUN(row_past<<<1, 32>>>(g));
    RUN(writes_constant<<<1, 8>>>(g));
    RUN(anothers_local<<<1, 32>>>((float **)f, g));
    RUN(far_index<<<1, 1>>>(f, 1000));
    RUN(reads_freed<<<1, 32>>>(freed<float>(64), g));
    RUN(writes_freed<<<1, 32>>>(freed<float>(64)));
    RUN(atomic_freed<<<1, 32>>>(freed<int>(64)));
    RUN(reads_unwritten<<<1, 32>>>(unwritten<float>(64, 0), g));
    RUN(half_copied<<<1, 32>>>(unwritten<float>(64, 16), g));
    RUN(accumulates_unset<<<1, 32>>>(unwritten<float>(64, 0), f));
    RUN(shared_unset<<<1, 64>>>(g));
    RUN(shared_sum_unset<<<1, 64>>>(f, g));
    RUN(padding_column<<<1, 64>>>(f, g));
    RUN(last_blocks_values<<<2, 32>>>(g));
    float here[32] = {0};
    float *heap = (float *)calloc(32, sizeof *heap);
    RUN(host_array<<<1, 32>>>(heap, g));
    RUN(host_result<<<1, 1>>>(here));
    RUN(host_global<<<1, 4>>>(g, host_variable));
    view v = {heap, 32};
    RUN(host_in_structure<<<1, 32>>>(v, g));
    RUN(structure_on_host<<<1, 32>>>(&v, g));
    free(heap);
}

int main() {
    bad_accesses();
    return 0;
}
