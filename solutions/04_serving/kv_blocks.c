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
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

struct block {
    int32_t refs;
    int32_t before, after; /* in the list of free blocks; NONE at its ends */
    int32_t chain;         /* the next block in its hash bucket */
    int64_t prefix;        /* names its contents and all before them; 0: not published */
    int64_t parent;        /* the prefix in front of it; 0: it begins the sequence */
    int32_t tokens[KV_BLOCK_TOKENS];
};

struct kv_pool {
    int32_t n_blocks, n_free;
    int32_t first, last; /* of the free blocks */
    int32_t n_buckets;
    int64_t last_prefix;
    struct block *blocks; /* (n_blocks) */
    int32_t *buckets;     /* (n_buckets) */
};

/* ---- the list of free blocks ----------------------------------------------------------------- */

static void link_between(struct kv_pool *p, int32_t b, int32_t before, int32_t after) {
    p->blocks[b].before = before;
    p->blocks[b].after = after;
    *(before == NONE ? &p->first : &p->blocks[before].after) = b;
    *(after == NONE ? &p->last : &p->blocks[after].before) = b;
    p->n_free++;
}

static void unlink_block(struct kv_pool *p, int32_t b) {
    const struct block *k = &p->blocks[b];
    *(k->before == NONE ? &p->first : &p->blocks[k->before].after) = k->after;
    *(k->after == NONE ? &p->last : &p->blocks[k->after].before) = k->before;
    p->n_free--;
}

/* ---- finding a block by its contents --------------------------------------------------------- */

/* FNV-1a over words; a collision costs one comparison of tokens more. */
static int32_t *bucket_of(const struct kv_pool *p, int64_t parent, const int32_t *tokens) {
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)parent;
    for (int32_t i = 0; i < KV_BLOCK_TOKENS; i++)
        h = (h ^ (uint32_t)tokens[i]) * UINT64_C(0x100000001b3);
    return &p->buckets[(h ^ h >> 32) % (uint64_t)p->n_buckets];
}

static int32_t find(const struct kv_pool *p, int64_t parent, const int32_t *tokens) {
    int32_t b = *bucket_of(p, parent, tokens);
    while (b != NONE && (p->blocks[b].parent != parent ||
                         memcmp(p->blocks[b].tokens, tokens, sizeof p->blocks[b].tokens)))
        b = p->blocks[b].chain;
    return b;
}

static void publish(struct kv_pool *p, int32_t b, int64_t parent, const int32_t *tokens) {
    struct block *k = &p->blocks[b];
    int32_t *bucket = bucket_of(p, parent, tokens);
    k->prefix = ++p->last_prefix;
    k->parent = parent;
    memcpy(k->tokens, tokens, sizeof k->tokens);
    k->chain = *bucket;
    *bucket = b;
}

static void forget(struct kv_pool *p, int32_t b) {
    struct block *k = &p->blocks[b];
    if (k->prefix == 0) return;
    int32_t *at = bucket_of(p, k->parent, k->tokens);
    while (*at != b) at = &p->blocks[*at].chain;
    *at = k->chain;
    k->prefix = 0;
}

/* ---- references ------------------------------------------------------------------------------ */

static int32_t take(struct kv_pool *p) {
    int32_t b = p->first;
    INVARIANT(b != NONE && p->blocks[b].refs == 0);
    unlink_block(p, b);
    forget(p, b);
    p->blocks[b].refs = 1;
    return b;
}

static void hold(struct kv_pool *p, int32_t b) {
    if (p->blocks[b].refs++ == 0) unlink_block(p, b);
}

static void give(struct kv_pool *p, int32_t b) {
    INVARIANT(b >= 0 && b < p->n_blocks);
    INVARIANT(p->blocks[b].refs > 0); /* a reference is given back once */
    if (--p->blocks[b].refs > 0) return;
    if (p->blocks[b].prefix)
        link_between(p, b, p->last, NONE);
    else
        link_between(p, b, NONE, p->first);
}

static bool make_room(struct kv_table *t, int32_t cap) {
    if (cap <= t->cap) return true;
    int32_t *blocks = realloc(t->blocks, (size_t)cap * sizeof *blocks);
    if (!blocks) return false;
    t->blocks = blocks;
    t->cap = cap;
    return true;
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
    p->n_blocks = p->n_buckets = n_blocks;
    p->first = p->last = NONE;
    p->blocks = calloc((size_t)n_blocks, sizeof *p->blocks);
    p->buckets = malloc((size_t)n_blocks * sizeof *p->buckets);
    if (!p->blocks || !p->buckets) goto no_memory;
    /* block 0 first: a short run uses low numbers, which reads well in a debugger */
    for (int32_t i = 0; i < n_blocks; i++) {
        p->buckets[i] = NONE;
        link_between(p, i, p->last, NONE);
    }
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
    free(p->blocks);
    free(p->buckets);
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
    if (!make_room(t, want)) return err_set(e, "no memory for a block table of %d blocks", want);
    while (t->n_blocks < want) t->blocks[t->n_blocks++] = take(p);
    return 0;
    // END SOLUTION
}

void kv_table_release(struct kv_pool *p, struct kv_table *t) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_table_release");
    /* from the back: a block can be used only with those before it, so the last is given up first
     */
    for (int32_t i = t->n_blocks; i-- > 0;) give(p, t->blocks[i]);
    free(t->blocks);
    *t = (struct kv_table){0};
    // END SOLUTION
}

int32_t kv_table_share(struct kv_pool *p, struct kv_table *t, const int32_t *tokens, int32_t most) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_table_share");
    INVARIANT(t->n_blocks == 0);
    int32_t n = 0;
    for (; (n + 1) * KV_BLOCK_TOKENS <= most; n++) {
        int32_t b = find(p, t->prefix, tokens + n * KV_BLOCK_TOKENS);
        if (b == NONE || !make_room(t, n + 1)) break;
        hold(p, b);
        t->blocks[n] = b;
        t->prefix = p->blocks[b].prefix;
        t->n_published = t->n_blocks = n + 1;
    }
    return n * KV_BLOCK_TOKENS;
    // END SOLUTION
}

void kv_table_publish(struct kv_pool *p, struct kv_table *t, const int32_t *tokens,
                      int32_t computed) {
    // BEGIN SOLUTION
    //| LAB_TODO("kv_table_publish");
    for (; (t->n_published + 1) * KV_BLOCK_TOKENS <= computed; t->n_published++) {
        const int32_t *part = tokens + t->n_published * KV_BLOCK_TOKENS;
        int32_t b = find(p, t->prefix, part);
        if (b == NONE) {
            b = t->blocks[t->n_published];
            publish(p, b, t->prefix, part);
        }
        t->prefix = p->blocks[b].prefix;
    }
    // END SOLUTION
}
