/* engine.c: the engine from outside: creates, starts, feeds, drains and stops it. See engine.h; one
 * iteration is in engine_step.c.
 */
#include "serve/engine.h"

#include "serve/speculation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often the engine looks for clients that left while no step runs (a policy that waits): a
 * socket that is closed doesn't wake the engine. */
static const int64_t idle_look_ns = 50 * NS_PER_MS;

static int allocate(struct engine *g, struct err *e) {
    const struct backend_info *info = &g->backend->info;
    size_t seqs = (size_t)info->max_seqs, vocab = (size_t)info->vocab_size;
    /* a running request that is preempted waits, too, although the queue may be full */
    size_t waiting = (size_t)g->max_waiting + seqs;
    g->logits = malloc(seqs * vocab * sizeof *g->logits);
    g->choices = malloc((size_t)backend_max_logits(info) * sizeof *g->choices);
    g->waiting_view = malloc(waiting * sizeof *g->waiting_view);
    g->running_view = malloc(seqs * sizeof *g->running_view);
    g->actions = malloc((waiting + seqs) * sizeof *g->actions);
    g->batch = malloc(seqs * sizeof *g->batch);
    g->batch_of = malloc(seqs * sizeof *g->batch_of);
    if (!g->logits || !g->choices || !g->waiting_view || !g->running_view || !g->actions ||
        !g->batch || !g->batch_of)
        return err_set(e, "no memory for an engine of %zu batch positions", seqs);
    return 0;
}

struct engine *engine_create(const struct engine_options *o, struct err *e) {
    struct engine *g = calloc(1, sizeof *g);
    if (!g) {
        err_set(e, "no memory for the engine");
        return NULL;
    }
    g->backend = o->backend;
    g->tokenizer = o->tokenizer;
    g->records = o->records;
    g->policy = o->policy;
    g->clock = o->clock;
    g->max_waiting = o->max_waiting;
    g->prefix_cache = o->prefix_cache;
    g->step_log = o->step_log;
    g->energy = o->energy;
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_t attr; /* the timed wait below counts on the clock of the stamps */
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&g->work, &attr);
    pthread_condattr_destroy(&attr);
    if (tokenizer_vocab_size(o->tokenizer) > o->backend->info.vocab_size) {
        err_set(e, "the tokenizer has %d tokens, the model only %d: they don't belong together",
                tokenizer_vocab_size(o->tokenizer), o->backend->info.vocab_size);
        goto fail;
    }
    g->kv = kv_pool_create(o->backend->info.kv_blocks, e);
    if (!g->kv || allocate(g, e)) goto fail;
    if (o->draft && !(g->speculation = speculation_create(o, e))) goto fail;
    g->free_kv_blocks = kv_pool_free_blocks(g->kv);
    g->policy_state = o->policy->create(o->policy_arg, e);
    if (!g->policy_state) goto fail;
    return g;
fail:
    engine_free(g);
    return NULL;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits for work under the lock; false when the thread should end. */
static bool wait_for_work(struct engine *g, int64_t wake_ns) {
    if (g->stopping || (g->draining && g->n_waiting + g->n_running == 0)) return false;
    int64_t until = clock_monotonic_ns() + idle_look_ns;
    if (wake_ns < until) until = wake_ns;
    struct timespec t = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    if (g->n_waiting + g->n_running == 0)
        pthread_cond_wait(&g->work, &g->lock);
    else
        pthread_cond_timedwait(&g->work, &g->lock, &t);
    return true;
}

/* A submit may come between the step's answer "idle" and the wait. It is noticed because it changes
 * next_id under the lock. */
static void *run(void *ctx) {
    struct engine *g = ctx;
    bool go_on = true;
    while (go_on) {
        pthread_mutex_lock(&g->lock);
        int64_t seen = g->next_id;
        g->free_kv_blocks = kv_pool_free_blocks(g->kv);
        g->lost = g->backend->lost ? g->backend->lost : speculation_lost(g->speculation);
        pthread_mutex_unlock(&g->lock);
        int64_t wake_ns = INT64_MAX;
        struct err e;
        enum engine_progress p = engine_step(g, &wake_ns, &e);
        if (p == ENGINE_FAULT) fprintf(stderr, "servelab serve: engine: %s\n", e.text);
        if (p != ENGINE_IDLE) continue;
        pthread_mutex_lock(&g->lock);
        if (g->next_id == seen) go_on = wait_for_work(g, wake_ns);
        pthread_mutex_unlock(&g->lock);
    }
    return NULL;
}

int engine_start(struct engine *g, struct err *e) {
    if (pthread_create(&g->thread, NULL, run, g))
        return err_set(e, "the engine's thread can't be started; is the process limit reached?");
    g->started = true;
    return 0;
}

void engine_join(struct engine *g) {
    if (g->started) pthread_join(g->thread, NULL);
    g->started = false;
    pthread_mutex_lock(&g->lock);
    engine_drop_cancelled(g);
    pthread_mutex_unlock(&g->lock);
}

