/* kv_blocks.h: keeps track of which KV blocks each sequence owns. Lab 04 writes this interface
 * (kv_blocks.c).
 *
 * The KV cache is a pool of blocks of KV_BLOCK_TOKENS tokens. A sequence owns a list of blocks, its
 * block table: entry i holds its positions i * KV_BLOCK_TOKENS and on. Not here: which sequence is
 * preempted when the pool is empty (the policy), and the keys and values in the blocks (the
 * backend). None of this is thread-safe: the engine thread alone calls it.
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

/* A pool of n_blocks free blocks, numbered from 0. NULL and *e when n_blocks < 1 or memory is out.
 */
struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e);
/* NULL is allowed. Tables are not freed with it: release them before. */
void kv_pool_free(struct kv_pool *p);
/* How many blocks are free; how many there are. */
int32_t kv_pool_free_blocks(const struct kv_pool *p);
int32_t kv_pool_total_blocks(const struct kv_pool *p);

/* Gives *t as many blocks as `tokens` tokens need; it never takes one away. -1, *e and no change
 * when the pool has too few free blocks or memory is out. */
int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e);

/* Gives all blocks of *t back to the pool and empties *t. Aborts when a block is given back twice,
 * which is a bug. */
void kv_table_release(struct kv_pool *p, struct kv_table *t);

#endif
