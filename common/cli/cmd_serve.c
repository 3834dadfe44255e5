/* cmd_serve.c: `servelab serve`: starts model, backend, engine and HTTP, and stops them at a
 * signal. A request then passes, in this order, common/serve/http.c, http_router.c, completion.c,
 * openai.c, engine.c, solutions/04_serving/engine_step.c and solutions/02_queue_sim/policy.c (or
 * the learner's files), common/backend/cpu/forward.c.
 */
#include "cli/options.h"
#include "cli/serve_machine.h"

#include "backend/energy.h"
#include "backend/paced.h"
#include "backend/synthetic.h"
#include "base/home.h"
#include "base/json.h"
#include "base/target.h"
#include "record/log.h"
#include "sched/policies.h"
#include "serve/http.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DRAIN_GRACE_MS = 500, /* a client posts its half within milliseconds of its last byte */
    DRAIN_LOG_MS = 1000,  /* give up on a log that has taken no line for so long */
    DRAIN_LAST_MS = 1500  /* the end waits no longer for what came after the signal: it was refused,
                             or it lingers, for one second at most (http_drain) */
};

struct options {
    struct machine_flags machine;
    const char *name, *host, *cors, *log, *step_log, *web, *port_file, *policy;
    long long port, max_waiting, drain_timeout_s, record_grace_ms;
    int prefix_cache;
    bool json;
};

struct server {
    struct options o;
    const char *name;
    struct machine machine;
    int log_fd;
    struct records *records;
    struct step_log *step_log;
    struct energy_meter *energy;
    struct engine *engine;
    struct http *http;
    bool unwritten; /* the port file could not be written: exit status 4 */
};

static const char *const on_off[] = {"off", "on", NULL};

