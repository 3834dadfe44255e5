/* machine.c: see machine.h. */
#include "lab04/machine.h"

#include <stdio.h>
#include <string.h>

/* ---- the configuration as numbers ------------------------------------------------------------ */

size_t machine_config_write(const struct machine_config *c, bool hide, int64_t *out) {
    int64_t *at = out;
    *at++ = c->local;
    *at++ = hide ? 0 : c->key;
    *at++ = c->kv_blocks;
    *at++ = c->token_budget;
    *at++ = c->max_running;
    *at++ = c->group;
    *at++ = c->prefix_cache;
    *at++ = hide ? -1 : c->fail_at;
    *at++ = hide ? -1 : c->odd_at;
    *at++ = c->cancel_step;
    *at++ = c->cancel_id;
    *at++ = c->setup_ns;
    *at++ = c->per_token_ns;
    *at++ = c->n_requests;
    for (int32_t i = 0; i < c->n_requests; i++) {
        const struct machine_request *r = &c->request[i];
        *at++ = r->arrival_ns;
        *at++ = r->n_prompt;
        *at++ = r->max_output;
        *at++ = r->ends_after;
        *at++ = r->ignore_end;
        *at++ = r->cancel_at;
        *at++ = r->reads;
        for (int32_t k = 0; k < r->n_prompt; k++) *at++ = r->prompt[k];
    }
    return (size_t)(at - out);
}

/* Reads numbers within bounds; `bad` stays set. */
struct reader {
    const int64_t *v;
    size_t n;
    bool bad;
};

static int64_t next(struct reader *r, int64_t lo, int64_t hi) {
    if (r->bad || r->n == 0 || *r->v < lo || *r->v > hi) {
        r->bad = true;
        return lo;
    }
    r->n--;
    return *r->v++;
}

static int32_t next32(struct reader *r, int32_t lo, int32_t hi) {
    return (int32_t)next(r, lo, hi);
}

bool machine_config_read(struct machine_config *c, const int64_t *v, size_t n) {
    struct reader r = {v, n, false};
    c->local = next(&r, 0, 1);
    c->key = next(&r, INT64_MIN, INT64_MAX);
    c->kv_blocks = next32(&r, 1, MACHINE_MAX_BLOCKS);
    c->token_budget = next32(&r, 1, 4096);
    c->max_running = next32(&r, 1, MACHINE_MAX_SEQS);
    c->group = next32(&r, 0, 64);
    c->prefix_cache = next(&r, 0, 1);
    c->fail_at = next32(&r, -1, 1 << 20);
    c->odd_at = next32(&r, -1, 1 << 20);
    c->cancel_step = next32(&r, -1, 1 << 20);
    c->cancel_id = next32(&r, -1, MACHINE_MAX_REQUESTS - 1);
    c->setup_ns = next(&r, 0, INT64_C(1) << 40);
    c->per_token_ns = next(&r, 0, INT64_C(1) << 40);
    c->n_requests = next32(&r, 1, MACHINE_MAX_REQUESTS);
    for (int32_t i = 0; i < c->n_requests; i++) {
        struct machine_request *q = &c->request[i];
        q->arrival_ns = next(&r, 0, INT64_C(1) << 50);
        q->n_prompt = next32(&r, 1, MACHINE_MAX_PROMPT);
        q->max_output = next32(&r, 1, MACHINE_MAX_OUTPUT);
        q->ends_after = next32(&r, 0, MACHINE_MAX_OUTPUT);
        q->ignore_end = next(&r, 0, 1);
        q->cancel_at = next32(&r, -1, MACHINE_MAX_OUTPUT);
        q->reads = next32(&r, -1, MACHINE_MAX_OUTPUT);
        for (int32_t k = 0; k < q->n_prompt; k++) q->prompt[k] = next32(&r, 0, MACHINE_VOCAB - 1);
    }
    return !r.bad && r.n == 0;
}

/* ---- the next token -------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h) { /* the finaliser of splitmix64 */
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static int32_t token_after(int64_t key, const int32_t *seq, int32_t n) {
    uint64_t h = mix((uint64_t)key);
    for (int32_t i = 0; i < n; i++) h = mix(h + (uint64_t)seq[i] + UINT64_C(0x9e3779b97f4a7c15));
    h = mix(h ^ (uint64_t)key);
    return h % 23 == 0 ? MACHINE_END : 1 + (int32_t)(h / 23 % (MACHINE_VOCAB - 1));
}

