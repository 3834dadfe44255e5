/* child/lab04_threads.c: a program of its own, under ThreadSanitizer: the engine with the learner's
 * files in its thread, and clients in theirs, as in a server. Clients submit, read, look at their
 * record, and some leave; one more thread asks for the load. Prints its first argument, which the
 * submission can't know, and how many answers came whole. A race is ThreadSanitizer's to report
 * (exit status 66). */
#include "child/child.h"
#include "child/lab04_engine.h"

#include "base/buffer.h"
#include "serve/engine.h"
#include "serve/stamps.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 4, EACH = 24, PROMPT = 40, OUTPUT = 12, SEQS = 4, BUDGET = 32, BLOCKS = 24 };

static struct engine *engine;
static atomic_int whole, busy = CLIENTS;

/* The next token follows from the sum of the step's tokens. */
static int step(struct backend *b, const struct backend_batch *batch, float *logits,
                struct err *e) {
    (void)b;
    (void)e;
    usleep(100);
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        const struct backend_seq *s = &batch->seqs[i];
        int32_t sum = s->pos0;
        for (int32_t k = 0; k < s->n_tokens; k++) sum += s->tokens[k];
        if (!s->want_logits) continue;
        memset(logits, 0, MACHINE_VOCAB * sizeof *logits);
        logits[1 + sum % (MACHINE_VOCAB - 1)] = 9;
        logits += MACHINE_VOCAB;
    }
    return 0;
}

static void free_nothing(struct backend *b) {
    (void)b;
}

static void one_request(const struct clock *clock, int number) {
    struct live_record live;
    struct buffer text = {0};
    int32_t prompt[PROMPT], tokens;
    int64_t id;
    bool leaves = number % 5 == 3;
    memset(&live, 0, sizeof live);
    record_init(&live.record);
    pthread_mutex_init(&live.lock, NULL);
    for (int32_t i = 0; i < PROMPT; i++) prompt[i] = 1 + (number % 3 * 7 + i) % (MACHINE_VOCAB - 1);
    pthread_mutex_lock(&live.lock);
    stamp_accepted(&live.record, clock);
    stamp_tokenized(&live.record, clock, PROMPT);
    pthread_mutex_unlock(&live.lock);
    struct stream *stream = stream_create(NULL);
    struct engine_request r = {.prompt = prompt,
                               .n_prompt = PROMPT - number % 9,
                               .max_output = OUTPUT,
                               .sampling = {.top_p = 1},
                               .ignore_end = true,
                               .arrival_ns = clock_now_ns(clock),
                               .stream = stream,
                               .live = &live};
    if (!stream || engine_submit(engine, &r, &id) != SUBMIT_OK) abort();
    for (;;) {
        struct stream_end end = stream_end_of(stream);
        pthread_mutex_lock(&live.lock); /* as GET /v1/records does */
        size_t seen = live.record.n_events;
        pthread_mutex_unlock(&live.lock);
        while (stream_take(stream, &text, &tokens) == 1) {
        }
        if (leaves && seen > 2) leaves = engine_cancel(engine, id) && false;
        if (end.state == STREAM_DONE && text.n == OUTPUT) whole++;
        if (end.state != STREAM_OPEN) break;
        usleep(50);
    }
    pthread_mutex_lock(&live.lock);
    stamp_finished(&live.record, clock);
    pthread_mutex_unlock(&live.lock);
    stream_release(stream);
    buffer_release(&text);
    record_release(&live.record);
}

static void *client(void *ctx) {
    const struct clock clock = clock_monotonic();
    for (int i = 0; i < EACH; i++) one_request(&clock, *(int *)ctx * EACH + i);
    busy--;
    return NULL;
}

static void *watcher(void *ctx) {
    (void)ctx;
    while (busy > 0) {
        engine_load_of(engine);
        usleep(200);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const struct backend_ops ops = {step, free_nothing};
    static struct tokenizer tokenizer;
    struct backend backend = {.ops = &ops,
                              .info = {.name = "cpu",
                                       .vocab_size = MACHINE_VOCAB,
                                       .max_seq_tokens = PROMPT + OUTPUT,
                                       .max_step_tokens = BUDGET,
                                       .max_seqs = SEQS,
                                       .kv_blocks = BLOCKS}};
    struct engine_options o = {.backend = &backend,
                               .tokenizer = &tokenizer,
                               .policy = policy_learner(),
                               .policy_arg = "",
                               .clock = clock_monotonic(),
                               .max_waiting = CLIENTS * EACH,
                               .prefix_cache = true};
    pthread_t clients[CLIENTS], watching;
    int number[CLIENTS];
    struct err e;
    child_confine_to(CHILD_HAS_THREADS);
    for (int32_t i = 0; i < MACHINE_VOCAB; i++) tokenizer.text[i] = (char)(' ' + i);
    engine = engine_create(&o, &e);
    if (!engine || engine_start(engine, &e)) abort();
    for (int i = 0; i < CLIENTS; i++) {
        number[i] = i;
        if (pthread_create(&clients[i], NULL, client, &number[i])) abort();
    }
    if (pthread_create(&watching, NULL, watcher, NULL)) abort();
    for (int i = 0; i < CLIENTS; i++) pthread_join(clients[i], NULL);
    pthread_join(watching, NULL);
    engine_free(engine);
    printf("%s %d\n", argc > 1 ? argv[1] : "", (int)whole);
    return 0;
}
