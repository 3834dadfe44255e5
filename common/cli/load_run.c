/* load_run.c: `servelab load` with a workload: what to send is made from flags and from what the
 * server says of itself, then load/generator.h sends it, then the run is written and shown.
 */
#include "cli/load_flags.h"

#include "base/clock.h"
#include "base/json.h"
#include "load/generator.h"
#include "workload/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEFAULT_PROMPT = 512, /* as in `servelab sim run` with a model */
    DEFAULT_OUTPUT = 128,
    CHECKS_MOST = 256,  /* presets fetched before the load: the server needs 10 ms for each */
    CHECKS_CLOSED = 64, /* of a closed loop, whose number of requests isn't known */
    OTHER_DESCRIPTORS = 64,
    STREAMS_MOST = 65536
};

struct session {
    const struct load_flags *f;
    struct load_client client;
    char url[512], model[200], log_path[4096], run_path[4096];
    struct sim_setup setup; /* its workload, and the list of arrivals */
    struct load_job job;
    struct run_file run;
    struct load_results results;
    struct outbox_counts records;
    cJSON *models, *health_before, *health_after;
    bool answers_health; /* before the run, with any status */
    struct check_prompt *checks;
    struct objective objective;
    bool has_objective;
    bool unwritten; /* --out can't be written */
};

static volatile sig_atomic_t stops;
static void on_signal(int number) {
    (void)number;
    stops = stops + 1;
}

/* ---- the workload ---------------------------------------------------------------------------- */

/* Without --requests a generated workload goes on until --duration-s ends it. Its length is no
 * matter for its beginning (workload.h). */
static long long requests_of(const struct load_flags *f) {
    if (f->has_requests) return f->requests;
    if (f->w.trace || f->w.arrivals_ms || f->duration_s == 0) return 0;
    double most = f->w.rate_rps > 0 ? 1e9 * f->w.rate_rps : 1e12; /* 31 years of them */
    return (long long)fmax(1, fmin(most, (double)SPEC_MAX_REQUESTS));
}

static int make_workload(struct session *s, struct err *e) {
    struct sim_flags w = s->f->w;
    char prompt[16], output[16];
    snprintf(prompt, sizeof prompt, "%d", DEFAULT_PROMPT);
    snprintf(output, sizeof output, "%d", DEFAULT_OUTPUT);
    if (!w.prompt_tokens && !w.trace) w.prompt_tokens = prompt;
    if (!w.output_tokens && !w.trace) w.output_tokens = output;
    w.mode = SIM_RUN;
    w.seed = s->f->has_seed ? s->f->seed : 1;
    w.requests = requests_of(s->f);
    if (w.seed < 0) return err_at(e, 0, "--seed", "of a workload is 0 or above");
    if (w.arrivals && !w.requests)
        return err_at(e, 0, "--requests", "or --duration-s is missing: how long is the load?");
    if (sim_workload_make(&w, &s->setup, e)) return -1;
    s->job.workload = workload_open(&s->setup.run.workload, e);
    if (!s->job.workload) return -1;
    workload_facts(s->job.workload, &s->setup.facts);
    return 0;
}

/* ---- what the server says of itself ---------------------------------------------------------- */

