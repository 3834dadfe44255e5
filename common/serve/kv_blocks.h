/* kv_blocks.h: which KV blocks a sequence owns, and which blocks sequences share. Lab 04 writes
 * this interface (kv_blocks.c).
 *
 * The KV cache is a pool of fixed blocks of KV_BLOCK_TOKENS tokens. A sequence holds a list of
 * them, its block table, in the order of its positions. Each block counts its references: the
 * tables that hold it.
 *
 * Prefix reuse. Keys and values of a token depend only on the tokens up to it. So a full block can
 * serve every sequence that begins with the same tokens. kv_table_publish makes the full blocks of
 * a table findable, kv_table_share puts the blocks of a known prefix into another table. Only full
 * blocks are shared, and a full block is never written again. A block without references keeps its
 * contents, and can be found, until the pool needs it: the least recently used one goes first, and
 * of one sequence the last block before the first.
 *
 * Not here: which sequence is preempted when the pool is empty (the policy), and what the blocks
 * hold (the backend).
 */
#ifndef SERVELAB_SERVE_KV_BLOCKS_H
#define SERVELAB_SERVE_KV_BLOCKS_H

#include "base/err.h"

#include <stdint.h>

struct kv_pool; /* all blocks of one backend; one thread */

/* A sequence's blocks. Zero-initialised is empty. */
struct kv_table {
    int32_t *blocks; /* (n_blocks) physical block numbers */
    int32_t n_blocks, cap;
    int32_t n_published; /* of them, from the front: shared or published */
    int64_t prefix;      /* names the contents of those; 0 for none */
};

/* A pool of n_blocks free blocks, numbered from 0. NULL and *e when n_blocks < 1 or memory is out.
 */
struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e);
/* NULL is allowed. Tables are not freed with it: release them before. */
void kv_pool_free(struct kv_pool *p);
/* Blocks without references: those that kv_table_reserve can give. */
int32_t kv_pool_free_blocks(const struct kv_pool *p);
int32_t kv_pool_total_blocks(const struct kv_pool *p);

/* Grows *t until it holds `tokens` tokens. The new blocks hold nothing of value. All or nothing: -1
 * and no change when the pool has too few free blocks. */
int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e);

/* Gives up all references and empties *t. Giving a block back twice is a bug and aborts. */
void kv_table_release(struct kv_pool *p, struct kv_table *t);

/* *t is empty. Puts into it the published blocks of the longest known prefix of tokens[0..most), as
 * far as whole blocks go. Returns the tokens that they hold, a multiple of KV_BLOCK_TOKENS. Each
 * block is held by one reference more; one that had none before is free no longer. */
int32_t kv_table_share(struct kv_pool *p, struct kv_table *t, const int32_t *tokens, int32_t most);

/* Makes the blocks of *t findable that are full: tokens[0..computed) are in the cache. tokens are
 * those of the sequence, the same at every call. Where equal contents are published already, that
 * block stays the one that is found. */
void kv_table_publish(struct kv_pool *p, struct kv_table *t, const int32_t *tokens,
                      int32_t computed);

#endif
