/* child/lab04_engine.c: the engine around the learner's files, as a server would run it: arrivals
 * that are due are submitted, the engine makes a step, what came out of it is delivered. See
 * child/lab04_engine.h.
 *
 * The backend sends each step to the machine (lab04/machine.h), which is in the grader. The
 * tokenizer here has one character a token.
 */
#include "child/lab04_engine.h"
#include "child/child.h"
#include "child/lab04_lock.h"

#include "base/buffer.h"
#include "serve/engine.h"
#include "serve/stamps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the run --------------------------------------------------------------------------------- */

struct flight {
    struct live_record live;
    struct stream *stream;
    int64_t id;
    int32_t delivered, state, finish, output;
    int64_t fresh[MACHINE_MAX_OUTPUT]; /* delivered since the last query */
    int32_t n_fresh;
    bool submitted, told; /* its end is in a query */
    size_t unread;        /* bytes that were in the stream before the answer: see fill */
    bool left;
};

struct run {
    struct backend backend; /* first: the backend is found by it */
    const struct machine_config *c;
    struct machine *local;
    struct virtual_clock time;
    struct clock clock;
    struct tokenizer tokenizer;
    struct engine *engine;
    struct flight flights[MACHINE_MAX_REQUESTS];
    int32_t arrived, steps;
    int64_t faults;
    int64_t query[MACHINE_MAX_QUERY];
    size_t n;
};

static void add(struct run *r, int64_t v) {
    if (r->n < MACHINE_MAX_QUERY) r->query[r->n] = v;
    r->n++;
}

static void begin_query(struct run *r, int64_t kind, int64_t until) {
    int32_t n = 0;
    r->n = 0;
    add(r, kind);
    add(r, until);
    for (int32_t i = 0; i < r->c->n_requests; i++) {
        struct flight *f = &r->flights[i];
        n += f->n_fresh > 0 || (f->state != STREAM_OPEN && !f->told);
    }
    add(r, n);
    for (int32_t i = 0; i < r->c->n_requests; i++) {
        struct flight *f = &r->flights[i];
        bool ends = f->state != STREAM_OPEN && !f->told;
        if (f->n_fresh == 0 && !ends) continue;
        add(r, i);
        add(r, ends ? f->state : 0);
        add(r, f->n_fresh);
        for (int32_t k = 0; k < f->n_fresh; k++) add(r, f->fresh[k]);
        f->n_fresh = 0;
        f->told |= ends;
    }
}

/* Sends the query and sets the time. Returns the reply's length. */
static size_t send_query(struct run *r, int64_t *reply) {
    static unsigned char bytes[WIRE_MAX_QUERY], back[WIRE_MAX_REPLY];
    size_t n = 0;
    if (r->n > MACHINE_MAX_QUERY) abort();
    if (r->local) {
        n = machine_run(r->local, r->query, r->n, reply);
        if (n == 0) abort();
    } else {
        struct wire w = wire_writer(bytes, sizeof bytes);
        wire_i64_array(&w, r->query, r->n);
        if (w.bad) abort();
        n = child_query(bytes, sizeof bytes - w.left, back, sizeof back) / 8;
        w = wire_reader(back, n * 8);
        if (n > MACHINE_MAX_REPLY) abort();
        wire_i64_array(&w, reply, n);
    }
    r->time.now_ns = reply[1];
    return n;
}

static int step(struct backend *b, const struct backend_batch *batch, float *logits,
                struct err *e) {
    struct run *r = (struct run *)b;
    int64_t reply[MACHINE_MAX_REPLY];
    bool locked = lab04_lock_held(&r->engine->lock); /* nobody could submit or cancel meanwhile */
    begin_query(r, MACHINE_STEP, 0);
    add(r, locked);
    add(r, batch->n_seqs);
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        const struct backend_seq *s = &batch->seqs[i];
        add(r, s->n_tokens);
        add(r, s->pos0);
        add(r, s->want_logits);
        add(r, s->n_blocks);
        for (int32_t k = 0; k < s->n_tokens; k++) add(r, s->tokens[k]);
        for (int32_t k = 0; k < s->n_blocks; k++) add(r, s->block_table[k]);
    }
    if (r->steps++ == r->c->cancel_step && !locked && r->c->cancel_id >= 0 &&
        r->flights[r->c->cancel_id].submitted)
        engine_cancel(r->engine, r->flights[r->c->cancel_id].id);
    size_t n = send_query(r, reply);
    if (reply[0]) return err_set(e, "the machine failed");
    for (size_t i = 2; i < n; i++, logits += MACHINE_VOCAB) {
        memset(logits, 0, MACHINE_VOCAB * sizeof *logits);
        if (reply[i] < 0) /* one of them is not finite */
            logits[(r->steps * 7) % MACHINE_VOCAB] = reply[i] == MACHINE_NAN ? NAN : INFINITY;
        else
            logits[reply[i]] = 9;
    }
    return 0;
}

