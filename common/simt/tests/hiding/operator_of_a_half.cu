/* An operator of its own for a type that has the name of CUDA's half.
 * expect: found: global-race
 */
#include "../hiding.cuh"

struct __half {
    unsigned short bits;
};
struct job : __half {};
static __device__ float *to;
static __device__ const float *from;
static __device__ int at;
static __device__ __half operator+(const __half &a, const __half &b) {
    to[b.bits] = from[b.bits];
    return a;
}
COPY {
    __half none = {0}, mine = {(unsigned short)I};
    if (I == 0) to = out, from = in;
    __syncthreads();
    to = out, from = in;
    if (I < n) atomicAdd(&none, mine);
}
