/* curand_kernel.h: refuses cuRAND, so that an installed toolkit's header isn't mixed with simt's.
 */
#error                                                                                             \
    "cuRAND can't run on the CPU here: hash the index and a seed in the kernel, or fill the array on the host"