static void free_nothing(struct backend *b) {
    (void)b;
}

/* A client that reads nothing: the stream holds all that it may, but for the text of `room` tokens.
 */
static void fill(struct flight *f, int32_t room) {
    f->unread = (size_t)(STREAM_MAX_BYTES - room);
    char *text = calloc(1, f->unread);
    if (!text || stream_push(f->stream, text, f->unread, 0)) abort();
    free(text);
}

static void submit_due(struct run *r) {
    for (; r->arrived < r->c->n_requests; r->arrived++) {
        const struct machine_request *q = &r->c->request[r->arrived];
        struct flight *f = &r->flights[r->arrived];
        if (q->arrival_ns > r->time.now_ns) return;
        f->stream = stream_create(NULL);
        if (!f->stream) abort();
        if (q->reads >= 0) fill(f, q->reads);
        record_init(&f->live.record);
        pthread_mutex_init(&f->live.lock, NULL);
        struct virtual_clock then = {q->arrival_ns};
        const struct clock at_arrival = clock_virtual(&then);
        stamp_accepted(&f->live.record, &at_arrival);
        stamp_tokenized(&f->live.record, &at_arrival, q->n_prompt);
        struct engine_request request = {.prompt = q->prompt,
                                         .n_prompt = q->n_prompt,
                                         .max_output = q->max_output,
                                         .sampling = {.top_p = 1},
                                         .ignore_end = q->ignore_end,
                                         .ends_after = q->ends_after,
                                         .arrival_ns = q->arrival_ns,
                                         .stream = f->stream,
                                         .live = &f->live};
        f->submitted = true;
        if (engine_submit(r->engine, &request, &f->id) != SUBMIT_OK) {
            stamp_rejected(&f->live.record, &at_arrival);
            f->state = STREAM_REJECTED;
        }
    }
    engine_drain(r->engine);
}

static void deliver(struct run *r) {
    struct buffer text = {0};
    for (int32_t i = 0; i < r->arrived; i++) {
        struct flight *f = &r->flights[i];
        int32_t tokens;
        if (f->state != STREAM_OPEN) continue;
        struct stream_end end = stream_end_of(f->stream);
        if (f->unread > 0 && end.state == STREAM_OPEN) continue;
        text.n = 0;
        while (stream_take(f->stream, &text, &tokens) == 1) {
        }
        if (text.n < f->unread) abort();
        for (size_t k = f->unread; k < text.n && f->n_fresh < MACHINE_MAX_OUTPUT; k++)
            f->fresh[f->n_fresh++] = text.bytes[k] - ' ';
        f->delivered += (int32_t)(text.n - f->unread);
        f->state = (int32_t)end.state;
        f->finish = !strcmp(end.finish_reason, "stop") ? 1 : !strcmp(end.finish_reason, "length");
        if (!strcmp(end.finish_reason, "length")) f->finish = 2;
        f->output = end.output_tokens;
        if (end.state == STREAM_DONE) stamp_finished(&f->live.record, &r->clock);
        if (end.state == STREAM_OPEN && !f->left && r->c->request[i].cancel_at >= 0 &&
            f->delivered >= r->c->request[i].cancel_at)
            f->left = engine_cancel(r->engine, f->id);
    }
    buffer_release(&text);
}

static void loop(struct run *r) {
    int64_t reply[MACHINE_MAX_REPLY];
    for (int turns = 0; turns < 3 * MACHINE_MAX_STEPS; turns++) {
        submit_due(r);
        int64_t wake_ns = INT64_MAX;
        struct err e;
        enum engine_progress p = engine_step(r->engine, &wake_ns, &e);
        deliver(r);
        if (p == ENGINE_FAULT) r->faults++;
        if (p != ENGINE_IDLE) continue;
        if (r->arrived < r->c->n_requests && r->c->request[r->arrived].arrival_ns < wake_ns)
            wake_ns = r->c->request[r->arrived].arrival_ns;
        if (wake_ns == INT64_MAX || wake_ns <= r->time.now_ns) break;
        begin_query(r, MACHINE_IDLE, wake_ns);
        send_query(r, reply);
    }
    begin_query(r, MACHINE_LAST, 0);
    send_query(r, reply);
}

