/* kv_blocks.c: which KV blocks a sequence owns (serve/kv_blocks.h has the rules).
 *
 * One idea: the free blocks are a stack, and a byte per block says whether it is taken. The stack
 * makes taking and giving O(1), and gives the block that was used last first, while it is still in
 * the processor's cache. The byte turns a double release into an abort that names it; without it
 * two sequences would write into the same block. Not here: which sequence to preempt when none is
 * free.
 */
#include "serve/kv_blocks.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include "sched/policy.h"

#include <stdbool.h>
#include <stdlib.h>

struct kv_pool {
    int32_t n_blocks, n_free;
    int32_t *free_blocks; /* (n_free) a stack */
    bool *taken;          /* (n_blocks) */
};

static int32_t take(struct kv_pool *p) {
    INVARIANT(p->n_free > 0);
    int32_t b = p->free_blocks[--p->n_free];
    INVARIANT(!p->taken[b]);
    p->taken[b] = true;
    return b;
}

static void give(struct kv_pool *p, int32_t b) {
    INVARIANT(b >= 0 && b < p->n_blocks);
    INVARIANT(p->taken[b]); /* a KV block is given back once */
    p->taken[b] = false;
    p->free_blocks[p->n_free++] = b;
}

static int grow(struct kv_table *t, int32_t cap, struct err *e) {
    if (cap <= t->cap) return 0;
    int32_t *blocks = realloc(t->blocks, (size_t)cap * sizeof *blocks);
    if (!blocks) return err_set(e, "no memory for a block table of %d blocks", cap);
    t->blocks = blocks;
    t->cap = cap;
    return 0;
}
// END SOLUTION

struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_pool_create");
    if (n_blocks < 1) {
        err_set(e, "a KV pool needs at least 1 block, not %d", n_blocks);
        return NULL;
    }
    struct kv_pool *p = calloc(1, sizeof *p);
    if (!p) goto no_memory;
    p->free_blocks = malloc((size_t)n_blocks * sizeof *p->free_blocks);
    p->taken = calloc((size_t)n_blocks, sizeof *p->taken);
    if (!p->free_blocks || !p->taken) goto no_memory;
    p->n_blocks = p->n_free = n_blocks;
    /* block 0 on top: a short run uses low numbers, which are easy to read in a debugger */
    for (int32_t i = 0; i < n_blocks; i++) p->free_blocks[i] = n_blocks - 1 - i;
    return p;
no_memory:
    kv_pool_free(p);
    err_set(e, "no memory for a KV pool of %d blocks", n_blocks);
    return NULL;
    // END SOLUTION
}

void kv_pool_free(struct kv_pool *p) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_pool_free");
    if (!p) return;
    free(p->free_blocks);
    free(p->taken);
    free(p);
    // END SOLUTION
}

int32_t kv_pool_free_blocks(const struct kv_pool *p) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_pool_free_blocks");
    return p->n_free;
    // END SOLUTION
}

int32_t kv_pool_total_blocks(const struct kv_pool *p) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_pool_total_blocks");
    return p->n_blocks;
    // END SOLUTION
}

int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_table_reserve");
    int32_t want = policy_blocks_for(tokens), missing = want - t->n_blocks;
    if (missing <= 0) return 0;
    if (missing > p->n_free)
        return err_set(e, "%d more KV blocks are needed for %d tokens; %d are free", missing,
                       tokens, p->n_free);
    if (grow(t, want, e)) return -1;
    while (t->n_blocks < want) t->blocks[t->n_blocks++] = take(p);
    return 0;
    // END SOLUTION
}

void kv_table_release(struct kv_pool *p, struct kv_table *t) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_table_release");
    for (int32_t i = 0; i < t->n_blocks; i++) give(p, t->blocks[i]);
    free(t->blocks);
    *t = (struct kv_table){0};
    // END SOLUTION
}
