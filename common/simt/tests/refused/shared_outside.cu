__shared__ float tile[32]; //! inside the kernel
__global__ void k(float *x) { x[0] = tile[0]; }
