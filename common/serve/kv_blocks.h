/* kv_blocks.h: which KV blocks a sequence owns. Lab 04 writes this interface (kv_blocks.c).
 *
 * The KV cache is a pool of fixed blocks of KV_BLOCK_TOKENS tokens. A sequence owns a list of them,
 * its block table, in the order of its positions. Not here: who is preempted when the pool is empty
 * (the policy), and what the blocks hold (the backend).
 */
#ifndef SERVELAB_SERVE_KV_BLOCKS_H
#define SERVELAB_SERVE_KV_BLOCKS_H

#include "base/err.h"

#include <stdint.h>

struct kv_pool; /* all blocks of one backend */

/* A sequence's blocks. Zero-initialised is empty. */
struct kv_table {
    int32_t *blocks; /* (n_blocks) physical block numbers */
    int32_t n_blocks, cap;
};

struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e);
void kv_pool_free(struct kv_pool *p);
int32_t kv_pool_free_blocks(const struct kv_pool *p);
int32_t kv_pool_total_blocks(const struct kv_pool *p);

/* Grows *t until it holds `tokens` tokens. All or nothing: -1 and no change when the pool has too
 * few free blocks. */
int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e);

/* Gives all blocks back and empties *t. Giving a block back twice is a bug and aborts. */
void kv_table_release(struct kv_pool *p, struct kv_table *t);

#endif