static const cJSON *at(const cJSON *o, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static bool is_string(const cJSON *value, const char *text) {
    return cJSON_IsString(value) && !strcmp(value->valuestring, text);
}

/* With --model it may fail, where a server is there at all. */
static int find_model(struct session *s, struct err *e) {
    const char *id = s->f->model;
    int status = load_json(&s->client, "/v1/models", NULL, &s->models, e);
    if (status < 0 && !(id && s->client.connected)) return -1;
    const cJSON *data = at(s->models, "data"), *first = cJSON_IsArray(data) ? data->child : NULL;
    const cJSON *named = first; /* the one of --model, where the list has it */
    while (id && named && !is_string(at(named, "id"), id)) named = named->next;
    if (named) first = named;
    if (!id && first) json_get_string(first, "data", "id", &id, NULL);
    if (!id) return load_no_model(&s->client, status, e);
    text_cut(s->model, sizeof s->model, id);
    const cJSON *paced = at(first, "paced");
    if (cJSON_IsString(paced)) text_cut(s->run.paced, sizeof s->run.paced, paced->valuestring);
    int64_t vocab;
    s->job.prompts.vocab = PROMPT_VOCAB;
    if (first && !json_get_int(first, "data", "vocab_size", 1, INT32_MAX, &vocab, NULL))
        s->job.prompts.vocab = (int32_t)vocab;
    return 0;
}

/* GET. *reply is NULL where the status isn't 200. Returns the status, or -1: no answer. */
static int ask(struct session *s, const char *path, cJSON **reply) {
    struct err e;
    int status = load_json(&s->client, path, NULL, reply, &e);
    if (status == 200) return status;
    cJSON_Delete(*reply);
    *reply = NULL;
    return status;
}

/* GET; NULL where there is no such route. */
static cJSON *fetch(struct session *s, const char *path) {
    cJSON *reply;
    ask(s, path, &reply);
    return reply;
}

/* The paced server's steps so far, from GET /health: {"pace": {"label", "steps", "late"}}. */
static bool pace_of(const cJSON *health, int64_t *steps, int64_t *late) {
    const cJSON *pace = at(health, "pace");
    return pace && !json_get_int(pace, "pace", "steps", 0, JSON_MAX_INT, steps, NULL) &&
           !json_get_int(pace, "pace", "late", 0, JSON_MAX_INT, late, NULL);
}

static int know_server(struct session *s, struct err *e) {
    if (find_model(s, e)) return -1;
    s->answers_health = ask(s, "/health", &s->health_before) >= 0;
    const cJSON *label = at(at(s->health_before, "pace"), "label");
    if (cJSON_IsString(label)) text_cut(s->run.paced, sizeof s->run.paced, label->valuestring);
    cJSON *records = fetch(s, "/v1/records");
    s->job.joins = cJSON_IsArray(at(records, "data"));
    cJSON_Delete(records);
    return 0;
}

/* After the run. An answer of any status shows that the server is alive. */
static void ask_health(struct session *s, bool ended_well) {
    char *failure = s->results.failure;
    size_t cap = sizeof s->results.failure;
    if (ask(s, "/health", &s->health_after) >= 0 || !ended_well || !s->answers_health) return;
    if (s->client.late)
        snprintf(failure, cap,
                 "the server answered GET /health before the run and did not answer within %d s "
                 "after the run: it ended, or it hangs",
                 load_ask_s(&s->client));
    else
        snprintf(failure, cap,
                 "the server answered GET /health before the run but not after it: %s",
                 s->client.connected ? "it broke the connection off" : "it ended");
}

static void count_pace(struct session *s) {
    int64_t steps[2], late[2];
    if (!pace_of(s->health_before, &steps[0], &late[0])) return;
    if (!pace_of(s->health_after, &steps[1], &late[1])) return;
    s->results.pace_steps = steps[1] - steps[0];
    s->results.pace_late = late[1] - late[0];
}

/* ---- prompts with a checkable answer --------------------------------------------------------- */

static int64_t checks_wanted(const struct session *s) {
    const struct load_flags *f = s->f;
    double n = f->has_requests ? (double)f->requests : 0;
    double by_time = f->duration_s * f->w.rate_rps;
    if (f->w.arrivals_ms) n = (double)s->setup.run.workload.requests;
    if (f->w.trace && n == 0) n = (double)s->setup.facts.rows;
    if (by_time > 0 && (n == 0 || by_time < n)) n = by_time;
    if (n == 0) return CHECKS_CLOSED;
    return (int64_t)fmin(CHECKS_MOST, ceil(n * f->check_share * 1.2) + 4);
}

static int take_preset(struct session *s, const cJSON *p, struct err *e) {
    const char *name, *prompt;
    int64_t prompt_tokens = 0, max_tokens;
    if (json_get_string(p, "presets", "name", &name, e) ||
        json_get_string(p, "presets", "prompt", &prompt, e) ||
        json_get_int(p, "presets", "max_tokens", 1, INT32_MAX, &max_tokens, e))
        return -1;
    json_get_int(p, "presets", "prompt_tokens", 0, INT32_MAX, &prompt_tokens, NULL);
    struct check_prompt *c = &s->checks[s->job.n_checks++];
    text_cut(c->name, sizeof c->name, name);
    c->prompt = strdup(prompt);
    c->prompt_tokens = (int32_t)prompt_tokens;
    c->max_tokens = (int32_t)max_tokens;
    return c->prompt ? 0 : err_set(e, "no memory for the presets");
}

/* Seeds follow the salt, so that no run asks what one before it asked. */
static int fetch_checks(struct session *s, struct err *e) {
    if (s->f->check_share == 0) return 0;
    int64_t wanted = checks_wanted(s);
    s->checks = calloc((size_t)wanted, sizeof *s->checks);
    if (!s->checks) return err_set(e, "no memory for the presets");
    for (int64_t i = 0; s->job.n_checks < wanted; i++) {
        char path[96];
        snprintf(path, sizeof path, "/v1/presets?seed=%llu%s%s",
                 (unsigned long long)((s->job.prompts.salt + (uint64_t)i) % 1000000000),
                 s->f->check_wording ? "&wording=" : "",
                 s->f->check_wording ? load_wordings[s->f->check_wording] : "");
        cJSON *reply = fetch(s, path);
        const cJSON *list = at(reply, "presets"), *p;
        int rc = cJSON_IsArray(list) && list->child
                     ? 0
                     : err_at(e, 0, "--check-share", "%s has no presets for this model", s->url);
        cJSON_ArrayForEach(p, list) if (!rc && s->job.n_checks < wanted) rc = take_preset(s, p, e);
        cJSON_Delete(reply);
        if (rc) return -1;
    }
    s->job.checks = s->checks;
    return 0;
}

/* ---- the job --------------------------------------------------------------------------------- */

/* So many streams as there are descriptors for; the limit is raised to what the system allows. */
static int find_streams(const struct load_flags *f, int *streams, struct err *e) {
    struct rlimit limit;
    long long most = 1024;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (!getrlimit(RLIMIT_NOFILE, &limit)) most = (long long)limit.rlim_cur;
    }
    if (most <= OTHER_DESCRIPTORS)
        return err_at(e, 0, "--max-streams",
                      "a limit of %lld open files leaves none for a stream; raise it with "
                      "`ulimit -n`: %d, and one a stream",
                      most, OTHER_DESCRIPTORS);
    most -= OTHER_DESCRIPTORS;
    if (most > STREAMS_MOST) most = STREAMS_MOST;
    if (f->max_streams > most)
        return err_at(e, 0, "--max-streams",
                      "%lld are more than the %lld that descriptors allow; "
                      "raise the limit with `ulimit -n`",
                      f->max_streams, most);
    *streams = (int)(f->max_streams ? f->max_streams : most);
    return 0;
}

