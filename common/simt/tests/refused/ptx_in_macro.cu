#define LOAD(to, from) asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(to) : "l"(from))
__global__ void k(float *y, const float *x) {
    float v;
    LOAD(v, x); //! inline PTX
    *y = v;
}
