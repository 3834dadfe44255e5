/* kv_blocks.c: which KV blocks a sequence owns, and which blocks sequences share
 * (serve/kv_blocks.h has the rules).
 *
 * One idea: a block's name is its contents. Blocks without references are in one list: those that
 * hold nothing of value at its front, those that a later prompt may want at its back, in the order
 * of their last use. Taking from the front therefore gives up the least useful block. Published
 * blocks are found through a hash table whose key is the tokens of the block and the prefix in
 * front of it.
 *
 * A prefix is named by a number that is used once, not by a hash of hashes: two different prefixes
 * never have one name, so no request can ever see keys and values of another one's tokens.
 */
#include "serve/kv_blocks.h"

#include "sched/policy.h"
#include "base/lab_todo.h"

struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e) {
    LAB_TODO("kv_pool_create");
}

void kv_pool_free(struct kv_pool *p) {
    LAB_TODO("kv_pool_free");
}

int32_t kv_pool_free_blocks(const struct kv_pool *p) {
    LAB_TODO("kv_pool_free_blocks");
}

int32_t kv_pool_total_blocks(const struct kv_pool *p) {
    LAB_TODO("kv_pool_total_blocks");
}

int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e) {
    LAB_TODO("kv_table_reserve");
}

void kv_table_release(struct kv_pool *p, struct kv_table *t) {
    LAB_TODO("kv_table_release");
}

int32_t kv_table_share(struct kv_pool *p, struct kv_table *t, const int32_t *tokens, int32_t most) {
    LAB_TODO("kv_table_share");
}

void kv_table_publish(struct kv_pool *p, struct kv_table *t, const int32_t *tokens,
                      int32_t computed) {
    LAB_TODO("kv_table_publish");
}
