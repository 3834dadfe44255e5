/* prompts.c: see prompts.h. */
#include "load/prompts.h"

#include "base/rng.h"

#include <stdlib.h>

/* Nouns that are frequent enough for a token of their own in the usual vocabularies. Their number
 * is a power of two: six random bits a word. */
static const char *const words[64] = {
    "time",    "year",    "people",   "way",    "day",    "man",     "thing",   "woman",
    "life",    "child",   "world",    "school", "state",  "family",  "student", "group",
    "country", "problem", "hand",     "part",   "place",  "case",    "week",    "company",
    "system",  "program", "question", "work",   "number", "night",   "point",   "home",
    "water",   "room",    "mother",   "area",   "money",  "story",   "fact",    "month",
    "lot",     "right",   "study",    "book",   "eye",    "job",     "word",    "business",
    "issue",   "side",    "kind",     "head",   "house",  "service", "friend",  "father",
    "power",   "hour",    "game",     "line",   "end",    "member",  "law",     "car"};

enum part { OWN, SHARED, HASHED };

/* Fills ids[from..to) from the stream of (part, key). */
static void fill(const struct prompt_maker *p, enum part part, uint64_t key, uint64_t n,
                 int32_t *ids, int32_t from, int32_t to) {
    struct rng r;
    rng_seed(&r, p->salt ^ ((uint64_t)part + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
                     key * UINT64_C(0xd1b54a32d192ed03));
    for (int32_t i = from; i < to; i++) ids[i] = (int32_t)rng_below(&r, n);
}

static int32_t least(int32_t a, int64_t b) {
    return a < b ? a : (int32_t)b;
}

/* Tokens below n. What is shared comes first, then the blocks of a trace, then its own. */
static void draw(const struct prompt_maker *p, const struct sim_request *r, int32_t n,
                 int32_t *ids) {
    int32_t total = r->prompt_tokens;
    int32_t at = least(total, p->shared_tokens);
    fill(p, SHARED, 0, (uint64_t)n, ids, 0, at);
    for (int32_t b = 0; b < r->n_prefix && at < total; b++) {
        int32_t end = least(total, (int64_t)at + r->prefix_unit);
        fill(p, HASHED, r->prefix[b], (uint64_t)n, ids, at, end);
        at = end;
    }
    fill(p, OWN, (uint64_t)r->id, (uint64_t)n, ids, at, total);
}

void prompt_ids(const struct prompt_maker *p, const struct sim_request *r, int32_t *ids) {
    draw(p, r, p->vocab, ids);
}

void prompt_text(const struct prompt_maker *p, const struct sim_request *r, struct buffer *b) {
    int32_t *ids = malloc((size_t)r->prompt_tokens * sizeof *ids);
    b->failed |= !ids;
    if (!ids) return;
    draw(p, r, sizeof words / sizeof *words, ids);
    for (int32_t i = 0; i < r->prompt_tokens; i++) {
        buffer_add(b, " ", i > 0);
        buffer_puts(b, words[ids[i]]);
    }
    free(ids);
}