static int fill_job(struct session *s, struct err *e) {
    const struct load_flags *f = s->f;
    struct load_job *j = &s->job;
    const struct workload_spec *w = &s->setup.run.workload;
    uint64_t salt = 0;
    uint32_t run = 0;
    if (getrandom(&salt, sizeof salt, GRND_NONBLOCK) != sizeof salt ||
        getrandom(&run, sizeof run, GRND_NONBLOCK) != sizeof run)
        salt = (uint64_t)clock_monotonic_ns(), run = (uint32_t)getpid();
    j->client = &s->client;
    j->closed = w->arrivals == ARRIVALS_CLOSED;
    j->requests = f->has_requests || f->w.arrivals_ms ? w->requests : 0;
    j->rate_rps = w->rate_rps;
    j->duration_ns = llround(f->duration_s * 1e9);
    j->warm_up_ns = llround(f->warm_up_s * 1e9);
    j->cool_down_ns = llround(f->cool_down_s * 1e9);
    j->model = s->model;
    j->ids = f->prompt_form == FORM_IDS || (f->prompt_form == FORM_AUTO && j->joins);
    j->chat = !f->completions;
    j->ignore_eos = f->ignore_eos || j->joins;
    j->temperature = f->temperature;
    j->prompts.salt = f->has_salt ? (uint64_t)f->prompt_salt : salt >> 12; /* fits a JSON number */
    j->prompts.shared_tokens = (int32_t)f->shared_prefix;
    j->check_share = f->check_share;
    j->seed = w->seed;
    j->run = run;
    if (f->no_join) j->joins = false;
    j->live = stderr;
    j->live_is_tty = isatty(STDERR_FILENO);
    j->live_label = s->f->label;
    j->stop = &stops;
    s->run.route = j->ids || !j->chat ? "/v1/completions" : "/v1/chat/completions";
    return find_streams(f, &j->max_streams, e);
}

