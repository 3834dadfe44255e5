__global__ void k(float *x, int n) { x[n] = 1; }
int main() {
    float *p = nullptr;
    k<<<1,
        32>>>(p,
              p); //! invalid conversion|cannot initialize
    return 0;
}
