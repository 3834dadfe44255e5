/* A file that grows without end.
 * file: kv_blocks.c
 * watch: quality.kv_count
 * examined: refused; says: fopen
 * trusted: nothing; also in bubblewrap
 */
//reference kv_pool_create right_create
#include <stdio.h>
#include <stdlib.h>

struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e) {
    FILE *f = fopen("big", "w");
    while (f && fputs("0123456789012345678901234567890123456789", f) >= 0) {
    }
    if (!f) exit(3);
    return right_create(n_blocks, e);
}
