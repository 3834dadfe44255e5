/* virtual.c: see virtual.h. One turn of the loop: arrivals that are due are submitted, the engine
 * makes a step, and what came out of it is stamped as the HTTP side would stamp it. */
#include "serve/virtual.h"

#include "backend/none.h"
#include "backend/paced.h"
#include "base/buffer.h"
#include "serve/engine.h"
#include "serve/stamps.h"

#include <stdlib.h>

/* A request that has arrived and has not ended. */
struct flight {
    const struct sim_request *request;
    struct live_record *live;
    struct stream *stream;
};

struct virtual {
    const struct virtual_config *c;
    const struct sim_request *list;
    size_t n, arrived;
    struct virtual_clock time;
    struct clock clock;
    struct records *records;
    struct backend *backend;
    struct engine *engine;
    int32_t *prompt;        /* (longest prompt), all filler */
    struct flight *flights; /* in order of arrival */
    size_t n_flights;
};

/* ---- set-up ---------------------------------------------------------------------------------- */

static int check_list(const struct virtual *v, struct err *e) {
    for (size_t i = 0; i < v->n; i++) {
        const struct sim_request *q = &v->list[i];
        if (q->prompt_tokens < 1 || q->output_tokens < 1 || q->max_output_tokens < q->output_tokens)
            return err_set(e,
                           "request %lld: a prompt, an output and a limit of at least the "
                           "output are needed",
                           (long long)q->id);
        if (q->fail_after > 0)
            return err_set(e, "request %lld fails by script; the engine can't", (long long)q->id);
        if (q->arrival_ns < (i ? v->list[i - 1].arrival_ns : 0))
            return err_set(e, "request %lld arrives before the one in front of it",
                           (long long)q->id);
    }
    return 0;
}

static struct backend *make_backend(struct virtual *v, int32_t longest, struct err *e) {
    const struct virtual_config *c = v->c;
    struct backend_info limits = {.vocab_size = tokenizer_vocab_size(c->tokenizer),
                                  .max_seq_tokens = longest,
                                  .max_step_tokens = c->token_budget,
                                  .max_seqs = c->max_running,
                                  .kv_blocks = c->kv_blocks};
    struct backend *none = backend_none_create(&limits, c->filler, e);
    if (!none) return NULL;
    struct pace pace = {.cost = c->cost, .clock = v->clock, .label = "virtual time"};
    return backend_paced_create(none, &pace, e);
}

static int set_up(struct virtual *v, struct err *e) {
    const struct virtual_config *c = v->c;
    int32_t longest = 1, prompt = 1;
    if (c->cost.kind == COST_SERVICE)
        return err_set(e,
                       "service times belong to requests of the simulator; the engine knows none");
    if (check_list(v, e)) return -1;
    for (size_t i = 0; i < v->n; i++) {
        const struct sim_request *q = &v->list[i];
        if (q->prompt_tokens > prompt) prompt = q->prompt_tokens;
        if (q->prompt_tokens + q->max_output_tokens > longest)
            longest = q->prompt_tokens + q->max_output_tokens;
    }
    v->prompt = malloc((size_t)prompt * sizeof *v->prompt);
    v->flights = malloc((v->n + 1) * sizeof *v->flights);
    if (!v->prompt || !v->flights) return err_set(e, "out of memory");
    for (int32_t i = 0; i < prompt; i++) v->prompt[i] = c->filler;
    v->clock = clock_virtual(&v->time);
    v->records = records_create(-1, 0, v->clock, e);
    if (!v->records || !(v->backend = make_backend(v, longest, e))) return -1;
    struct engine_options o = {.backend = v->backend,
                               .tokenizer = c->tokenizer,
                               .records = v->records,
                               .policy = c->policy,
                               .policy_arg = c->policy_arg,
                               .clock = v->clock,
                               .max_waiting = (int32_t)v->n + 1};
    v->engine = engine_create(&o, e);
    return v->engine ? 0 : -1;
}