#define T struct options
static const struct option_flag flags[] = {
    OPTION_HEADING("The model, and where"),
    OPTION_FILE(T, machine.model, "model", "FILE",
                "a GGUF file, or a Hugging Face folder (" HOME_DEFAULT_MODEL ")"),
    OPTION_TEXT(T, machine.synthetic, "synthetic-weights", "SHAPE[/N]", SYNTHETIC_HELP),
    OPTION_TEXT(T, name, "name", "NAME", "what clients call the model (the file's own name)"),
    OPTION_TEXT(T, host, "host", "ADDRESS",
                "where to listen (127.0.0.1); a path, from / on: a Unix socket"),
    OPTION_INT(T, port, "port", "N", 0, 65535, "0 takes a free one (8080)"),
    OPTION_FILE(T, port_file, "port-file", "FILE", "write the port there once the server is ready"),
    OPTION_FILE(T, web, "web", "DIR", "serve the page from a folder, not from the program"),
    OPTION_TEXT(T, cors, "cors", "ORIGIN",
                "let a page of this origin use the server; * for every one (none)"),
    OPTION_HEADING("Scheduling"),
    OPTION_TEXT(T, policy, "policy", "NAME[:ARG]",
                "who runs next: a policy of `servelab sim run --help` (learner)"),
    OPTION_INT(T, max_waiting, "max-waiting", "N", 1, 100000,
               "requests that may queue; more are refused with 429 (256)"),
    OPTION_INT(T, machine.max_batch, "max-batch", "N", 1, 4096,
               "sequences in one step (8; 256 with --pace, 1024 with --backend none)"),
    OPTION_INT(T, machine.token_budget, "token-budget", "N", 1, 65536,
               "tokens of all sequences in one step (512; 2048 with --pace)"),
    OPTION_INT(T, machine.context, "context", "N", 2, 1 << 24,
               "longest prompt and answer together, in tokens (the model's)"),
    OPTION_INT(T, machine.kv_blocks, "kv-blocks", "N", 1, 1 << 26,
               "KV cache in blocks of 16 tokens (enough for every batch position)"),
    OPTION_INT(T, machine.kv_bytes, "kv-bytes", "N", 1, INT64_MAX, "the same in bytes"),
    OPTION_CHOICE(T, prefix_cache, "prefix-cache", "on|off", on_off,
                  "reuse the KV blocks of prompts that begin alike; off for cold runs (on)"),
    OPTION_HEADING("The machine"),
    OPTION_CHOICE(T, machine.backend, "backend", "NAME", machine_backends,
                  "auto, cpu, cuda, simt: the CUDA source on the CPU, or none: nothing is computed "
                  "and answers are filler (auto: the GPU, or the CPU where there is none)"),
    OPTION_CHOICE(T, machine.precision, "precision", "exact|fast|bf16", machine_precisions,
                  MACHINE_PRECISION_HELP),
    OPTION_CHOICE(
        T, machine.weights, "weights", "NAME", machine_weights,
        "of cuda and simt: as-stored; int8 or int4: rounded on loading, in groups of 32; or "
        "fp8: numbers with an exponent (E4M3), a power of two a row; matrices that the file has in "
        "Q8_0, Q4_0 or Q4_1 stay so (as-stored)"),
    OPTION_CHOICE(T, machine.kv_type, "kv-type", "f32|f16|int8", machine_kv_types,
                  MACHINE_KV_TYPE_HELP),
    OPTION_INT(T, machine.threads, "threads", "N", 1, 1024,
               "of the computation (as many as cores)"),
    OPTION_TEXT(T, machine.pace, "pace", "MODEL:GPU",
                "each step lasts as long as this model needs on this GPU, by the simulator's cost "
                "model, and the KV cache is that GPU's: llama-2-7b:h100"),
    OPTION_ABOVE(T, machine.pace_scale, "pace-scale", "X", 0, 1000,
                 "stretch paced time, where this machine is too slow for it (1)"),
    OPTION_INT(T, machine.weight_bits, "weight-bits", "N", 4, 16, "of the paced model: 16, 8, 4"),
    OPTION_INT(T, machine.kv_bits, "kv-bits", "N", 4, 16, "of the paced model's cache: 16, 8, 4"),
    OPTION_FILE(T, machine.draft, "draft-model", "FILE",
                "speculative decoding: a smaller model with the same tokens proposes, the model "
                "checks several tokens in one step; answers stay the same"),
    OPTION_INT(T, machine.draft_tokens, "draft-tokens", "N", 1, BACKEND_MAX_DRAFT,
               "most tokens drafted for a sequence in a step (4)"),
    OPTION_REAL(
        T, machine.draft_cost, "draft-cost", "X", 0, 10,
        "with --pace: a step of the draft model takes X times the step of the model (0.05)"),
    OPTION_HEADING("What is kept"),
    OPTION_FILE(T, log, "log", "FILE", "append every request's record, one JSON line each"),
    OPTION_INT(T, record_grace_ms, "record-grace-ms", "N", 0, 600000,
               "how long a record waits for the client's half (3000)"),
    OPTION_FILE(T, step_log, "step-log", "FILE", "write a JSON line for each step of the engine"),
    OPTION_INT(T, drain_timeout_s, "drain-timeout-s", "N", 0, 86400,
               "on SIGTERM, wait at most so long for running requests (30)"),
    OPTION_SWITCH(T, json, "json",
                  "print one JSON line on standard output when the server is ready"),
    {0}};
#undef T

static const struct option_rule rules[] = {{OPTION_NEEDS, {"draft-tokens", "draft-model"}},
                                           {OPTION_NEEDS, {"draft-cost", "draft-model"}},
                                           {OPTION_NEEDS, {"draft-cost", "pace"}},
                                           {0}};

static int run(int argc, char **argv);

const struct command serve_command = {
    .name = "serve",
    .summary = "serve a model over HTTP in OpenAI's shapes, and record every request",
    .run = run,
    .usage = "[--model FILE] [FLAGS]",
    .about = "Serves a model over HTTP in OpenAI's shapes, and keeps a record of every request.",
    .flags = flags,
    .rules = rules,
    .notes = "A record's line is written within 50 ms once both halves are there, or after the "
             "grace period. SIGTERM loses no record. kill -9 loses those of requests that run or "
             "wait for the client's half, and those of the last 50 ms.\n\n"
             "While the example runs, in another terminal:\n"
             "  curl -N http://127.0.0.1:8080/v1/completions -d '{\"model\": \"NAME\", "
             "\"prompt\": \"12+30=\", \"max_tokens\": 8, \"stream\": true}'\n"
             "NAME is the id in `curl http://127.0.0.1:8080/v1/models`. SIGTERM or Ctrl-C drains; "
             "a second one stops at once.",
    .exits = "0 stopped by a signal; 2 bad usage or input; 4 records could not be logged: they are "
             "counted at the end",
    .examples = "servelab serve --port 8080 --log build/requests.jsonl"};

