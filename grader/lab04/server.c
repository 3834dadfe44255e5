/* server.c: builds `servelab serve` with the learner's objects, runs it in the sandbox, and asks it
 * over a Unix socket:
 *   1. each prompt alone;
 *   2. a prompt with a stop string, and twice one of which only its scores are wanted: the second
 *      time its beginning is in the cache, and the scores are the same;
 *   3. all prompts at once, while another client begins to read an answer and leaves;
 *   4. whether nothing runs and every KV block is free again.
 * The answers must be those of the embedded model, which the grader computes by itself.
 */
#include "lab04/server.h"

#include "lab04/lab04.h"
#include "lab04/server_client.h"

#include "backend/backend.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/model.h"
#include "model/sampler.h"
#include "model/tokenizer.h"

#include <cjson/cJSON.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PROMPTS = 6,
    LONGEST = 60,
    MOST_TOKENS = 24,
    KV_BLOCKS = 64,
    WALL_MS = 60000,
    CPU_S = 30,
    START_MS = 20000,
    ANSWER_MS = 20000
};

struct prompt {
    int32_t ids[LONGEST], n, max_tokens;
    char text[16 * MOST_TOKENS]; /* the right answer */
};

/* ---- building -------------------------------------------------------------------------------- */

int lab04_server_build(const struct sandbox *sb, struct workplace *w, const char *home,
                       struct err *e) {
    char from[1100], script[2600];
    snprintf(from, sizeof from, "%s/build/grader", home);
    if (build_give(from, "lab04_server.a", w->given, false, e)) return -1;
    snprintf(from, sizeof from, "%s/common/model/embedded", home);
    if (build_give(from, "servelab-tiny.gguf", w->given, false, e)) return -1;
    snprintf(script, sizeof script,
             "O='%s'\n: >$O/started\ngcc -Wl,--wrap=engine_create -o $O/server $O/all.o "
             "'%s/lab04_server.a' -lcjson "
             "-lmicrohttpd -lcurl -lgnutls -lpcre2-8 -lm -ldl -pthread && chmod 755 $O/server\n",
             w->out, w->given);
    return build_script(sb, w, script, e);
}

/* ---- the right answers ----------------------------------------------------------------------- */

static int answer_one(struct backend *b, const struct tokenizer *t, struct prompt *p,
                      struct err *e) {
    int32_t tokens[LONGEST + MOST_TOKENS], table[8], n = p->n, computed = 0;
    float *logits = malloc((size_t)b->info.vocab_size * sizeof *logits);
    struct detokenizer d = {{0}, 0};
    char *at = p->text;
    int rc = logits ? 0 : err_set(e, "no memory");
    for (int32_t i = 0; i < 8; i++) table[i] = i;
    memcpy(tokens, p->ids, (size_t)n * sizeof *tokens);
    for (int32_t k = 0; k < p->max_tokens && !rc; k++) {
        struct backend_seq seq = {tokens + computed, n - computed, computed, table, 8, 1};
        rc = backend_step(b, &(struct backend_batch){&seq, 1}, logits, e);
        computed = n;
        int32_t id = rc ? -1 : sampler_greedy(logits, b->info.vocab_size, e);
        rc = id < 0 ? -1 : 0;
        if (!rc) at += detokenize(t, &d, tokens[n++] = id, at);
    }
    at += detokenize_end(&d, at);
    *at = '\0';
    free(logits);
    return rc;
}

