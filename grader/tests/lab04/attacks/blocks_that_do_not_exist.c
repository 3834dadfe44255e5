/* Block numbers far behind the end of the pool.
 * file: kv_blocks.c
 * watch: quality.kv_order
 * examined: lost; says: does not exist|SIGABRT
 * trusted: nothing
 */
//reference kv_table_reserve right_reserve

int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e) {
    int32_t from = t->n_blocks;
    int rc = right_reserve(p, t, tokens, e);
    for (int32_t i = from; i < t->n_blocks; i++) t->blocks[i] += 1000;
    return rc;
}
