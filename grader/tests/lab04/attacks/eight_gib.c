/* 8 GiB for a pool, and every page of it.
 * file: kv_blocks.c
 * watch: quality.kv_count
 * examined: lost; says: SIGSEGV|SIGKILL|SIGABRT
 * trusted: nothing; also in bubblewrap
 */
//reference kv_pool_create right_create
#include <stdlib.h>

struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e) {
    size_t n = (size_t)8 << 30;
    volatile char *p = malloc(n);
    for (size_t i = 0; i < n; i += 4096) p[i] = 1;
    return right_create(n_blocks, e);
}
