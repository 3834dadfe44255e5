/* judge_kv.c: runs a script of operations on the learner's KV pool, and judges every table that
 * comes back. Which free block is given is the submission's choice where kv_blocks.h leaves it; so
 * the judge follows what was given and checks that it was allowed: a block that nobody holds, the
 * least useful one, the order of the table, the contents of shared blocks.
 *
 * A block's contents are the tokens from the beginning of its sequence. When a block is given up,
 * blocks that continue it can no longer be found through it: the judge calls them orphans, and
 * accepts both an implementation that still finds them and one that doesn't.
 */
#include "lab04/lab04.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 5, MAX_BLOCKS = 40, SEQ_TOKENS = KV_MAX_TABLE * KV_BLOCK_TOKENS };

/* ---- scripts --------------------------------------------------------------------------------- */

struct script {
    int64_t n_blocks, n_ops;
    int32_t seq[SEQUENCES + 1][SEQ_TOKENS]; /* 1 .. SEQUENCES */
    const int64_t *ops;
};

/* How far a table is, so that the script only does what is allowed. */
struct sketch {
    int seq, tokens, computed, published;
};

static void add(struct lab04_case *c, int64_t v) {
    INVARIANT(c->n < CASE_MAX_SCRIPT);
    c->v[c->n++] = v;
}

static void op(struct lab04_case *c, int what, int table, int seq, int tokens) {
    add(c, what);
    add(c, table);
    add(c, seq);
    add(c, tokens);
}

/* One turn: an empty table begins a sequence, another one grows or ends. */
static int turn(struct rng *rng, int which, struct lab04_case *c, struct sketch *t, int table) {
    bool shares = which != JUDGE_KV_COUNT && which != JUDGE_KV_ORDER;
    int n = 0;
    if (t->seq == 0) {
        t->seq = (int)lab04_between(rng, 1, SEQUENCES);
        t->tokens = (int)lab04_between(rng, 1, SEQ_TOKENS - 20);
        if (shares) op(c, KV_SHARE, table, t->seq, t->tokens - 1);
        op(c, KV_RESERVE, table, t->seq, t->tokens);
        n = 1 + shares;
    } else if (t->tokens < SEQ_TOKENS && lab04_chance(rng, 55)) {
        t->tokens += (int)lab04_between(rng, 1, 20);
        if (t->tokens > SEQ_TOKENS) t->tokens = SEQ_TOKENS;
        op(c, KV_RESERVE, table, t->seq, t->tokens);
        n = 1;
    } else {
        op(c, KV_RELEASE, table, t->seq, 0);
        *t = (struct sketch){0};
        return 1;
    }
    return n;
}

void lab04_make_kv(struct rng *rng, int which, struct lab04_case *c) {
    struct sketch tables[KV_TABLES] = {{0}};
    bool tight = which == JUDGE_KV_EVICT || which == JUDGE_KV_COUNT;
    bool shares = which != JUDGE_KV_COUNT && which != JUDGE_KV_ORDER;
    int32_t common[SEQ_TOKENS];
    size_t at_ops;
    int n = 0;
    c->fn = FN_KV;
    c->n = 0;
    add(c, tight ? lab04_between(rng, 9, 16) : lab04_between(rng, 30, MAX_BLOCKS));
    add(c, SEQUENCES);
    for (int i = 0; i < SEQ_TOKENS; i++) common[i] = (int32_t)rng_below(rng, 9);
    for (int s = SEQUENCES; s >= 1; s--) { /* in the child's order: the last one first */
        int own = 16 * (int)lab04_between(rng, 0, 3) + (int)lab04_between(rng, 0, 15);
        /* some differ in their first block only: what follows it is another sequence's all the same
         */
        int other = lab04_chance(rng, 40) ? (int)lab04_between(rng, 0, 15) : -1;
        add(c, SEQ_TOKENS);
        for (int i = 0; i < SEQ_TOKENS; i++)
            add(c, i == other ? 9 + s : i < own ? common[i] : (int64_t)rng_below(rng, 9));
    }
    at_ops = c->n;
    add(c, 0);
    while (n < KV_MAX_OPS - 6) {
        int table = (int)rng_below(rng, KV_TABLES);
        struct sketch *t = &tables[table];
        n += turn(rng, which, c, t, table);
        if (shares && t->seq && lab04_chance(rng, 70)) {
            op(c, KV_PUBLISH, table, t->seq, t->tokens);
            n++;
        }
    }
    c->v[at_ops] = n;
    c->n_slots = (size_t)n * KV_SLOTS + 3;
}

/* ---- the model ------------------------------------------------------------------------------- */

struct block {
    int refs, length; /* of its contents in tokens; 0: not published */
    bool orphan;
    int64_t freed; /* when its last reference was given up */
    int32_t tokens[SEQ_TOKENS];
};