/* ---- putting together ------------------------------------------------------------------------ */

/* Checked at the start: otherwise each file of the page would be a 404 in front of the class. */
static int check_web(const struct options *o, struct err *e) {
    char path[PATH_MAX];
    struct stat st;
    if (!o->web) return 0;
    int n = snprintf(path, sizeof path, "%s/index.html", o->web);
    if (n < (int)sizeof path && !access(path, R_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
        return 0;
    return err_at(e, 0, "--web", "'%s' must be a folder with a readable index.html", o->web);
}

static int open_machine(struct server *s, struct err *e) {
    if (machine_open(&s->machine, &s->o.machine, e)) return -1;
    s->name = s->o.name ? s->o.name : s->machine.model->config.name;
    if (!s->name[0]) s->name = "model";
    return 0;
}

static int open_log(struct server *s, struct err *e) {
    s->log_fd = -1;
    if (s->o.log && (s->log_fd = record_log_open(s->o.log, e)) < 0) return -1;
    s->records = records_create(s->log_fd, s->o.record_grace_ms * NS_PER_MS, clock_monotonic(), e);
    return s->records ? records_keep_log(s->records, e) : -1;
}

static int start_engine(struct server *s, struct err *e) {
    const struct clock clock = clock_monotonic();
    struct engine_options o = {.backend = s->machine.backend,
                               .tokenizer = s->machine.tokenizer,
                               .records = s->records,
                               .clock = clock,
                               .max_waiting = (int32_t)s->o.max_waiting,
                               .prefix_cache = s->o.prefix_cache,
                               .draft = s->machine.draft,
                               .draft_tokens =
                                   s->machine.draft ? (int32_t)s->o.machine.draft_tokens : 0};
    o.policy = policy_find(s->o.policy, &o.policy_arg, e);
    if (!o.policy) return -1;
    if (!strcmp(o.policy->name, "wait-for-n") && atoll(o.policy_arg) > s->o.max_waiting) {
        err_at(e, 0, "--policy",
               "a group of %.40s never forms: at most %lld requests wait; raise --max-waiting",
               o.policy_arg, s->o.max_waiting);
        return -1;
    }
    if (s->o.step_log) {
        o.step_log = s->step_log =
            step_log_open(s->o.step_log, s->machine.backend, &clock, o.draft_tokens, e);
        if (!s->step_log) return -1;
    }
    if (!strcmp(s->machine.backend->info.name, "cuda")) {
        struct err why;
        o.energy = s->energy = energy_open(&why);
        if (!s->energy)
            fprintf(stderr, "servelab serve: the records have no joules: %s\n", why.text);
    }
    s->engine = engine_create(&o, e);
    return s->engine ? engine_start(s->engine, e) : -1;
}

/* Every connection is a descriptor, and the usual soft limit of 1,024 is below
 * HTTP_MAX_CONNECTIONS. If the hard limit is too low, the library stops accepting until a
 * connection ends. */
static void raise_descriptor_limit(void) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r)) return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

static int start_http(struct server *s, struct err *e) {
    struct http_options o = {.host = s->o.host,
                             .port = (int)s->o.port,
                             .web_dir = s->o.web,
                             .cors = s->o.cors,
                             .model_name = s->name,
                             .synthetic = s->o.machine.synthetic,
                             .engine = s->engine,
                             .records = s->records,
                             .tokenizer = s->machine.tokenizer,
                             .clock = clock_monotonic()};
    s->http = http_start(&o, e);
    return s->http ? 0 : -1;
}

static int check_port_file(const struct server *s, struct err *e) {
    struct err why;
    if (!s->o.port_file || !target_check(s->o.port_file, &why)) return 0;
    return err_at(e, 0, "--port-file", "%.200s %s", s->o.port_file, why.text);
}