static void take_down(struct virtual *v) {
    engine_free(v->engine);
    for (size_t i = 0; i < v->n_flights; i++) {
        stream_release(v->flights[i].stream);
        live_end(v->records, v->flights[i].live);
    }
    records_free(v->records);
    backend_free(v->backend);
    free(v->prompt);
    free(v->flights);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void end_flight(struct virtual *v, struct flight *f) {
    if (v->c->each) v->c->each(v->c->ctx, f->request, &f->live->record);
    stream_release(f->stream);
    live_end(v->records, f->live);
}

static int submit(struct virtual *v, const struct sim_request *q, struct err *e) {
    struct flight f = {.request = q, .stream = stream_create(NULL)};
    if (!f.stream) return err_set(e, "out of memory");
    f.live = records_open(v->records, NULL, 0, e);
    if (!f.live) {
        stream_release(f.stream);
        return -1;
    }
    /* it may have arrived while a step ran */
    struct virtual_clock then = {q->arrival_ns};
    const struct clock at_arrival = clock_virtual(&then);
    stamp_accepted(&f.live->record, &at_arrival);
    stamp_tokenized(&f.live->record, &at_arrival, q->prompt_tokens);
    struct engine_request r = {.prompt = v->prompt,
                               .n_prompt = q->prompt_tokens,
                               .max_output = q->max_output_tokens,
                               .sampling = {.top_p = 1},
                               .ignore_end = true,
                               .ends_after = q->output_tokens,
                               .arrival_ns = q->arrival_ns,
                               .stream = f.stream,
                               .live = f.live};
    int64_t id;
    enum engine_submit how = engine_submit(v->engine, &r, &id);
    if (how == SUBMIT_TOO_LARGE) {
        stamp_rejected(&f.live->record, &at_arrival);
        end_flight(v, &f);
        return 0;
    }
    v->flights[v->n_flights++] = f;
    return how == SUBMIT_OK ? 0 : err_set(e, "out of memory for request %lld", (long long)q->id);
}

static int submit_due(struct virtual *v, struct err *e) {
    for (; v->arrived < v->n && v->list[v->arrived].arrival_ns <= v->time.now_ns; v->arrived++)
        if (submit(v, &v->list[v->arrived], e)) return -1;
    if (v->arrived == v->n) engine_drain(v->engine);
    return 0;
}

/* What the connections would do: hand over what is there and stamp it. */
static void deliver(struct virtual *v) {
    size_t kept = 0;
    struct buffer text = {0};
    for (size_t i = 0; i < v->n_flights; i++) {
        struct flight *f = &v->flights[i];
        int32_t tokens;
        text.n = 0;
        while (stream_take(f->stream, &text, &tokens) == 1)
            stamp_token_sent(&f->live->record, &v->clock, tokens);
        enum stream_state state = stream_end_of(f->stream).state;
        if (state == STREAM_OPEN) {
            v->flights[kept++] = *f;
            continue;
        }
        if (state == STREAM_DONE) stamp_finished(&f->live->record, &v->clock);
        end_flight(v, f);
    }
    v->n_flights = kept;
    buffer_release(&text);
}

static int run(struct virtual *v, struct err *e) {
    for (;;) {
        if (submit_due(v, e)) return -1;
        int64_t wake_ns = INT64_MAX;
        enum engine_progress p = engine_step(v->engine, &wake_ns, e);
        deliver(v);
        if (p == ENGINE_FAULT) return -1;
        if (p == ENGINE_WORKED) continue;
        if (wake_ns <= v->time.now_ns)
            return err_set(e, "at %lld ns the policy runs nothing and wants to be asked at once",
                           (long long)v->time.now_ns);
        if (v->arrived < v->n && v->list[v->arrived].arrival_ns < wake_ns)
            wake_ns = v->list[v->arrived].arrival_ns;
        if (wake_ns == INT64_MAX) break;
        v->time.now_ns = wake_ns;
    }
    if (v->n_flights == 0) return 0;
    return err_set(e, "the policy leaves requests unfinished although no arrival is left: %zu",
                   v->n_flights);
}

int virtual_run(const struct virtual_config *c, const struct sim_request *list, size_t n,
                struct err *e) {
    struct virtual v = {.c = c, .list = list, .n = n};
    int rc = set_up(&v, e) || run(&v, e) ? -1 : 0;
    if (rc == 0) INVARIANT(kv_pool_free_blocks(v.engine->kv) == c->kv_blocks);
    take_down(&v);
    return rc;
}