static int take_url(struct session *s, struct err *e) {
    if (load_base_url(s->f->url, s->url, sizeof s->url, e)) return -1;
    return load_client_init(&s->client, s->url, (int)s->f->timeout_s, e);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Without --out the records lie in a file that goes when the command ends. */
static int open_folder(struct session *s, struct err *e) {
    const char *out = s->f->out, *tmp = getenv("TMPDIR");
    if (!out) {
        snprintf(s->log_path, sizeof s->log_path, "%s/servelab-load-XXXXXX", tmp ? tmp : "/tmp");
        int fd = mkstemp(s->log_path);
        s->job.log = fd < 0 ? NULL : fdopen(fd, "w");
        if (s->job.log) return 0;
        return err_at(e, 0, "TMPDIR", "%.200s can't be written: %s", s->log_path, strerror(errno));
    }
    s->unwritten = mkdir(out, 0777) && errno != EEXIST;
    if (s->unwritten)
        return err_at(e, 0, "--out", "%.200s can't be made: %s", out, strerror(errno));
    if (snprintf(s->log_path, sizeof s->log_path, "%s/records.jsonl", out) >=
            (int)sizeof s->log_path ||
        snprintf(s->run_path, sizeof s->run_path, "%s/run.json", out) >= (int)sizeof s->run_path)
        return err_at(e, 0, "--out", "is too long a path");
    if (!s->f->force && (!access(s->run_path, F_OK) || !access(s->log_path, F_OK)))
        return err_at(e, 0, "--out",
                      "%.200s holds a run already; take another folder, or --force to write over "
                      "it",
                      out);
    unlink(s->run_path); /* of an old run: it says nothing about the records that begin now */
    s->job.log = fopen(s->log_path, "we");
    if (s->job.log) return 0;
    s->unwritten = true;
    return err_at(e, 0, "--out", "%.200s can't be written: %s", s->log_path, strerror(errno));
}

/* ---- running --------------------------------------------------------------------------------- */

static int prepare(struct session *s, const char **input, struct err *e) {
    if (s->f->objective) {
        *input = s->f->objective;
        if (objective_read(&s->objective, s->f->objective, e)) return -1;
        s->has_objective = true;
    }
    *input = NULL;
    if (make_workload(s, e)) {
        *input = workload_err_input(&s->setup.run.workload, e);
        return -1;
    }
    return take_url(s, e) || know_server(s, e) || fill_job(s, e) || fetch_checks(s, e) ||
                   open_folder(s, e)
               ? -1
               : 0;
}

/* Sends the load and writes the run. Also after an error or a signal, what was seen is written. */
static int generate(struct session *s, struct err *e) {
    struct sigaction action = {.sa_handler = on_signal}, old[2];
    struct err later;
    stops = 0;
    sigaction(SIGINT, &action, &old[0]);
    sigaction(SIGTERM, &action, &old[1]);
    prctl(PR_SET_TIMERSLACK, 1000UL); /* ns; 50,000 by default */
    s->run.job = &s->job;
    s->run.spec = &s->setup.run.workload;
    s->run.facts = &s->setup.facts;
    s->run.results = &s->results;
    s->run.records = &s->records;
    s->run.url = s->url;
    run_file_stamp(&s->run);
    int rc = load_generate(&s->job, &s->results, &s->records, e);
    bool written = !ferror(s->job.log); /* a disk that was full for a while */
    written = !fclose(s->job.log) && written;
    s->job.log = NULL;
    if (!written && !rc)
        rc = err_at(e, 0, "--out", "%.200s can't be written: %s", s->log_path, strerror(errno));
    if (rc) text_cut(s->results.failure, sizeof s->results.failure, e->text);
    ask_health(s, !rc && !s->results.interrupted);
    count_pace(s);
    s->run.models = s->models;
    s->run.health_before = s->health_before;
    s->run.health_after = s->health_after;
    if (s->f->out) {
        cJSON *tree = run_file_json(&s->run);
        int bad = run_file_write(s->run_path, tree, rc ? &later : e);
        cJSON_Delete(tree);
        if (bad) rc = -1;
    }
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGTERM, &old[1], NULL);
    return rc;
}