static int write_port_file(struct server *s, struct err *e) {
    char digits[16];
    struct err why;
    int n = snprintf(digits, sizeof digits, "%d\n", http_port(s->http));
    if (!s->o.port_file || !target_write(s->o.port_file, digits, (size_t)n, &why)) return 0;
    s->unwritten = true;
    return err_at(e, 0, "--port-file", "%.200s %s", s->o.port_file, why.text);
}

/* Ends the log. Reports how many records are lost, with exit status 4. */
static int finish_log(const struct server *s) {
    struct err e;
    char text[600];
    int64_t lost = records_finish(s->records, &e);
    if (lost == 0) return CLI_DONE;
    fprintf(stderr, "servelab serve: %lld record%s could not be logged to %s: %s\n",
            (long long)lost, lost == 1 ? "" : "s", s->o.log,
            err_format(&e, NULL, text, sizeof text));
    return CLI_FAULT;
}

static int finish_step_log(const struct server *s, int status) {
    struct err e;
    if (!step_log_close(s->step_log, &e)) return status;
    fprintf(stderr, "servelab serve: --step-log %s: %s\n", s->o.step_log, e.text);
    return CLI_FAULT;
}

/* The exit status. */
static int take_apart(struct server *s) {
    if (s->engine) engine_stop(s->engine);
    if (s->engine) engine_join(s->engine);
    http_stop(s->http);
    engine_free(s->engine);
    int status = s->records ? finish_log(s) : CLI_DONE;
    records_free(s->records);
    if (s->log_fd >= 0) close(s->log_fd);
    status = finish_step_log(s, status);
    energy_close(s->energy);
    machine_close(&s->machine);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

/* One KV block holds 16 tokens of both models. */
static void add_draft(cJSON *o, const struct server *s) {
    cJSON *d = cJSON_AddObjectToObject(o, "draft");
    cJSON_AddStringToObject(d, "model_file", s->o.machine.draft);
    cJSON_AddNumberToObject(d, "tokens", (double)s->o.machine.draft_tokens);
    cJSON_AddNumberToObject(d, "weight_bytes", (double)s->machine.draft->info.weight_bytes);
    cJSON_AddNumberToObject(d, "kv_bytes_per_token",
                            (double)s->machine.draft->info.kv_bytes_per_token);
}

static void say_ready(const struct server *s) {
    const char *host = s->o.host;
    bool v6 = strchr(host, ':') != NULL;
    char url[300];
    if (host[0] == '/')
        snprintf(url, sizeof url, "unix:%s", host);
    else
        snprintf(url, sizeof url, v6 ? "http://[%s]:%d" : "http://%s:%d", host, http_port(s->http));
    const char *slash = host[0] == '/' ? "" : "/"; /* a socket's path has none behind it */
    const struct backend_info *info = &s->machine.backend->info;
    const char *paced = paced_label(s->machine.backend);
    fprintf(stderr, "servelab serve: %s is ready at %s%s (Ctrl-C drains and stops)\n", s->name, url,
            slash);
    if (s->machine.no_gpu[0])
        fprintf(stderr, "servelab serve: the CPU computes; no GPU: %s\n", s->machine.no_gpu);
    if (paced)
        fprintf(stderr, "servelab serve: paced: %s, simulated: every time that it shows\n", paced);
    if (s->o.machine.synthetic)
        fprintf(stderr, "servelab serve: the weights are made up: answers mean nothing, and their "
                        "quality is not_evaluated\n");
    if (s->machine.draft)
        fprintf(stderr,
                "servelab serve: speculative decoding: up to %lld tokens a step from %s; a KV "
                "block takes %lld bytes for the model and %lld for the draft model\n",
                s->o.machine.draft_tokens, s->o.machine.draft,
                (long long)info->kv_bytes_per_token * KV_BLOCK_TOKENS,
                (long long)s->machine.draft->info.kv_bytes_per_token * KV_BLOCK_TOKENS);
    if (!s->o.json) return;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "event", "ready");
    cJSON_AddStringToObject(o, "url", url);
    cJSON_AddNumberToObject(o, "port", http_port(s->http));
    cJSON_AddNumberToObject(o, "pid", getpid());
    cJSON_AddStringToObject(o, "model", s->name);
    cJSON_AddStringToObject(o, "model_file", s->machine.path);
    cJSON_AddNumberToObject(o, "context_length", info->max_seq_tokens);
    cJSON_AddStringToObject(o, "backend", info->name);
    if (s->o.machine.synthetic)
        cJSON_AddStringToObject(o, "synthetic_weights", s->o.machine.synthetic);
    if (info->precision) cJSON_AddStringToObject(o, "precision", info->precision);
    if (info->kv_type) cJSON_AddStringToObject(o, "kv_type", info->kv_type);
    if (paced)
        cJSON_AddStringToObject(o, "paced", paced);
    else
        cJSON_AddNullToObject(o, "paced");
    cJSON_AddStringToObject(o, "policy", s->o.policy);
    cJSON_AddNumberToObject(o, "max_batch", info->max_seqs);
    cJSON_AddNumberToObject(o, "token_budget", info->max_step_tokens);
    cJSON_AddNumberToObject(o, "kv_blocks", info->kv_blocks);
    if (s->machine.draft) add_draft(o, s);
    char *text = json_print(o);
    cJSON_Delete(o);
    if (text) puts(text);
    cJSON_free(text);
    fflush(stdout);
}

