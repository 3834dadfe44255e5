/* bpe.c: ranked merges in a hash table; short words by scanning, long ones through a heap. See
 * bpe.h.
 *
 * Nearly every word has under 20 bytes, for which scanning all pairs is faster than a heap. A
 * "word" may also be a megabyte of one letter, for which scanning would take hours, so past
 * SHORT_WORD bytes a heap needs time in n log n. A test compares both with the definition.
 */
#include "model/bpe.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHORT_WORD = 48
}; /* bytes; between 16 and 200 the choice can't be measured (bench/SPEED.md) */

int id_list_push(struct id_list *l, int32_t id, struct err *e) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        int32_t *ids = realloc(l->ids, cap * sizeof *ids);
        if (!ids) return err_set(e, "out of memory for %zu token ids", cap);
        l->ids = ids;
        l->cap = cap;
    }
    l->ids[l->n++] = id;
    return 0;
}

int bpe_init(struct bpe *b, size_t n_merges, struct err *e) {
    memset(b->byte_id, 0xff, sizeof b->byte_id);
    b->n_slots = 16;
    while (b->n_slots < 2 * n_merges) b->n_slots *= 2;
    b->merges = malloc(b->n_slots * sizeof *b->merges);
    if (!b->merges) return err_set(e, "out of memory for %zu merges", n_merges);
    for (size_t i = 0; i < b->n_slots; i++) b->merges[i].pair = UINT64_MAX;
    return 0;
}

void bpe_release(struct bpe *b) {
    free(b->merges);
    b->merges = NULL;
}

