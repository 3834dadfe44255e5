__global__ void __cluster_dims__(2, 1, 1) k(float *x) { //! clusters
    x[0] = 1;
}
