/* play_shrink.c: finds a small workload that still shows a violation. Delta debugging (Zeller and
 * Hildebrandt, 2002) over the requests, then over their lengths, their arrivals and the cache. See
 * play.h. */
#include "lab02/play.h"

#include "base/clock.h"

#include <string.h>

enum { MAX_TRIES = 400, MAX_SHRINK_MS = 2000, MAX_LOOPS = 2 };

struct shrinking {
    struct dialogue *d;
    struct play *best;
    struct play_result *result; /* of *best */
    int tries, loops;
    int64_t until_ns;
    bool level; /* every max_output_tokens is the longest answer: a trace can't state more */
};

static bool attempt(struct shrinking *s, struct play *candidate);
static void drop_later(struct shrinking *s);
static void drop_requests(struct shrinking *s);
static void shrink_cache(struct shrinking *s);
static void shorten(struct shrinking *s);

int lab02_play_shrink(struct play *p, struct dialogue *d, struct play_result *result) {
    struct shrinking s = {.d = d, .best = p, .result = result, .level = true};
    s.until_ns = clock_monotonic_ns() + MAX_SHRINK_MS * NS_PER_MS;
    struct play c = *p;
    s.level = attempt(&s, &c);
    drop_later(&s);
    drop_requests(&s);
    shrink_cache(&s);
    shorten(&s);
    shrink_cache(&s);
    drop_requests(&s);
    return s.tries;
}

static void make_level(struct play *p) {
    int32_t longest = 1;
    for (size_t i = 0; i < p->n; i++)
        if (p->request[i].output_tokens > longest) longest = p->request[i].output_tokens;
    for (size_t i = 0; i < p->n; i++) p->request[i].max_output_tokens = longest;
}

/* Each endless loop costs a second of CPU time. */
static bool spent(const struct shrinking *s) {
    return s->tries >= MAX_TRIES || s->loops >= MAX_LOOPS || clock_monotonic_ns() > s->until_ns ||
           s->d->fault;
}

static bool fits(const struct play *p) {
    for (size_t i = 0; i < p->n; i++)
        if (policy_blocks_for(p->request[i].prompt_tokens + p->request[i].max_output_tokens) >
            p->kv_blocks)
            return false;
    return p->n > 0 && p->kv_blocks > 0;
}

/* Keeps the candidate if it still shows the violation. */
static bool attempt(struct shrinking *s, struct play *candidate) {
    static struct play_result r;
    if (s->level) make_level(candidate);
    if (spent(s) || !fits(candidate)) return false;
    s->tries++;
    lab02_play_remote(candidate, s->d, &r);
    s->loops += r.violation == VIOLATION_LOOP;
    if (r.violation != s->result->violation ||
        !lab02_play_same_words(r.text, s->result->text, false))
        return false;
    *s->best = *candidate;
    *s->result = r;
    return true;
}

static void drop(struct play *p, size_t from, size_t n) {
    memmove(&p->request[from], &p->request[from + n], (p->n - from - n) * sizeof *p->request);
    p->n -= n;
}

/* Drops what arrives after the violation: it can't be the cause. */
static void drop_later(struct shrinking *s) {
    struct play c = *s->best;
    while (c.n > 1 && c.request[c.n - 1].arrival_ns > s->result->at_ns) c.n--;
    if (c.n < s->best->n) attempt(s, &c);
}

static void drop_requests(struct shrinking *s) {
    for (size_t chunk = (s->best->n + 1) / 2; chunk >= 1 && !spent(s); chunk /= 2) {
        for (size_t from = 0; from < s->best->n && !spent(s);) {
            struct play c = *s->best;
            size_t n = from + chunk <= c.n ? chunk : c.n - from;
            if (n == c.n) break;
            drop(&c, from, n);
            if (!attempt(s, &c)) from += chunk;
        }
    }
}

/* Halves all numbers at once first, then each number of each request. */
static void shorten(struct shrinking *s) {
    struct play c = *s->best;
    for (size_t i = 0; i < c.n; i++) c.request[i].arrival_ns = 0;
    attempt(s, &c);
    for (size_t i = 0; i < s->best->n && !spent(s); i++) {
        for (int what = 0; what < 3; what++) {
            if (what == 1 && s->level) continue;
            for (int32_t to = 1; to >= 0 && !spent(s);) {
                c = *s->best;
                struct play_request *r = &c.request[i];
                int32_t *v = what == 0   ? &r->output_tokens
                             : what == 1 ? &r->max_output_tokens
                                         : &r->prompt_tokens;
                int32_t least = what == 1 ? r->output_tokens : 1, was = *v;
                *v = to == 1 ? least : least + (was - least) / 2;
                if (*v == was) break;
                if (attempt(s, &c)) continue;
                if (to == 0 || was - least < 8) break;
                to = 0;
            }
        }
    }
}

static void shrink_cache(struct shrinking *s) {
    int32_t least = 0;
    for (size_t i = 0; i < s->best->n; i++) {
        const struct play_request *r = &s->best->request[i];
        int32_t need = policy_blocks_for(r->prompt_tokens + r->max_output_tokens);
        if (need > least) least = need;
    }
    for (int32_t to = least; to < s->best->kv_blocks && !spent(s); to += (to - least) + 1) {
        struct play c = *s->best;
        c.kv_blocks = to;
        if (attempt(s, &c)) break;
    }
}
