/* Another right pool: no lists and no hash table. Each block has its whole contents from the
 * beginning of its sequence, and every question is a walk over all blocks. */
#include "serve/kv_blocks.h"

#include "sched/policy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct block {
    int32_t refs, length; /* of its contents; 0: not published */
    int64_t freed;
    int32_t *contents; /* (length) */
};

struct kv_pool {
    int32_t n, turn;
    int64_t now;
    struct block *blocks;
};

struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e) {
    static int32_t pools; /* which free block is given is the pool's choice */
    if (n_blocks < 1) {
        err_set(e, "at least one block is needed, not %d", n_blocks);
        return NULL;
    }
    struct kv_pool *p = calloc(1, sizeof *p);
    struct block *blocks = calloc((size_t)n_blocks, sizeof *blocks);
    if (!p || !blocks) {
        free(p);
        free(blocks);
        err_set(e, "no memory");
        return NULL;
    }
    p->n = n_blocks;
    p->turn = pools++ % n_blocks;
    p->blocks = blocks;
    return p;
}

void kv_pool_free(struct kv_pool *p) {
    for (int32_t i = 0; p && i < p->n; i++) free(p->blocks[i].contents);
    if (p) free(p->blocks);
    free(p);
}

int32_t kv_pool_free_blocks(const struct kv_pool *p) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->n; i++) n += p->blocks[i].refs == 0;
    return n;
}

int32_t kv_pool_total_blocks(const struct kv_pool *p) {
    return p->n;
}

/* From the highest number down, unlike the reference, and in each pool from another number. */
static int32_t least_useful(const struct kv_pool *p) {
    int32_t best = -1;
    for (int32_t k = p->n; k-- > 0;) {
        int32_t i = (k + p->turn) % p->n;
        const struct block *b = &p->blocks[i];
        if (b->refs > 0) continue;
        if (b->length == 0) return i;
        if (best < 0 || b->freed < p->blocks[best].freed) best = i;
    }
    return best;
}

int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e) {
    int32_t want = policy_blocks_for(tokens);
    if (want <= t->n_blocks) return 0;
    if (want - t->n_blocks > kv_pool_free_blocks(p)) return err_set(e, "too few free blocks");
    int32_t *grown = realloc(t->blocks, sizeof *grown * (size_t)want);
    if (!grown) return err_set(e, "no memory");
    t->blocks = grown;
    t->cap = want;
    while (t->n_blocks < want) {
        int32_t b = least_useful(p);
        p->blocks[b].refs = 1;
        p->blocks[b].length = 0;
        t->blocks[t->n_blocks++] = b;
    }
    return 0;
}

void kv_table_release(struct kv_pool *p, struct kv_table *t) {
    for (int32_t i = t->n_blocks - 1; i >= 0; i--) {
        struct block *b = &p->blocks[t->blocks[i]];
        INVARIANT(b->refs > 0);
        b->refs--;
        b->freed = ++p->now;
    }
    free(t->blocks);
    memset(t, 0, sizeof *t);
}

static int32_t find(const struct kv_pool *p, const int32_t *tokens, int32_t n) {
    for (int32_t i = 0; i < p->n; i++)
        if (p->blocks[i].length == n &&
            !memcmp(p->blocks[i].contents, tokens, (size_t)n * sizeof *tokens))
            return i;
    return -1;
}

int32_t kv_table_share(struct kv_pool *p, struct kv_table *t, const int32_t *tokens, int32_t most) {
    int32_t full = most / KV_BLOCK_TOKENS, n = 0, b;
    if (full < 1) return 0;
    t->blocks = malloc(sizeof *t->blocks * (size_t)full);
    if (!t->blocks) return 0;
    t->cap = full;
    while (n < full && (b = find(p, tokens, (n + 1) * KV_BLOCK_TOKENS)) >= 0) {
        p->blocks[b].refs++;
        t->blocks[n++] = b;
    }
    t->n_blocks = t->n_published = n;
    return n * KV_BLOCK_TOKENS;
}

void kv_table_publish(struct kv_pool *p, struct kv_table *t, const int32_t *tokens,
                      int32_t computed) {
    for (int32_t n; (n = (t->n_published + 1) * KV_BLOCK_TOKENS) <= computed; t->n_published++) {
        struct block *b = &p->blocks[t->blocks[t->n_published]];
        if (find(p, tokens, n) >= 0) continue;
        int32_t *contents = realloc(b->contents, sizeof *contents * (size_t)n);
        if (!contents) return;
        memcpy(contents, tokens, sizeof *contents * (size_t)n);
        b->contents = contents;
        b->length = n;
    }
}