struct table {
    int n, n_published, seq;
    bool stale; /* a block that its prefix was found in was given up */
    int32_t b[KV_MAX_TABLE];
};

struct model {
    const struct script *s;
    struct block block[MAX_BLOCKS];
    struct table table[KV_TABLES];
    int64_t clock;
    char why[200];
};

static bool lose(struct model *m, int i, const char *what) {
    snprintf(m->why, sizeof m->why, "operation %d: %s", i + 1, what);
    return false;
}

static int free_of(const struct model *m) {
    int n = 0;
    for (int64_t b = 0; b < m->s->n_blocks; b++) n += m->block[b].refs == 0;
    return n;
}

static bool holds(const struct block *b, const int32_t *tokens, int n) {
    return b->length == n && !memcmp(b->tokens, tokens, (size_t)n * sizeof *tokens);
}

/* A block with these contents: 1 one that must be found, 0 only orphans, -1 none. */
static int known(const struct model *m, const int32_t *tokens, int n) {
    int best = -1;
    for (int64_t b = 0; b < m->s->n_blocks; b++)
        if (holds(&m->block[b], tokens, n) && best < 1) best = !m->block[b].orphan;
    return best;
}

static void forget(struct model *m, struct block *gone) {
    int n = gone->length;
    if (n == 0) return;
    gone->length = 0;
    for (int64_t i = 0; i < m->s->n_blocks; i++) {
        struct block *b = &m->block[i];
        if (b->length > n && !memcmp(b->tokens, gone->tokens, (size_t)n * sizeof *b->tokens))
            b->orphan = true;
    }
    for (int i = 0; i < KV_TABLES; i++) {
        struct table *t = &m->table[i];
        if (t->n_published * KV_BLOCK_TOKENS >= n &&
            !memcmp(m->s->seq[t->seq], gone->tokens, (size_t)n * sizeof *gone->tokens))
            t->stale = true;
    }
}

/* May block b be given now? The blocks without contents first, then the least recently used. */
static bool least_useful(const struct model *m, int32_t b, const bool *given) {
    const struct block *mine = &m->block[b];
    for (int64_t i = 0; i < m->s->n_blocks; i++)
        if (m->block[i].refs == 0 && m->block[i].orphan && m->block[i].length) return true;
    if (mine->length == 0) return true;
    for (int64_t i = 0; i < m->s->n_blocks; i++) {
        const struct block *other = &m->block[i];
        if (other->refs > 0 || given[i] || i == b) continue;
        if (other->length == 0 || other->freed < mine->freed) return false;
    }
    return true;
}

static bool same_front(const struct table *t, const int64_t *got) {
    for (int i = 0; i < t->n; i++)
        if (got[3 + i] != t->b[i]) return false;
    return true;
}