static uint64_t make_pair(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The slot of the pair, or the empty one where it would go. Half of the slots stay empty. */
static struct bpe_merge *slot_of(const struct bpe *b, uint64_t pair) {
    uint64_t h = pair * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio spreads ids */
    size_t i = (h ^ h >> 32) & (b->n_slots - 1);
    while (b->merges[i].pair != pair && b->merges[i].pair != UINT64_MAX)
        i = (i + 1) & (b->n_slots - 1);
    return &b->merges[i];
}

void bpe_add(struct bpe *b, int32_t left, int32_t right, int32_t id, int32_t rank) {
    struct bpe_merge *m = slot_of(b, make_pair(left, right));
    if (m->pair == UINT64_MAX) *m = (struct bpe_merge){make_pair(left, right), rank, id};
}

/* The merge of the pair; rank INT32_MAX when there is none. */
static struct bpe_merge merge_of(const struct bpe *b, int32_t left, int32_t right) {
    struct bpe_merge m = *slot_of(b, make_pair(left, right));
    if (m.pair == UINT64_MAX) m.rank = INT32_MAX;
    return m;
}

static int merge_short(const struct bpe *b, int32_t *ids, size_t n, struct id_list *out,
                       struct err *e) {
    struct bpe_merge with_next[SHORT_WORD];
    for (size_t i = 0; i + 1 < n; i++) with_next[i] = merge_of(b, ids[i], ids[i + 1]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (with_next[i].rank < with_next[best].rank) best = i;
        if (with_next[best].rank == INT32_MAX) break;
        ids[best] = with_next[best].id;
        n--;
        memmove(ids + best + 1, ids + best + 2, (n - best - 1) * sizeof *ids);
        memmove(with_next + best, with_next + best + 1, (n - best) * sizeof *with_next);
        if (best > 0) with_next[best - 1] = merge_of(b, ids[best - 1], ids[best]);
        if (best + 1 < n) with_next[best] = merge_of(b, ids[best], ids[best + 1]);
    }
    for (size_t i = 0; i < n; i++)
        if (id_list_push(out, ids[i], e)) return -1;
    return 0;
}

/* ---- long words ------------------------------------------------------------------------------ */

struct symbol {
    int32_t id;         /* -1: merged into its left neighbour */
    int32_t prev, next; /* -1 at the ends */
};

struct candidate {
    int32_t rank, at, id; /* the pair that starts at symbol `at` becomes id */
};

struct heap {
    struct candidate *c;
    size_t n, cap;
};

static bool comes_first(struct candidate a, struct candidate b) {
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static int heap_push(struct heap *h, struct candidate c, struct err *e) {
    if (h->n == h->cap) {
        size_t cap = h->cap ? 2 * h->cap : 256;
        struct candidate *p = realloc(h->c, cap * sizeof *p);
        if (!p) return err_set(e, "out of memory for a word of many bytes");
        h->c = p;
        h->cap = cap;
    }
    size_t i = h->n++;
    for (; i > 0 && comes_first(c, h->c[(i - 1) / 2]); i = (i - 1) / 2) h->c[i] = h->c[(i - 1) / 2];
    h->c[i] = c;
    return 0;
}

static struct candidate heap_pop(struct heap *h) {
    struct candidate top = h->c[0], last = h->c[--h->n];
    size_t i = 0;
    for (size_t child = 1; child < h->n; child = 2 * i + 1) {
        if (child + 1 < h->n && comes_first(h->c[child + 1], h->c[child])) child++;
        if (!comes_first(h->c[child], last)) break;
        h->c[i] = h->c[child];
        i = child;
    }
    h->c[i] = last;
    return top;
}

static int push_pair(const struct bpe *b, const struct symbol *s, int32_t at, struct heap *h,
                     struct err *e) {
    if (at < 0 || s[at].next < 0) return 0;
    struct bpe_merge m = merge_of(b, s[at].id, s[s[at].next].id);
    if (m.rank == INT32_MAX) return 0;
    return heap_push(h, (struct candidate){m.rank, at, m.id}, e);
}

static int merge_all(const struct bpe *b, struct symbol *s, struct heap *h, struct err *e) {
    while (h->n > 0) {
        struct candidate c = heap_pop(h);
        int32_t right = s[c.at].next;
        if (s[c.at].id < 0 || right < 0) continue;
        /* The pair may have changed since it was pushed; then its newer form is in the heap too. */
        struct bpe_merge now = merge_of(b, s[c.at].id, s[right].id);
        if (now.rank != c.rank || now.id != c.id) continue;
        s[c.at].id = c.id;
        s[c.at].next = s[right].next;
        if (s[right].next >= 0) s[s[right].next].prev = c.at;
        s[right].id = -1;
        if (push_pair(b, s, s[c.at].prev, h, e) || push_pair(b, s, c.at, h, e)) return -1;
    }
    return 0;
}

static int merge_long(const struct bpe *b, const int32_t *ids, size_t n, struct id_list *out,
                      struct err *e) {
    struct symbol *s = malloc(n * sizeof *s);
    struct heap h = {0};
    int rc = -1;
    if (!s) {
        err_set(e, "out of memory for a word of %zu bytes", n);
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        s[i] = (struct symbol){ids[i], (int32_t)i - 1, i + 1 < n ? (int32_t)i + 1 : -1};
    for (size_t i = 0; i < n; i++)
        if (push_pair(b, s, (int32_t)i, &h, e)) goto done;
    if (merge_all(b, s, &h, e)) goto done;
    for (int32_t i = 0; i >= 0; i = s[i].next)
        if (id_list_push(out, s[i].id, e)) goto done;
    rc = 0;
done:
    free(s);
    free(h.c);
    return rc;
}

int bpe_merge(const struct bpe *b, int32_t *ids, size_t n, struct id_list *out, struct err *e) {
    INVARIANT(n <= INT32_MAX);
    return n <= SHORT_WORD ? merge_short(b, ids, n, out, e) : merge_long(b, ids, n, out, e);
}

int bpe_encode(const struct bpe *b, const char *word, size_t n_bytes, struct id_list *out,
               struct err *e) {
    int32_t few[SHORT_WORD], *ids = few;
    if (n_bytes > SHORT_WORD && !(ids = malloc(n_bytes * sizeof *ids)))
        return err_set(e, "out of memory for a word of %zu bytes", n_bytes);
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        int32_t id = b->byte_id[(unsigned char)word[i]];
        if (id >= 0) ids[n++] = id;
    }
    int rc = bpe_merge(b, ids, n, out, e);
    if (ids != few) free(ids);
    return rc;
}