static void put_events(int64_t *slots, const struct record *rec) {
    size_t n = 0;
    for (size_t i = 0; i < rec->n_events; i++) {
        const struct event *ev = &rec->events[i];
        if (ev->kind == EV_TOKEN_SENT || n++ >= REQ_MAX_EVENTS) continue;
        int64_t *at = slots + REQ_EVENT + 4 * (n - 1);
        at[0] = (int)ev->kind;
        at[1] = ev->t_ns;
        at[2] = (int)ev->clock;
        at[3] = (int)ev->source;
    }
    slots[REQ_EVENTS] = (int64_t)n;
}

static void put_run(struct run *r, int64_t *slots, size_t cap) {
    size_t n = ENGINE_HEAD + (size_t)r->c->n_requests * REQ_SLOTS;
    if (n > cap) abort();
    memset(slots, 0, n * sizeof *slots);
    slots[ENGINE_FREE] = kv_pool_free_blocks(r->engine->kv);
    slots[ENGINE_FAULTS] = r->faults;
    for (int32_t i = 0; i < r->c->n_requests; i++) {
        const struct flight *f = &r->flights[i];
        int64_t *at = slots + ENGINE_HEAD + i * REQ_SLOTS;
        at[REQ_STATE] = f->state;
        at[REQ_FINISH] = f->finish;
        at[REQ_OUTPUT] = f->output;
        put_events(at, &f->live.record);
    }
}

/* ---- from a case to an engine ------------------------------------------------------------------
 */

static struct run *begin(const struct lab04_case *c, struct machine_config *config,
                         struct machine *machine) {
    static const struct backend_ops ops = {step, free_nothing};
    struct run *r = calloc(1, sizeof *r);
    char group[16] = "";
    struct err e;
    if (!r || !machine_config_read(config, c->v, c->n)) abort();
    if (config->local) machine_init(machine, config);
    r->c = config;
    r->local = config->local ? machine : NULL;
    r->clock = clock_virtual(&r->time);
    for (int32_t i = 0; i < MACHINE_VOCAB; i++) r->tokenizer.text[i] = (char)(' ' + i);
    r->backend.ops = &ops;
    r->backend.info = (struct backend_info){.name = "cpu",
                                            .vocab_size = MACHINE_VOCAB,
                                            .max_seq_tokens = MACHINE_MAX_SEQ,
                                            .max_step_tokens = config->token_budget,
                                            .max_seqs = config->max_running,
                                            .kv_blocks = config->kv_blocks};
    if (config->group) snprintf(group, sizeof group, "%d", config->group);
    struct engine_options o = {.backend = &r->backend,
                               .tokenizer = &r->tokenizer,
                               .policy = config->group == MACHINE_KEEN ? lab04_keen_policy()
                                         : config->group               ? policy_learner_batch()
                                                                       : policy_learner(),
                               .policy_arg = group,
                               .clock = r->clock,
                               .max_waiting = MACHINE_MAX_REQUESTS + 1,
                               .prefix_cache = config->prefix_cache};
    r->engine = engine_create(&o, &e);
    if (!r->engine) abort();
    return r;
}

static void release_flights(struct run *r) {
    for (int32_t i = 0; i < r->c->n_requests; i++) {
        struct flight *f = &r->flights[i];
        if (f->stream) stream_release(f->stream);
        if (f->submitted) record_release(&f->live.record);
    }
    memset(r->flights, 0, sizeof r->flights);
}

static void end(struct run *r) {
    release_flights(r);
    /* not engine_free with requests left: they would be ended into released records */
    if (r->engine->n_waiting + r->engine->n_running == 0) engine_free(r->engine);
    free(r);
}

void lab04_call_engine(const struct lab04_case *c, int64_t *slots, size_t cap) {
    static struct machine_config config;
    static struct machine machine;
    struct run *r = begin(c, &config, &machine);
    loop(r);
    put_run(r, slots, cap);
    end(r);
}

int64_t lab04_call_engine_long(const struct lab04_case *c) {
    enum { WARM = 2000, ALL = 10000, NOISE_BYTES = 4096 }; /* the C library fills its caches late */
    static struct machine_config config;
    static struct machine machine;
    int64_t served = 0, before = -1;
    struct run *r = begin(c, &config, &machine);
    for (; served < ALL; served = r->engine->next_id) {
        if (before < 0 && served >= WARM) before = child_heap_bytes();
        machine_init(&machine, &config); /* its clock begins at 0 again, and so do the arrivals */
        r->time.now_ns = 0;
        r->arrived = r->steps = 0;
        r->engine->draining = false;
        loop(r);
        if (r->engine->n_waiting + r->engine->n_running > 0) abort();
        release_flights(r);
    }
    int64_t grown = child_heap_bytes() - before;
    end(r);

    return grown >= NOISE_BYTES ? grown : 0;
}