static bool after_reserve(struct model *m, int i, struct table *t, int tokens, const int64_t *got) {
    int need = (tokens + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS - t->n, there = free_of(m);
    bool given[MAX_BLOCKS] = {false};
    if (need > there)
        return (got[0] == -1 && got[2] == t->n && same_front(t, got)) ||
               lose(m, i, "too few blocks are free, and kv_table_reserve did not refuse unchanged");
    if (need < 0) need = 0;
    if (got[0] != 0 || got[2] != t->n + need)
        return lose(m, i, "kv_table_reserve did not give the blocks that are needed");
    if (!same_front(t, got)) return lose(m, i, "blocks that a table has changed their order");
    for (int k = t->n; k < t->n + need; k++) {
        int64_t b = got[3 + k];
        if (b < 0 || b >= m->s->n_blocks) return lose(m, i, "a block number that does not exist");
        if (m->block[b].refs > 0 || given[b])
            return lose(m, i, "a block was given that a table holds already");
        given[b] = true;
    }
    for (int k = t->n; k < t->n + need; k++)
        if (!least_useful(m, (int32_t)got[3 + k], given))
            return lose(m, i,
                        "a block with contents was given up while a less useful one was free");
    for (int k = t->n; k < t->n + need; k++) {
        struct block *b = &m->block[got[3 + k]];
        forget(m, b);
        b->refs = 1;
        b->orphan = false;
        t->b[k] = (int32_t)got[3 + k];
    }
    t->n += need;
    return true;
}

static bool after_share(struct model *m, int i, struct table *t, int most, const int64_t *got) {
    const int32_t *tokens = m->s->seq[t->seq];
    int n = (int)(got[0] / KV_BLOCK_TOKENS);
    if (got[0] < 0 || got[0] > most || got[0] % KV_BLOCK_TOKENS || got[2] != n)
        return lose(m, i, "kv_table_share returned a number that its table does not have");
    for (int k = 0; k < n; k++) {
        int64_t b = got[3 + k];
        if (b < 0 || b >= m->s->n_blocks || !holds(&m->block[b], tokens, (k + 1) * KV_BLOCK_TOKENS))
            return lose(m, i, "a shared block does not hold the tokens that were asked for");
        if (m->block[b].orphan) t->stale = true;
        m->block[b].refs++;
        t->b[k] = (int32_t)b;
    }
    t->n = t->n_published = n;
    if ((n + 1) * KV_BLOCK_TOKENS <= most && known(m, tokens, (n + 1) * KV_BLOCK_TOKENS) == 1)
        return lose(m, i, "kv_table_share stopped before the end of the known prefix");
    return true;
}

static void after_publish(struct model *m, struct table *t, int computed) {
    const int32_t *tokens = m->s->seq[t->seq];
    if (computed > t->n * KV_BLOCK_TOKENS) computed = t->n * KV_BLOCK_TOKENS; /* as the child */
    for (; (t->n_published + 1) * KV_BLOCK_TOKENS <= computed; t->n_published++) {
        int n = (t->n_published + 1) * KV_BLOCK_TOKENS;
        struct block *b = &m->block[t->b[t->n_published]];
        int there = known(m, tokens, n);
        if (there == 1 && !t->stale) continue;
        b->length = n;
        b->orphan = t->stale || there >= 0;
        memcpy(b->tokens, tokens, (size_t)n * sizeof *tokens);
    }
}

static bool follow(struct model *m, int i, const int64_t *what, const int64_t *got) {
    struct table *t = &m->table[what[1]];
    int tokens = (int)what[3];
    if (what[0] == KV_RELEASE) {
        for (int k = t->n; k-- > 0;) {
            m->block[t->b[k]].refs--;
            m->block[t->b[k]].freed = ++m->clock;
        }
        *t = (struct table){0};
        if (got[2] != 0) return lose(m, i, "a released table still has blocks");
    } else {
        t->seq = (int)what[2];
        if (what[0] == KV_RESERVE && !after_reserve(m, i, t, tokens, got)) return false;
        if (what[0] == KV_SHARE && !after_share(m, i, t, tokens, got)) return false;
        if (what[0] == KV_PUBLISH) after_publish(m, t, tokens);
        if (got[2] != t->n || !same_front(t, got))
            return lose(m, i, "a table changed that should not");
    }
    return got[1] == free_of(m) ||
           lose(m, i, "kv_pool_free_blocks is not the number of blocks without references");
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void read_script(struct script *s, const struct lab04_case *c) {
    const int64_t *v = c->v;
    s->n_blocks = *v++;
    int64_t n = *v++;
    for (; n > 0; n--) {
        v++; /* its length */
        for (int i = 0; i < SEQ_TOKENS; i++) s->seq[n][i] = (int32_t)*v++;
    }
    s->n_ops = *v++;
    s->ops = v;
}

static void lost(struct dialogue *d, struct check_result *r, const char *why) {
    r->outcome = OUTCOME_LOST;
    snprintf(r->kind, sizeof r->kind, "a sequence of operations on a pool of KV blocks");
    snprintf(r->message, sizeof r->message, "%.200s",
             d->practice ? why : "a sequence of operations went wrong");
}

void lab04_judge_kv(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    static struct lab04_case c;
    static int64_t got[CASE_MAX_SLOTS];
    static struct model m;
    static struct script s;
    for (int k = 0; k < def->n_cases; k++) {
        struct rng rng;
        size_t n;
        rng_seed(&rng, case_sequence(d->seed, def->id, k));
        memset(&c, 0, sizeof c);
        lab04_make_kv(&rng, def->maker, &c);
        unsigned char *bytes = lab04_encode(&c, &n, &d->err);
        INVARIANT(bytes);
        enum dialogue_answer a = dialogue_ask(d, bytes, n, got, c.n_slots, NULL);
        free(bytes);
        if (d->fault || d->todo) return;
        memset(&m, 0, sizeof m);
        read_script(&s, &c);
        m.s = &s;
        bool right = a == DIALOGUE_OK;
        for (int i = 0; right && i < s.n_ops; i++)
            right = follow(&m, i, s.ops + 4 * i, got + (size_t)i * KV_SLOTS);
        const int64_t *end = got + s.n_ops * KV_SLOTS;
        if (right && (end[0] != s.n_blocks || end[1] != s.n_blocks))
            right = lose(&m, (int)s.n_ops - 1, "after all tables are released, not all is free");
        if (right && end[2] != 1)
            right = lose(&m, (int)s.n_ops - 1, "then a pool of 0 blocks was not refused");
        if (!right) {
            lost(d, r, a == DIALOGUE_OK ? m.why : d->why);
            return;
        }
        r->cases_right++;
    }
    r->outcome = OUTCOME_EARNED;
}
