__device__ unsigned lane_by_ptx() {
    unsigned l;
    asm("mov.u32 %0, %%laneid;" : "=r"(l)); //! inline PTX
    return l;
}