static int show(struct session *s, struct err *e) {
    struct load_summary summary;
    if (s->f->quiet) return s->results.interrupted ? CLI_INTERRUPTED : CLI_DONE;
    struct buffer reasons = {0};
    int rc = load_summarize(&summary, &s->results, s->log_path,
                            s->has_objective ? &s->objective : NULL, e);
    int status = CLI_DONE;
    if (!rc) {
        if (!s->run.paced[0]) text_cut(s->run.paced, sizeof s->run.paced, summary.paced);
        const struct load_report r = {s->f, &s->run, &s->results, &summary};
        enum slo_answer verdict = s->f->json ? load_print_json(&r) : load_print_text(&r);
        if (load_invalid(&s->results, &reasons) > 0 || verdict == SLO_MISSED) status = CLI_NO;
        if (s->results.interrupted) status = CLI_INTERRUPTED;
    }
    buffer_release(&reasons);
    load_summary_release(&summary);
    return rc ? rc : status;
}

static void release(struct session *s) {
    if (s->job.log) fclose(s->job.log);
    if (!s->f->out && s->log_path[0]) unlink(s->log_path);
    for (int64_t i = 0; i < s->job.n_checks; i++) free(s->checks[i].prompt);
    free(s->checks);
    cJSON_Delete(s->models);
    cJSON_Delete(s->health_before);
    cJSON_Delete(s->health_after);
    workload_close(s->job.workload);
    sim_setup_release(&s->setup);
    load_results_release(&s->results);
    if (s->client.curl) load_client_release(&s->client);
    if (s->has_objective) objective_release(&s->objective);
}

int load_run(const struct load_flags *f, const char *command_line) {
    struct session *s = calloc(1, sizeof *s);
    struct err e;
    const char *input = NULL;
    INVARIANT(s);
    s->f = f;
    s->run.command_line = command_line;
    int bad = prepare(s, &input, &e), status = bad ? CLI_USAGE : CLI_DONE;
    if (!bad && generate(s, &e)) bad = -1, status = CLI_FAULT;
    if (!bad && (status = show(s, &e)) < 0) bad = -1, status = CLI_USAGE, input = s->log_path;
    if (s->unwritten) status = CLI_FAULT;
    if (bad) cli_input_error(f->command ? f->command : "load", input ? input : NULL, &e, f->json);
    release(s);
    free(s);
    return status;
}