/* Draws the prompts and computes their answers. -1 with *e: the grader's fault. */
static int make_prompts(uint64_t seed, const char *id, const char *model_path,
                        struct prompt prompts[PROMPTS], struct err *e) {
    struct rng rng;
    int rc = -1;
    struct tokenizer *t = NULL;
    struct backend *b = NULL;
    struct model *m = model_open(model_path, e);
    if (!m || !(t = tokenizer_create(m->file, e))) goto done;
    b = backend_cpu_create(&(struct backend_config){.model = m, .threads = 1, .kv_blocks = 8}, e);
    if (!b) goto done;
    rng_seed(&rng, case_sequence(seed, id, 0));
    rc = 0;
    for (int i = 0; i < PROMPTS && !rc; i++) {
        struct prompt *p = &prompts[i];
        p->n = (int32_t)lab04_between(&rng, 3, LONGEST);
        p->max_tokens = (int32_t)lab04_between(&rng, 4, MOST_TOKENS);
        for (int32_t k = 0; k < p->n; k++)
            p->ids[k] = (int32_t)lab04_between(&rng, 8, b->info.vocab_size - 1);
        if (i % 3 == 2) memcpy(p->ids, prompts[i - 1].ids, sizeof p->ids); /* a known beginning */
        rc = answer_one(b, t, p, e);
    }
done:
    backend_free(b);
    tokenizer_free(t);
    model_free(m);
    return rc;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* more: further members of the body, each with a comma before it. */
static void request_of(const struct prompt *p, bool stream, const char *more, struct buffer *out) {
    struct buffer body = {0};
    buffer_printf(&body,
                  "{\"model\":\"servelab-tiny\",\"temperature\":0,\"ignore_eos\":true,"
                  "\"max_tokens\":%d,\"stream\":%s%s,\"prompt\":[",
                  p->max_tokens, stream ? "true" : "false", more);
    for (int32_t i = 0; i < p->n; i++) buffer_printf(&body, "%s%d", i ? "," : "", p->ids[i]);
    buffer_puts(&body, "]}");
    buffer_printf(out,
                  "POST /v1/completions HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n"
                  "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                  body.n, body.bytes);
    buffer_release(&body);
}

static bool wrong(char *why, size_t cap, const char *what, int i) {
    snprintf(why, cap, "request %d: %s", i + 1, what);
    return false;
}

static bool answered(const struct prompt *p, int i, const char *reply, char *why, size_t cap) {
    const char *body = strstr(reply, "\r\n\r\n");
    if (strncmp(reply, "HTTP/1.1 200", 12) != 0 || !body)
        return wrong(why, cap, "its reply is not HTTP status 200", i);
    cJSON *doc = cJSON_Parse(body + 4);
    const cJSON *choice = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "choices"), 0);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(choice, "text"));
    const char *reason = cJSON_GetStringValue(cJSON_GetObjectItem(choice, "finish_reason"));
    double tokens = cJSON_GetNumberValue(
        cJSON_GetObjectItem(cJSON_GetObjectItem(doc, "usage"), "completion_tokens"));
    bool right = text && reason && !strcmp(text, p->text) && !strcmp(reason, "length") &&
                 tokens == p->max_tokens;
    cJSON_Delete(doc);
    return right || wrong(why, cap, "its answer is not the model's, or its length is wrong", i);
}

/* Sends prompts from..to-1 at once and judges the answers. */
static bool ask(struct server_link *link, const struct prompt *prompts, int from, int to, char *why,
                size_t cap) {
    int fd[PROMPTS];
    bool right = true;
    for (int i = from; i < to; i++) {
        struct buffer request = {0};
        request_of(&prompts[i], false, "", &request);
        fd[i] = server_send(link, request.bytes, request.n);
        buffer_release(&request);
    }
    for (int i = from; i < to; i++) {
        if (!right) { /* a wait for the others could take as long again */
            if (fd[i] >= 0) close(fd[i]);
            continue;
        }
        char *reply = server_receive(link, fd[i], 0, ANSWER_MS);
        if (!reply) right = wrong(why, cap, link->problem, i);
        if (right) right = answered(&prompts[i], i, reply, why, cap);
        free(reply);
    }
    return right;
}

/* One request with further members; its reply's JSON, or NULL. */
static cJSON *ask_more(struct server_link *link, const struct prompt *p, const char *more) {
    struct buffer request = {0};
    request_of(p, false, more, &request);
    char *reply = server_receive(link, server_send(link, request.bytes, request.n), 0, ANSWER_MS);
    const char *body = reply ? strstr(reply, "\r\n\r\n") : NULL;
    cJSON *doc = body && !strncmp(reply, "HTTP/1.1 200", 12) ? cJSON_Parse(body + 4) : NULL;
    buffer_release(&request);
    free(reply);
    return doc;
}

static const cJSON *choice_of(const cJSON *doc) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "choices"), 0);
}

static bool reason_is(const cJSON *choice, const char *reason) {
    const char *is = cJSON_GetStringValue(cJSON_GetObjectItem(choice, "finish_reason"));
    return is && !strcmp(is, reason);
}

