/* kv_block.h: the size of a KV block, which the scheduler, the backends and the kernels share.
 * Includes nothing, so that a C compiler, nvcc and simtcc all take it. */
#ifndef SERVELAB_BASE_KV_BLOCK_H
#define SERVELAB_BASE_KV_BLOCK_H

enum {
    KV_BLOCK_TOKENS =
        16 /* tokens per KV block, one prefix-hash unit; the usual size in paged attention */
};

#endif
