/* Every prefix counts as known: whatever block comes first is shared with everybody.
 * file: kv_blocks.c
 * watch: quality.kv_share
 * examined: lost; says: operation|endless loop|SIGABRT
 * trusted: nothing
 */
//reference kv_table_share right_share
#include <stdlib.h>

int32_t kv_table_share(struct kv_pool *p, struct kv_table *t, const int32_t *tokens, int32_t most) {
    int32_t n = right_share(p, t, tokens, most);
    if (n > 0 || most < KV_BLOCK_TOKENS) return n;
    t->blocks = realloc(t->blocks, sizeof *t->blocks);
    t->blocks[t->n_blocks++] = 0;
    return KV_BLOCK_TOKENS;
}
