__global__ void k(float *y, cudaTextureObject_t t) { //! textures
    y[0] = tex2D<float>(t, 0, 0);
}
