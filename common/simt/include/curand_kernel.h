/* curand_kernel.h: refused here, before an installed toolkit's file of that name is mixed with
 * ours. */
#error                                                                                             \
    "cuRAND can't run on the CPU here: hash the index and a seed in the kernel, or fill the array on the host"
