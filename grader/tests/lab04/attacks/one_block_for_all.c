/* Gives the same block again and again: the pool is never full.
 * file: kv_blocks.c
 * watch: quality.kv_count
 * examined: lost; says: a table holds already|did not refuse|SIGABRT
 * trusted: nothing
 */
//reference kv_table_reserve right_reserve
#include <stdlib.h>

int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e) {
    int32_t want = (tokens + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS;
    if (want <= t->n_blocks) return 0;
    t->blocks = realloc(t->blocks, (size_t)want * sizeof *t->blocks);
    while (t->n_blocks < want) t->blocks[t->n_blocks++] = 0;
    (void)p, (void)e, (void)right_reserve;
    return 0;
}