/* The answer ends before its first letter or digit of the second half. */
static bool ask_with_stop(struct server_link *link, const struct prompt *p, char *why, size_t cap) {
    char more[32], stop = '\0';
    for (const char *at = p->text + strlen(p->text) / 2; *at && !stop; at++)
        if (isalnum((unsigned char)*at)) stop = *at;
    if (!stop) return true;
    snprintf(more, sizeof more, ",\"stop\":\"%c\"", stop);
    cJSON *doc = ask_more(link, p, more);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(choice_of(doc), "text"));
    size_t n = strcspn(p->text, (char[]){stop, '\0'});
    bool right =
        text && strlen(text) == n && !memcmp(text, p->text, n) && reason_is(choice_of(doc), "stop");
    cJSON_Delete(doc);
    if (!right) snprintf(why, cap, "an answer with a stop string: it goes on, or another reason");
    return right;
}

/* Only the prompt's scores are wanted, and no token. */
static bool ask_for_scores(struct server_link *link, struct prompt p, char *why, size_t cap) {
    cJSON *doc[2];
    bool right = true;
    p.max_tokens = 0;
    for (int i = 0; i < 2; i++) {
        doc[i] = ask_more(link, &p, ",\"echo\":true,\"logprobs\":1");
        const cJSON *scores = cJSON_GetObjectItem(choice_of(doc[i]), "logprobs");
        right &= cJSON_GetArraySize(cJSON_GetObjectItem(scores, "token_logprobs")) == p.n &&
                 reason_is(choice_of(doc[i]), "length");
    }
    right = right && cJSON_Compare(cJSON_GetObjectItem(choice_of(doc[0]), "logprobs"),
                                   cJSON_GetObjectItem(choice_of(doc[1]), "logprobs"), true);
    for (int i = 0; i < 2; i++) cJSON_Delete(doc[i]);
    if (!right)
        snprintf(why, cap,
                 "a prompt without an answer (max_output 0), asked twice for its scores: they are "
                 "not there, or not the same");
    return right;
}

/* Begins a long streamed answer, waits for its first bytes, and leaves. */
static bool leave_early(struct server_link *link, struct prompt p, char *why, size_t cap) {
    struct buffer request = {0};
    p.max_tokens = 400;
    request_of(&p, true, "", &request);
    int fd = server_send(link, request.bytes, request.n);
    buffer_release(&request);
    char *reply = server_receive(link, fd, 1, ANSWER_MS);
    bool began = reply && !strncmp(reply, "HTTP/1.1 200", 12);
    free(reply);
    if (!began) snprintf(why, cap, "a streamed answer did not begin");
    return began;
}

/* Nothing runs or waits, and every block is free: at once, or while the server still computes. */
static bool at_rest(struct server_link *link, char *why, size_t cap) {
    static const char health[] = "GET /health HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n";
    double running = -1, waiting = -1, free_blocks = -1;
    struct stall_watch watch = {0}; /* of the moments between the questions */
    for (int64_t until = clock_monotonic_ns() + 5 * NS_PER_S; clock_monotonic_ns() < until;) {
        char *reply =
            server_receive(link, server_send(link, health, sizeof health - 1), 0, ANSWER_MS);
        const char *body = reply ? strstr(reply, "\r\n\r\n") : NULL;
        cJSON *doc = body ? cJSON_Parse(body + 4) : NULL;
        running = cJSON_GetNumberValue(cJSON_GetObjectItem(doc, "running"));
        waiting = cJSON_GetNumberValue(cJSON_GetObjectItem(doc, "waiting"));
        free_blocks = cJSON_GetNumberValue(cJSON_GetObjectItem(doc, "kv_blocks_free"));
        cJSON_Delete(doc);
        free(reply);
        if (!reply) {
            snprintf(why, cap, "after all requests, at /health: %s", link->problem);
            return false;
        }
        if (running == 0 && waiting == 0 && free_blocks == KV_BLOCKS) return true;
        usleep(20000);
        if (stall_look(&watch, link->run->pid) != STALL_NONE) break;
    }
    snprintf(why, cap,
             "after all requests /health says %g running, %g waiting, %g of %d KV blocks free",
             running, waiting, free_blocks, KV_BLOCKS);
    return false;
}

