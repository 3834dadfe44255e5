__global__ void child(float *x) { x[threadIdx.x] = 1; }
__device__ void spawn(float *x) {
    child<<<1, 32>>>(x); //! dynamic parallelism
}
__global__ void parent(float *x) { spawn(x); }