int32_t machine_answer(const struct machine_config *c, const struct machine_request *r,
                       int32_t *tokens, bool *stops) {
    int32_t seq[MACHINE_MAX_SEQ], n = 0;
    memcpy(seq, r->prompt, (size_t)r->n_prompt * sizeof *seq);
    for (*stops = true;;) {
        int32_t id = token_after(c->key, seq, r->n_prompt + n);
        if (id == MACHINE_END && !r->ignore_end) return n;
        seq[r->n_prompt + n] = tokens[n] = id;
        n++;
        if (n == r->ends_after) return n;
        if (n == r->max_output) break;
    }
    *stops = false;
    return n;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void machine_init(struct machine *m, const struct machine_config *c) {
    memset(m, 0, sizeof *m);
    m->c = *c;
    m->by_first_token = !c->prefix_cache;
    for (size_t i = 0; i < sizeof m->kv / sizeof *m->kv; i++) m->kv[i] = -1;
    for (int32_t i = 0; i < c->n_requests; i++) {
        struct machine_seen *s = &m->seen[i];
        s->first_ns = s->end_ns = s->token_ns = s->began_ns = -1;
        m->n_answer[i] = machine_answer(c, &c->request[i], m->answer[i], &m->stops[i]);
    }
}

static void broken(struct machine *m, const char *what, int64_t a, int64_t b) {
    if (m->fault[0]) return;
    snprintf(m->fault, sizeof m->fault, what, (long long)a, (long long)b);
}

static void take_deliveries(struct machine *m, struct reader *r) {
    int32_t n = next32(r, 0, MACHINE_MAX_REQUESTS);
    for (int32_t i = 0; i < n && !r->bad; i++) {
        int32_t id = next32(r, 0, m->c.n_requests - 1);
        int32_t end = next32(r, 0, 4), tokens = next32(r, 0, MACHINE_MAX_OUTPUT);
        struct machine_seen *s = &m->seen[id];
        if (tokens > 0 && s->n_delivered == 0) s->first_ns = m->now_ns;
        for (int32_t k = 0; k < tokens && !r->bad; k++) {
            int32_t t = next32(r, 0, MACHINE_VOCAB - 1), at = s->n_delivered++;
            s->wrong |= at >= m->n_answer[id] || m->answer[id][at] != t || s->end != 0;
        }
        if (end && !s->end) {
            s->end = end;
            s->end_ns = m->now_ns;
        }
    }
}

/* Which request has this sequence of n tokens? -1: none. */
static int32_t owner_of(const struct machine *m, const int32_t *seq, int32_t n) {
    for (int32_t i = 0; i < m->c.n_requests; i++) {
        const struct machine_request *r = &m->c.request[i];
        int32_t prompt = n < r->n_prompt ? n : r->n_prompt;
        if (n > r->n_prompt + m->n_answer[i]) continue;
        if (memcmp(seq, r->prompt, (size_t)prompt * sizeof *seq)) continue;
        if (n > prompt && memcmp(seq + prompt, m->answer[i], (size_t)(n - prompt) * sizeof *seq))
            continue;
        return i;
    }
    return -1;
}

static void note_part(struct machine *m, int32_t id, int32_t pos0, int32_t n, bool fails,
                      int64_t start_ns) {
    struct machine_seen *s = &m->seen[id];
    if (pos0 == 0) s->begins++;
    if (s->began_ns < 0) s->began_ns = start_ns;
    if (fails) s->in_failed = true;
    if (!fails && n >= m->c.request[id].n_prompt && s->token_ns < 0) s->token_ns = m->now_ns;
}

struct part {
    int32_t tokens, pos0, n_blocks, seq[MACHINE_MAX_SEQ], block[MACHINE_MAX_SEQ];
    bool want;
};

static void read_part(struct machine *m, struct reader *r, struct part *p) {
    p->tokens = next32(r, 1, MACHINE_MAX_SEQ);
    p->pos0 = next32(r, 0, MACHINE_MAX_SEQ);
    p->want = next(r, 0, 1);
    p->n_blocks = next32(r, 0, MACHINE_MAX_SEQ);
    if (p->pos0 + p->tokens > MACHINE_MAX_SEQ) r->bad = true;
    for (int32_t k = 0; k < p->tokens && !r->bad; k++)
        p->seq[p->pos0 + k] = next32(r, INT32_MIN, INT32_MAX);
    for (int32_t k = 0; k < p->n_blocks && !r->bad; k++)
        p->block[k] = next32(r, INT32_MIN, INT32_MAX);
    for (int32_t k = 0; k < p->n_blocks && !r->bad; k++)
        if (p->block[k] < 0 || p->block[k] >= m->c.kv_blocks)
            broken(m, "a block table names block %lld, and the cache has %lld", p->block[k],
                   m->c.kv_blocks);
    if ((p->pos0 + p->tokens + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS > p->n_blocks)
        broken(m, "a block table has %lld blocks, too few for position %lld", p->n_blocks,
               p->pos0 + p->tokens - 1);
}

static int32_t *slot(struct machine *m, const struct part *p, int32_t position) {
    return &m->kv[p->block[position / KV_BLOCK_TOKENS] * KV_BLOCK_TOKENS +
                  position % KV_BLOCK_TOKENS];
}

/* Reads the sequence back and answers it. `odd`: the step's first row of logits is not finite. */
static int32_t run_part(struct machine *m, struct part *p, bool fails, bool odd, int64_t start_ns) {
    int32_t n = p->pos0 + p->tokens;
    for (int32_t k = 0; k < n; k++) {
        p->seq[k] = *slot(m, p, k);
        if (p->seq[k] < 0)
            broken(m, "position %lld of a sequence was never written to its block %lld", k,
                   p->block[k / KV_BLOCK_TOKENS]);
    }
    if (m->fault[0]) return 1;
    int32_t id = owner_of(m, p->seq, n);
    if (id < 0)
        broken(m,
               "a sequence of %lld tokens, the first %lld of them from the cache, is none that "
               "a request has",
               n, p->pos0);
    if (id < 0) return 1;
    if (start_ns < m->c.request[id].arrival_ns)
        broken(m, "request %lld is computed before it arrives, at %lld ns", id, start_ns);
    note_part(m, id, p->pos0, n, fails || odd, start_ns);
    if (odd) return m->c.key & 1 ? MACHINE_NAN : MACHINE_INFINITE;
    return token_after(m->c.key, p->seq, n);
}

static size_t step(struct machine *m, struct reader *r, int64_t *reply) {
    static struct part parts[MACHINE_MAX_SEQS];
    m->locked += next32(r, 0, 1);
    int32_t n = next32(r, 1, MACHINE_MAX_SEQS), total = 0;
    int64_t start_ns = m->now_ns;
    bool fails = m->steps == m->c.fail_at, odd = m->c.odd_at >= 0 && m->steps >= m->c.odd_at;
    size_t n_reply = 2;
    for (int32_t i = 0; i < n && !r->bad; i++) {
        read_part(m, r, &parts[i]);
        total += parts[i].tokens;
    }
    if (r->bad || m->steps == MACHINE_MAX_STEPS) return 0;
    if (n > m->c.max_running)
        broken(m, "a batch has %lld sequences; %lld are allowed", n, m->c.max_running);
    if (total > m->c.token_budget)
        broken(m, "a batch has %lld tokens; %lld are allowed", total, m->c.token_budget);
    m->starts[m->steps++] = start_ns;
    m->now_ns += m->c.setup_ns + total * m->c.per_token_ns;
    m->computed += total;
    m->failed += fails;
    if (m->fault[0]) return 0;
    for (int32_t i = 0; i < n; i++) /* all are written before one is read */
        for (int32_t k = 0; k < parts[i].tokens; k++)
            *slot(m, &parts[i], parts[i].pos0 + k) = parts[i].seq[parts[i].pos0 + k];
    for (int32_t i = 0; i < n; i++) {
        bool here = odd && parts[i].want;
        int32_t id = run_part(m, &parts[i], fails, here, start_ns);
        if (here) m->c.odd_at = -1, odd = false; /* once */
        if (parts[i].want) reply[n_reply++] = id;
    }
    reply[0] = fails;
    reply[1] = m->now_ns;
    return m->fault[0] ? 0 : n_reply;
}

size_t machine_run(struct machine *m, const int64_t *q, size_t n, int64_t *reply) {
    struct reader r = {q, n, false};
    int64_t kind = next(&r, MACHINE_STEP, MACHINE_LAST), until = next(&r, 0, INT64_MAX);
    take_deliveries(m, &r);
    if (r.bad) return 0;
    if (kind == MACHINE_STEP) return step(m, &r, reply);
    if (kind == MACHINE_IDLE && until > m->now_ns && until < INT64_C(1) << 51) m->now_ns = until;
    reply[0] = 0;
    reply[1] = m->now_ns;
    return 2;
}