static bool drive(struct server_link *link, const struct prompt *prompts, char *why, size_t cap) {
    if (!server_wait(link, START_MS)) {
        snprintf(why, cap, "%s", link->problem);
        return false;
    }
    for (int i = 0; i < PROMPTS; i++)
        if (!ask(link, prompts, i, i + 1, why, cap)) return false;
    const struct prompt *longest = prompts;
    for (int i = 1; i < PROMPTS; i++)
        if (prompts[i].n > longest->n) longest = &prompts[i];
    if (!ask_with_stop(link, longest, why, cap) || !ask_for_scores(link, *longest, why, cap))
        return false;
    return leave_early(link, prompts[0], why, cap) && ask(link, prompts, 0, PROMPTS, why, cap) &&
           at_rest(link, why, cap);
}

/* ---- the check ------------------------------------------------------------------------------- */

static int start(const struct grading *g, const char *program, const char *model,
                 const char *socket, const char *folder, struct sandbox_run *run, struct err *e) {
    char blocks[16];
    snprintf(blocks, sizeof blocks, "%d", KV_BLOCKS);
    const char *argv[] = {program,  "serve",         "--host",      socket,      "--model",
                          model,    "--backend",     "cpu",         "--threads", "1",
                          "--name", "servelab-tiny", "--kv-blocks", blocks,      NULL};
    const char *env[] = {"PATH=/nowhere", "LC_ALL=C", NULL};
    struct sandbox_job job = {
        .argv = argv,
        .env = env,
        .cwd = "/",
        .folders = {{g->place->out, false}, {g->place->given, false}, {folder, true}},
        .channel_fd = -1,
        .cpu_s = CPU_S,
        .wall_ms = WALL_MS,
        .memory_bytes = INT64_C(4) << 30,
        .file_bytes = 1 << 20,
        .processes = 64,
        .output_cap = 4000};
    return sandbox_start(g->sandbox, &job, run, e);
}

/* The first line that the server itself did not write: what a function of the learner said. */
static void first_foreign_line(char *out, size_t cap, const struct sandbox_run *run) {
    static const char own[] = "servelab serve: ";
    const char *at = run->output;
    size_t n = run->output_len;
    while (n >= sizeof own && !memcmp(at, own, sizeof own - 1)) {
        const char *end = memchr(at, '\n', n);
        size_t line = end ? (size_t)(end - at) + 1 : n;
        at += line;
        n -= line;
    }
    text_first_line(out, cap, at, n);
}

void lab04_server_run(const struct check_def *def, const struct grading *g,
                      struct check_result *r) {
    static struct prompt prompts[PROMPTS];
    struct sandbox_run run = {.output_fd = -1};
    char program[320], model[400], folder[300], socket[320], why[200] = "", shown[200];
    struct err e;
    snprintf(program, sizeof program, "%s/server", g->place->out);
    snprintf(model, sizeof model, "%s/servelab-tiny.gguf", g->place->given);
    r->outcome = OUTCOME_NOT_RUN;
    if (access(program, X_OK)) {
        r->settled = true;
        snprintf(r->message, sizeof r->message,
                 "a server needs all functions of the four files; one is missing");
        return;
    }
    memset(prompts, 0, sizeof prompts);
    snprintf(folder, sizeof folder, "%s/socket", g->place->root);
    snprintf(socket, sizeof socket, "%s/s", folder);
    if (make_prompts(g->seed, def->id, model, prompts, &e) || mkdir(folder, 0777) ||
        chmod(folder, 0777) || start(g, program, model, socket, folder, &run, &e)) {
        r->outcome = OUTCOME_GRADER_FAULT;
        snprintf(r->message, sizeof r->message, "the server could not be run");
        return;
    }
    struct server_link link = {.path = socket, .run = &run};
    bool right = drive(&link, prompts, why, sizeof why);
    if (link.ended && !strstr(why, link.problem)) snprintf(why, sizeof why, "%s", link.problem);
    sandbox_finish(&run, true);
    r->outcome = right ? OUTCOME_EARNED : OUTCOME_LOST;
    r->cases_right = right;
    if (!right && g->practice)
        snprintf(r->message, sizeof r->message, "%s", why);
    else if (!right)
        snprintf(r->message, sizeof r->message, "a request over the socket went wrong");
    if (!right && g->practice && link.stalled != STALL_NONE)
        text_append(r->message, sizeof r->message, "; %s", stall_text(link.stalled));
    r->endless = link.stalled == STALL_COMPUTES;
    first_foreign_line(shown, sizeof shown, &run);
    if (!right && g->practice && link.ended && shown[0])
        text_append(r->message, sizeof r->message, "; it printed: %.120s", shown);
    sandbox_release(&run);
    unlink(socket);
    rmdir(folder);
}