static sigset_t stop_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

/* Waits up to `ms`; true when a signal to stop came. */
static bool signalled(int ms) {
    sigset_t set = stop_signals();
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS};
    return sigtimedwait(&set, NULL, &t) > 0;
}

/* Finishes the running requests and logs them, until a second signal or the time-out. The requests
 * that are left then end as cancelled, in their records too. */
static void drain(struct server *s) {
    int64_t until = clock_monotonic_ns() + s->o.drain_timeout_s * NS_PER_S;
    struct err e;
    http_drain(s->http);
    int unanswered = http_unanswered(s->http);
    if (unanswered > 0)
        fprintf(stderr, "servelab serve: finishing %d request%s; a second signal stops at once\n",
                unanswered, unanswered == 1 ? "" : "s");
    while (http_active(s->http) > 0)
        if (clock_monotonic_ns() >= until || signalled(20)) return;
    records_hurry(s->records, DRAIN_GRACE_MS * NS_PER_MS);
    int64_t takes_lines_ns = clock_monotonic_ns();
    int64_t due = takes_lines_ns + DRAIN_LAST_MS * NS_PER_MS;
    for (int left; (left = records_flush(s->records, false, &e)) != 0 || http_lingers(s->http);) {
        int64_t now = clock_monotonic_ns();
        if (left >= 0) takes_lines_ns = now;
        if (left >= 0 && now >= due) return;
        if (now >= until || now >= takes_lines_ns + DRAIN_LOG_MS * NS_PER_MS || signalled(20))
            return;
    }
}

static int run(int argc, char **argv) {
    struct server s = {.o = {.machine = {.precision = MACHINE_DEFAULT,
                                         .kv_type = MACHINE_DEFAULT,
                                         .pace_scale = 1,
                                         .draft_tokens = 4,
                                         .draft_cost = 0.05},
                             .host = "127.0.0.1",
                             .policy = "learner",
                             .prefix_cache = true,
                             .port = 8080,
                             .max_waiting = 256,
                             .drain_timeout_s = 30,
                             .record_grace_ms = 3000},
                       .log_fd = -1};
    struct err e;
    struct option_words words;
    int status;
    if (!options_parse(&serve_command, &s.o, argc, argv, &words, &status)) return status;
    /* before any thread exists, so that all of them leave these signals to this one */
    sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* past a file size limit only the log's write fails */
    raise_descriptor_limit();
    const char *input = NULL;
    if (check_web(&s.o, &e) || check_port_file(&s, &e))
        input = NULL;
    else if (open_machine(&s, &e))
        input = e.field[0] == '-' ? NULL : s.machine.path; /* a flag is at fault, or the file */
    else if (open_log(&s, &e))
        input = s.o.log;
    else if (!start_engine(&s, &e) && !start_http(&s, &e) && !write_port_file(&s, &e)) {
        say_ready(&s);
        while (!signalled(3600 * 1000)) continue;
        drain(&s);
        return take_apart(&s);
    }
    status = cli_input_error("serve", input, &e, s.o.json);
    if (s.unwritten) status = CLI_FAULT;
    take_apart(&s);
    return status;
}
