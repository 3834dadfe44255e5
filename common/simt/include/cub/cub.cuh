/* cub.cuh: CUB's block and warp primitives, and DeviceReduce.
 *
 * Names, arguments and results are those of the public CUB documentation (CUDA 11 and 12); all code
 * is simt's own. A block primitive's barriers, shared accesses and shuffles are checked and counted
 * like any kernel's: one that is called again with the same TempStorage and no __syncthreads() in
 * between is a race. Absent: sorting, histograms, exchange, run lengths, the other device-wide
 * functions.
 */
#ifndef SIMT_CUB_CUB_CUH
#define SIMT_CUB_CUB_CUH

#include "block/block_load.cuh"
#include "block/block_reduce.cuh"
#include "block/block_scan.cuh"
#include "block/block_store.cuh"
#include "device/device_reduce.cuh"
#include "warp/warp_reduce.cuh"
#include "warp/warp_scan.cuh"

#endif