void engine_free(struct engine *g) {
    if (!g) return;
    engine_stop(g);
    engine_join(g);
    if (g->policy_state) g->policy->destroy(g->policy_state);
    kv_pool_free(g->kv);
    speculation_free(g->speculation);
    free(g->logits);
    free(g->choices);
    free(g->waiting_view);
    free(g->running_view);
    free(g->actions);
    free(g->batch);
    free(g->batch_of);
    pthread_cond_destroy(&g->work);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* ---- submit and cancel ----------------------------------------------------------------------- */

void seq_free(struct seq *s) {
    answer_release(&s->answer);
    sampler_release(&s->sampler);
    free(s->tokens);
    free(s);
}

/* The ids that end an answer, for a rule about them. NULL when memory is out. */
static int32_t *end_ids(const struct tokenizer *t, int32_t *n) {
    int32_t vocab = tokenizer_vocab_size(t), *ids = malloc((size_t)vocab * sizeof *ids);
    for (int32_t i = *n = 0; ids && i < vocab; i++)
        if (tokenizer_ends(t, i)) ids[(*n)++] = i;
    return ids;
}

static int make_sampler(struct engine *g, struct seq *s, const struct engine_request *r) {
    struct sampler_config c = r->sampling;
    int32_t *ends = NULL;
    if ((c.rules.min_tokens > 0 && !r->ignore_end) || c.rules.json_object) {
        ends = end_ids(g->tokenizer, &c.rules.n_ends);
        if (!ends) return -1;
    }
    c.rules.ends = ends;
    c.rules.prompt = s->tokens;
    c.rules.n_prompt = s->n_prompt;
    int rc = sampler_init(&s->sampler, g->backend->info.vocab_size, &c, NULL);
    free(ends);
    return rc;
}

static struct seq *make_seq(struct engine *g, const struct engine_request *r) {
    struct seq *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->n_prompt = r->n_prompt;
    s->tokens = malloc((size_t)(r->n_prompt + r->max_output) * sizeof *s->tokens);
    if (s->tokens && r->n_prompt > 0)
        memcpy(s->tokens, r->prompt, (size_t)r->n_prompt * sizeof *s->tokens);
    if (!s->tokens || make_sampler(g, s, r) ||
        answer_init(&s->answer, g->tokenizer, r->stops, r->n_stops, r->sampling.rules.min_tokens,
                    NULL)) {
        seq_free(s);
        return NULL;
    }
    s->max_output = r->max_output;
    s->cached = -1;
    s->arrival_ns = r->arrival_ns;
    s->ignore_end = r->ignore_end;
    s->ends_after = r->ends_after;
    s->scores = r->scores;
    s->prompt_scores = r->prompt_scores;
    s->top_scores = r->top_scores;
    if (s->top_scores > g->backend->info.vocab_size) s->top_scores = g->backend->info.vocab_size;
    s->stream = r->stream;
    stream_hold(s->stream);
    s->live = r->live;
    live_share(g->records, s->live);
    return s;
}

static enum engine_submit may_submit(const struct engine *g, const struct engine_request *r,
                                     int32_t n) {
    if (g->draining || g->stopping) return SUBMIT_DRAINING;
    for (int32_t i = 0; i < n; i++)
        if (policy_blocks_for(r[i].n_prompt + r[i].max_output) > kv_pool_total_blocks(g->kv))
            return SUBMIT_TOO_LARGE;
    return n > g->max_waiting - g->n_waiting ? SUBMIT_FULL : SUBMIT_OK;
}

/* A list of n requests; NULL, and nothing is left, when memory is out. */
static struct seq *make_all(struct engine *g, const struct engine_request *r, int32_t n) {
    struct seq *list = NULL;
    for (int32_t i = n; i-- > 0;) {
        struct seq *s = make_seq(g, &r[i]);
        if (s) {
            s->next = list;
            list = s;
            continue;
        }
        for (struct seq *next; list; list = next) {
            next = list->next;
            stream_release(list->stream);
            live_end(g->records, list->live);
            seq_free(list);
        }
        return NULL;
    }
    return list;
}

enum engine_submit engine_submit_all(struct engine *g, const struct engine_request *r, int32_t n,
                                     int64_t *ids) {
    for (int32_t i = 0; i < n; i++) {
        INVARIANT(r[i].max_output >= 0 && r[i].n_prompt + r[i].max_output >= 1);
        INVARIANT(r[i].n_prompt + r[i].max_output <= g->backend->info.max_seq_tokens);
    }
    pthread_mutex_lock(&g->lock);
    enum engine_submit rc = may_submit(g, r, n);
    struct seq *list = rc == SUBMIT_OK ? make_all(g, r, n) : NULL;
    if (rc == SUBMIT_OK && !list) rc = SUBMIT_NO_MEMORY;
    if (list) {
        for (struct seq *s = list; s; s = s->next) s->id = *ids++ = g->next_id++;
        struct seq **at = &g->waiting;
        while (*at) at = &(*at)->next;
        *at = list;
        g->n_waiting += n;
        pthread_cond_signal(&g->work);
    }
    pthread_mutex_unlock(&g->lock);
    return rc;
}

enum engine_submit engine_submit(struct engine *g, const struct engine_request *r, int64_t *id) {
    return engine_submit_all(g, r, 1, id);
}

bool engine_cancel(struct engine *g, int64_t id) {
    pthread_mutex_lock(&g->lock);
    struct seq *s = engine_find(g, id);
    if (s) s->cancelled = true;
    pthread_cond_signal(&g->work);
    pthread_mutex_unlock(&g->lock);
    return s != NULL;
}

void engine_drain(struct engine *g) {
    pthread_mutex_lock(&g->lock);
    g->draining = true;
    pthread_cond_signal(&g->work);
    pthread_mutex_unlock(&g->lock);
}

void engine_stop(struct engine *g) {
    pthread_mutex_lock(&g->lock);
    g->draining = g->stopping = true;
    pthread_cond_signal(&g->work);
    pthread_mutex_unlock(&g->lock);
}

struct engine_load engine_load_of(struct engine *g) {
    pthread_mutex_lock(&g->lock);
    struct engine_load load = {.waiting = g->n_waiting,
                               .running = g->n_running,
                               .kv_blocks = g->backend->info.kv_blocks,
                               .free_kv_blocks = g->free_kv_blocks,
                               .lost = g->lost};
    pthread_mutex_unlock(&g->lock);
    return load;
}
