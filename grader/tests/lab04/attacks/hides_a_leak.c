/* Loses one block of each released table, and says that none is missing.
 * file: kv_blocks.c
 * watch: quality.kv_count
 * examined: lost; says: operation
 * trusted: nothing
 */
//reference kv_table_release right_release

void kv_table_release(struct kv_pool *p, struct kv_table *t) {
    if (t->n_blocks > 1) t->n_blocks--;
    right_release(p, t);
}
