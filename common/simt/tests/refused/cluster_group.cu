#include <cooperative_groups.h>
__global__ void k(float *x) {
    auto c = cooperative_groups::this_cluster(); //! clusters
    x[0] = (float)c.block_rank();
}
