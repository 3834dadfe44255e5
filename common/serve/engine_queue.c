/* engine_queue.c: the engine's two lists: finds, moves, shows and ends the requests in them. See
 * engine.h; engine_step is built from these functions.
 *
 * The engine thread calls them with the engine's lock held. Not here: which request to move (the
 * policy), and what a step computes (engine_step.c).
 */
#include "serve/engine.h"

#include "backend/energy.h"
#include "backend/paced.h"
#include "base/buffer.h"
#include "serve/speculation.h"
#include "serve/stamps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- energy ---------------------------------------------------------------------------------- */

/* Shares out what was used since the last call; before the running requests change. What is used
 * while none runs is no request's. */
static void share_energy(struct engine *g) {
    if (!g->energy) return;
    double now = energy_joules(g->energy);
    if (g->n_running) g->joules_each += (now - g->joules_seen) / g->n_running;
    g->joules_seen = now;
}

/* Before the request leaves the running set: its part goes into its record. */
static void charge_energy(struct engine *g, struct seq *s) {
    if (!g->energy || s->state != SEQ_RUNNING) return;
    share_energy(g);
    pthread_mutex_lock(&s->live->lock);
    double *joules = &s->live->record.resources.joules;
    *joules = (isnan(*joules) ? 0 : *joules) + g->joules_each - s->joules_from;
    pthread_mutex_unlock(&s->live->lock);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void append(struct seq **list, struct seq *s) {
    while (*list) list = &(*list)->next;
    s->next = NULL;
    *list = s;
}

static void take_out(struct engine *g, struct seq *s) {
    bool waits = s->state == SEQ_WAITING;
    struct seq **at = waits ? &g->waiting : &g->running;
    while (*at && *at != s) at = &(*at)->next;
    INVARIANT(*at == s);
    *at = s->next;
    s->next = NULL;
    if (waits)
        g->n_waiting--;
    else
        g->n_running--;
}

static struct seq *find_in(struct seq *list, int64_t id) {
    while (list && list->id != id) list = list->next;
    return list;
}

struct seq *engine_find(struct engine *g, int64_t id) {
    struct seq *s = find_in(g->waiting, id);
    return s ? s : find_in(g->running, id);
}

void engine_to_running(struct engine *g, struct seq *s) {
    share_energy(g);
    s->joules_from = g->joules_each;
    take_out(g, s);
    s->state = SEQ_RUNNING;
    append(&g->running, s);
    g->n_running++;
}

void engine_to_waiting(struct engine *g, struct seq *s) {
    charge_energy(g, s);
    take_out(g, s);
    s->state = SEQ_WAITING;
    s->draft_lag = 0; /* its cache is gone */
    /* preempted requests first, those in order of arrival (ids are): see struct policy_view */
    struct seq **at = &g->waiting;
    while (*at && (*at)->preemptions > 0 && (*at)->id < s->id) at = &(*at)->next;
    s->next = *at;
    *at = s;
    g->n_waiting++;
}

/* ---- the view -------------------------------------------------------------------------------- */

static struct policy_request request_of(const struct seq *s) {
    return (struct policy_request){.id = s->id,
                                   .arrival_ns = s->arrival_ns,
                                   .prompt_tokens = s->n_prompt,
                                   .max_output_tokens = s->max_output,
                                   .computed_tokens = s->computed,
                                   .generated_tokens = s->n_generated,
                                   .kv_blocks = s->kv.n_blocks,
                                   .preemptions = s->preemptions};
}

struct policy_view engine_view(struct engine *g) {
    size_t w = 0, r = 0;
    for (const struct seq *s = g->waiting; s; s = s->next) g->waiting_view[w++] = request_of(s);
    for (const struct seq *s = g->running; s; s = s->next) g->running_view[r++] = request_of(s);
    return (struct policy_view){.now_ns = clock_now_ns(&g->clock),
                                .waiting = g->waiting_view,
                                .n_waiting = w,
                                .running = g->running_view,
                                .n_running = r,
                                .free_kv_blocks = kv_pool_free_blocks(g->kv),
                                .total_kv_blocks = kv_pool_total_blocks(g->kv),
                                .token_budget = g->backend->info.max_step_tokens,
                                .max_running = g->backend->info.max_seqs,
                                .arrivals_ended = g->draining};
}

static bool decodes(const struct engine *g, int32_t i) {
    return g->batch_of[i]->n_generated > 0 && g->batch[i].want_logits && g->batch[i].n_tokens == 1;
}

/* The step's range on the device, in the record of each request of the batch. */
static void note_device_range(struct engine *g, int32_t n) {
    const struct backend *b = g->backend;
    if (b->device_end_ns == b->device_start_ns) return;
    struct event ev = {.clock = CLOCK_GPU, .source = SRC_CUDA_EVENT, .clock_api = "cudaEvent"};
    for (int32_t i = 0; i < n; i++) {
        struct live_record *live = g->batch_of[i]->live;
        snprintf(ev.range, sizeof ev.range, "%s", decodes(g, i) ? "decode" : "prefill");
        pthread_mutex_lock(&live->lock);
        ev.kind = EV_GPU_START;
        ev.t_ns = b->device_start_ns;
        (void)record_add_event(&live->record, &ev, NULL);
        ev.kind = EV_GPU_END;
        ev.t_ns = b->device_end_ns;
        (void)record_add_event(&live->record, &ev, NULL);
        pthread_mutex_unlock(&live->lock);
    }
}

void engine_note_step(struct engine *g, int32_t n, int64_t start_ns) {
    note_device_range(g, n);
    if (!g->step_log) return;
    struct backend_batch batch = {speculation_batch(g), n};
    struct sim_work work = backend_work(&batch);
    struct step step = {.start_ns = start_ns,
                        .end_ns = clock_now_ns(&g->clock),
                        .sequences = n,
                        .context_tokens = work.context_tokens,
                        .attended_tokens = work.attended,
                        .waiting = g->n_waiting,
                        .kv_blocks_used = kv_pool_total_blocks(g->kv) - kv_pool_free_blocks(g->kv)};
    for (int32_t i = 0; i < n; i++)
        *(decodes(g, i) ? &step.decode_tokens : &step.prefill_tokens) += g->batch[i].n_tokens;
    if (!speculation_keep_step(g->speculation, &step)) step_log_add(g->step_log, &step);
}

/* ---- log-probabilities ----------------------------------------------------------------------- */

static bool push_row(struct engine *g, struct seq *s, const struct token_score *row) {
    if (!stream_push_scores(s->stream, row, (size_t)s->top_scores + 1)) return true;
    engine_end(g, s, STREAM_FAILED, "no memory for log-probabilities");
    return false;
}

bool engine_push_scores(struct engine *g, struct seq *s, const float *logits, int32_t id) {
    if (!s->scores) return true;
    struct token_score row[1 + TOKEN_SCORES_MAX_TOP];
    if (s->chosen_scored) /* there are no logits */
        row[0] = (struct token_score){id, s->chosen_logprob};
    else
        token_scores(logits, g->backend->info.vocab_size, id, s->top_scores, row);
    s->chosen_scored = false;
    return push_row(g, s, row);
}

void engine_want_prompt_scores(struct engine *g, int32_t n) {
    int32_t left = g->backend->info.max_seqs - n; /* beyond one row for each part */
    for (int32_t i = 0; i < n; i++) {
        struct backend_seq *part = &g->batch[i];
        const struct seq *s = g->batch_of[i];
        if (!s->prompt_scores || s->n_scored == s->n_prompt) continue;
        if (part->n_tokens > left + 1) part->n_tokens = left + 1;
        part->want_logits = part->n_tokens;
        left -= part->n_tokens - 1;
    }
}

bool engine_push_prompt_scores(struct engine *g, struct seq *s, const struct backend_seq *part,
                               const float *logits) {
    if (!s->prompt_scores || s->n_scored == s->n_prompt) return true;
    struct token_score first[1 + TOKEN_SCORES_MAX_TOP];
    for (int32_t k = 0; k <= s->top_scores; k++) first[k] = (struct token_score){-1, NAN};
    first[0].id = s->tokens[0];
    if (s->n_scored == 0 && !push_row(g, s, first)) return false;
    if (s->n_scored == 0) s->n_scored = 1; /* nothing predicts the first token */
    for (int32_t k = 0; k < part->want_logits; k++, logits += g->backend->info.vocab_size) {
        int32_t at = part->pos0 + part->n_tokens - part->want_logits + k + 1; /* is predicted */
        if (at < s->n_scored || at >= s->n_prompt) continue; /* computed again, or none of it */
        if (!engine_push_scores(g, s, logits, s->tokens[at])) return false;
        s->n_scored++;
    }
    return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void stamp_end(struct engine *g, struct seq *s, enum stream_state how, const char *why) {
    struct record *r = &s->live->record;
    pthread_mutex_lock(&s->live->lock);
    if (how == STREAM_REJECTED) stamp_rejected(r, &g->clock);
    if (how == STREAM_CANCELLED) stamp_cancelled(r, &g->clock);
    r->workload.output_tokens = s->n_generated;
    if (g->prefix_cache && s->cached >= 0) r->workload.cached_prompt_tokens = s->cached;
    if (g->speculation) {
        r->workload.draft_steps = s->draft_steps;
        r->workload.draft_tokens = s->drafted;
        r->workload.accepted_draft_tokens = s->accepted;
    }
    if (how == STREAM_DONE)
        text_cut(r->outcome.finish_reason, sizeof r->outcome.finish_reason, why);
    else
        text_cut(r->outcome.error, sizeof r->outcome.error, why);
    pthread_mutex_unlock(&s->live->lock);
}

void engine_end(struct engine *g, struct seq *s, enum stream_state how, const char *why) {
    charge_energy(g, s);
    take_out(g, s);
    s->state = SEQ_FINISHED;
    kv_table_release(g->kv, &s->kv);
    stamp_end(g, s, how, why);
    if (how == STREAM_DONE)
        stream_finish(s->stream, why, s->n_generated, s->answer.tokens,
                      g->prefix_cache ? s->cached : -1);
    else
        stream_abort(s->stream, how, why);
    stream_release(s->stream);
    live_end(g->records, s->live);
    seq_free(s);
}

static bool drop_from(struct engine *g, struct seq *list) {
    bool dropped = false;
    while (list) {
        struct seq *s = list;
        list = s->next;
        const char *why = g->stopping                     ? "the server is stopping"
                          : s->cancelled                  ? "the client went away"
                          : stream_client_gone(s->stream) ? "the client went away"
                                                          : NULL;
        if (!why) continue;
        engine_end(g, s, STREAM_CANCELLED, why);
        dropped = true;
    }
    return dropped;
}

bool engine_drop_cancelled(struct engine *g) {
    bool waiting = drop_from(g, g->waiting);
    return drop_from(g, g->running) || waiting;
}
