/* cmd_load.c: `servelab load`. With a workload (--arrivals, --trace, --arrivals-ms): load_run.c.
 * With a prompt: sends requests to a server, one after the other, joins both halves of each record,
 * and prints them with `servelab record check`. See load/client.h.
 */
#include "cli/load_flags.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/target.h"
#include "load/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct load {
    struct load_flags o;
    struct load_client client;
    struct load_request request;
    char url[512], model[200], log_path[4096];
    char *text; /* the prompt's bytes, where it came from a file or a preset */
    int32_t *ids;
    FILE *log; /* one record a line */
    int incomplete;
    bool unwritten; /* an output could not be written: exit status 4 */
};

#define T struct load_flags
static const char *const forms[] = {"auto", "ids", "text", NULL};
const char *const load_wordings[] = {"auto", "grammar", "plain", NULL};
static const struct option_flag flags[] = {
    OPTION_TEXT(T, url, "url", "URL",
                "the server, such as http://127.0.0.1:8080, with or without /v1"),
    OPTION_TEXT(T, model, "model", "NAME", "(the server's first)"),
    OPTION_INT(T, requests, "requests", "N", 1, 1000000000000,
               "of a prompt: one after the other (1); of a workload: how many"),
    OPTION_INT(T, seed, "seed", "N", -JSON_MAX_INT, JSON_MAX_INT,
               "of the sampling; with a workload of everything random (1)"),
    OPTION_REAL(T, temperature, "temperature", "X", 0, 2, "(0: greedy)"),
    OPTION_SWITCH(
        T, ignore_eos, "ignore-eos",
        "the end token is an ordinary one: go on to the asked length (with a workload and a "
        "servelab server always)"),
    OPTION_SWITCH(T, completions, "completions", "text to /v1/completions, not the chat route"),
    OPTION_INT(T, timeout_s, "timeout-s", "N", 1, 86400,
               "for one request (600); to connect, at most 10 of them"),

    OPTION_HEADING("ONE PROMPT, asked one time after the other"),
    OPTION_TEXT(T, prompt, "prompt", "TEXT", "one user message", .may_be_empty = true),
    OPTION_FILE(T, prompt_file, "prompt-file", "FILE", "the same from a file"),
    OPTION_FILE(T, tokens_file, "prompt-tokens-file", "FILE",
                "token ids, as a JSON array: an exact prompt"),
    OPTION_TEXT(T, preset, "preset", "NAME",
                "a prompt of the server's with a checkable answer, such as key-recall/1:7 or "
                "plain-recall/1:7; "
                "\"first\" takes the first"),
    OPTION_INT(T, max_tokens, "max-tokens", "N", 1, 1 << 24, "longest answer (256)"),
    OPTION_FILE(T, record, "record", "FILE", "keep the first record"),
    OPTION_FILE(T, annotate, "annotate", "FILE",
                "keep the first record for lab 01: provenance, sources and statement are for you "
                "to fill in"),

    OPTION_HEADING("A WORKLOAD, as in `servelab sim run`: the same seed gives the same arrivals"),
    OPTION_TEXT(T, w.arrivals, "arrivals", "KIND", "poisson, gamma, on-off or closed"),
    OPTION_TEXT(T, w.arrivals_ms, "arrivals-ms", "A,B,..", "at these times, in milliseconds"),
    OPTION_FILE(T, w.trace, "trace", "FILE", "as recorded; needs --trace-format"),
    OPTION_TEXT(T, w.trace_format, "trace-format", "NAME", "azure, mooncake, burstgpt or vidur"),
    OPTION_ABOVE(T, w.time_scale, "time-scale", "X", 0, 1e6, "trace: gaps times X"),
    OPTION_SWITCH(T, w.skip_bad_rows, "skip-bad-rows", "trace: leave bad rows out, and count them"),
    OPTION_ABOVE(T, w.rate_rps, "rate-rps", "R", 0, 1e9,
                 "offered load, requests/s; a trace is stretched to it"),
    OPTION_ABOVE(T, w.cv, "cv", "X", 0, 1e3, "gamma: coefficient of variation of the gaps"),
    OPTION_ABOVE(T, w.on_s, "on-s", "S", 0, 1e9, "on-off: mean length of a burst"),
    OPTION_REAL(T, w.off_s, "off-s", "S", 0, 1e9, "on-off: mean pause between two bursts"),
    OPTION_INT(T, w.clients, "clients", "N", 1, 1000000000,
               "closed: so many; each waits for the end of its request"),
    OPTION_REAL(T, w.think_s, "think-s", "S", 0, 1e9,
                "closed: mean pause before a client's next request"),
    OPTION_ABOVE(T, duration_s, "duration-s", "S", 0, 1e6,
                 "no request is scheduled later; with --requests, what comes first"),
    OPTION_TEXT(T, w.prompt_tokens, "prompt-tokens", "N|LO:HI", "length of prompts (512)"),
    OPTION_TEXT(T, w.output_tokens, "output-tokens", "N|LO:HI", "length of answers (128)"),
    OPTION_INT(T, w.max_output_tokens, "max-output-tokens", "N", 1, 1000000000,
               "longer answers are cut, as by a limit of the client"),
    OPTION_CHOICE(T, prompt_form, "prompt-form", "FORM", forms,
                  "auto, ids (exact counts, to /v1/completions) or text (words, about as many "
                  "tokens); auto: ids for a servelab server, text for others"),
    OPTION_INT(T, shared_prefix, "shared-prefix", "N", 0, 100000000,
               "the first N tokens of all prompts are the same (0)"),
    OPTION_INT(T, prompt_salt, "prompt-salt", "N", 0, JSON_MAX_INT,
               "of the prompts' contents (another one each run, so that no run meets the prefix "
               "cache that one before it filled)"),
    OPTION_REAL(T, check_share, "check-share", "X", 0, 1,
                "share of the requests that ask a preset of the server, judged by its check (0)"),
    OPTION_CHOICE(T, check_wording, "check-wording", "NAME", load_wordings,
                  "of those presets: grammar (the embedded model's), plain (English) or auto "
                  "(default): what the server's model was trained for"),
    OPTION_REAL(T, warm_up_s, "warm-up-s", "S", 0, 1e6,
                "requests scheduled in the first S seconds aren't counted (0)"),
    OPTION_REAL(T, cool_down_s, "cool-down-s", "S", 0, 1e6, "the same of the last S seconds (0)"),
    OPTION_FILE(T, objective, "objective", "FILE",
                "also say which requests are good and whether the objective is met"),
    OPTION_INT(T, max_streams, "max-streams", "N", 1, 1000000,
               "open at once (as many as descriptors allow); more wait, and lag"),
    OPTION_SWITCH(T, no_join, "no-join",
                  "leave the server's half of the records at the server, and post none"),

    OPTION_HEADING("Output"),
    OPTION_FILE(T, out, "out", "DIR",
                "keep all records, as DIR/records.jsonl; of a workload also DIR/run.json"),
    OPTION_SWITCH(T, force, "force", "of a workload: write over the run that is in DIR"),
    OPTION_SWITCH(T, json, "json",
                  "of a prompt: as `servelab record check --json` prints it; of a workload: the "
                  "table's figures, units in the keys"),
    {0}};
#undef T
#define WORKLOADS "arrivals", "arrivals-ms", "trace"
static const struct option_rule rules[] = {
    {OPTION_ONE_OF, {"url"}},
    {OPTION_ONE_OF, {"prompt", "prompt-file", "prompt-tokens-file", "preset", WORKLOADS}},
    {OPTION_EXCLUDE, {"arrivals-ms", "requests"}},
    {OPTION_EXCLUDE, {"rate-rps", "time-scale"}},
    {OPTION_NEEDS, {"trace", "trace-format"}},
    {OPTION_NEEDS, {"trace-format", "trace"}},
    {OPTION_NEEDS, {"time-scale", "trace"}},
    {OPTION_NEEDS, {"skip-bad-rows", "trace"}},
    {0}};

static int run(int argc, char **argv);

const struct command load_command = {
    .name = "load",
    .summary = "ask a server, with the client's clock, and join the records",
    .run = run,
    .usage = "--url URL (PROMPT | WORKLOAD) [FLAGS]",
    .about = "Sends completions to a server, stamps what the client sees of them, and prints the "
             "joined records. Of a server that keeps no records, each record holds the client's "
             "half. With a workload: keeps an absolute schedule with up "
             "to thousands of open streams, counts every latency from the scheduled send, and "
             "says when its own lag makes the run invalid.",
    .flags = flags,
    .rules = rules,
    .notes = "A request is sent once and never retried. The first Ctrl-C stops a workload, cuts "
             "off what runs and writes what was seen; a second one doesn't wait for the server's "
             "half of the records.",
    .exits = "0 of a prompt: every request was completed, of a workload: the run is valid; 1 one "
             "wasn't completed, the run is invalid, or the objective is missed; 2 bad usage, or no "
             "server; 4 an output can't be written; 130 the workload was interrupted",
    .examples = "servelab load --url http://127.0.0.1:8080 --prompt '12+30='\n"
                "servelab load --url http://127.0.0.1:8080 --arrivals poisson --rate-rps 2 "
                "--duration-s 30 --prompt-tokens 256 --output-tokens 64 --out build/run"};

/* ---- what to ask ----------------------------------------------------------------------------- */

/* Reads a prompt as text, up to the JSON reader's limit. */
static int read_prompt_file(struct load *l, struct err *e) {
    size_t n;
    l->text = json_read_file(l->o.prompt_file, &n, e);
    if (!l->text) return -1;
    if (strlen(l->text) != n) return err_set(e, "holds a NUL byte, which no prompt can");
    l->request.prompt = l->text;
    return 0;
}

static int read_tokens_file(struct load *l, struct err *e) {
    cJSON *tree = json_parse_file(l->o.tokens_file, e);
    if (!tree) return -1;
    int n = cJSON_IsArray(tree) ? cJSON_GetArraySize(tree) : 0, i = 0, rc = 0;
    if (n < 1) rc = err_set(e, "must be a JSON array of token ids");
    l->ids = calloc((size_t)n + 1, sizeof *l->ids);
    if (!l->ids) rc = err_set(e, "no memory for %d token ids", n);
    for (const cJSON *id = rc ? NULL : tree->child; id; id = id->next, i++) {
        double x = cJSON_IsNumber(id) ? id->valuedouble : -1;
        if (!(x >= 0 && x <= INT32_MAX) || x != (int32_t)x) {
            rc = err_set(e, "entry %d is not a token id", i);
            break;
        }
        l->ids[i] = (int32_t)x;
    }
    cJSON_Delete(tree);
    l->request.ids = l->ids;
    l->request.n_ids = n;
    l->request.chat = false;
    return rc;
}

/* The preset's prompt, its limit and its check, as GET /v1/presets gives them. */
static int fetch_preset(struct load *l, struct err *e) {
    const char *colon = strrchr(l->o.preset, ':');
    char path[80], names[200] = "";
    size_t digits = colon ? strlen(colon + 1) : 0;
    bool seeded = digits > 0 && digits < 10 && strspn(colon + 1, "0123456789") == digits;
    bool first = !strcmp(l->o.preset, "first"), /* in the wording for the server's model */
        plain = !strncmp(l->o.preset, "plain-", 6);
    snprintf(path, sizeof path, "/v1/presets%s%s%s",
             first   ? ""
             : plain ? "?wording=plain"
                     : "?wording=grammar",
             seeded ? "&seed=" : "", seeded ? colon + 1 : "");
    cJSON *reply;
    const cJSON *p;
    if (load_json(&l->client, path, NULL, &reply, e) < 0) return -1;
    cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(reply, "presets")) {
        const char *name, *prompt;
        int64_t max_tokens;
        if (json_get_string(p, "presets", "name", &name, e) ||
            json_get_string(p, "presets", "prompt", &prompt, e) ||
            json_get_int(p, "presets", "max_tokens", 1, INT32_MAX, &max_tokens, e))
            break;
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", name);
        if (!first && strcmp(l->o.preset, name)) continue;
        l->text = strdup(prompt);
        l->request.prompt = l->text;
        text_cut(l->request.check, sizeof l->request.check, name);
        if (l->request.max_tokens > max_tokens) l->request.max_tokens = (int32_t)max_tokens;
        break;
    }
    cJSON_Delete(reply);
    if (l->text) return 0;
    return err_at(e, 0, "--preset", "the server has no '%.60s'; it has%.150s", l->o.preset,
                  names[0] ? names : " none for this model");
}

static int find_model(struct load *l, struct err *e) {
    cJSON *reply;
    int status = load_json(&l->client, "/v1/models", NULL, &reply, e);
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(reply, "data");
    const char *id = NULL;
    if (status == 200 && cJSON_IsArray(data) && data->child)
        json_get_string(data->child, "data", "id", &id, NULL);
    if (id) snprintf(l->model, sizeof l->model, "%s", id);
    cJSON_Delete(reply);
    if (status < 0) return -1;
    if (!l->model[0]) return load_no_model(&l->client, status, e);
    l->request.model = l->model;
    return 0;
}

static int prepare(struct load *l, const char **input, struct err *e) {
    const struct load_flags *o = &l->o;
    l->request = (struct load_request){.model = o->model,
                                       .prompt = o->prompt,
                                       .chat = !o->completions,
                                       .max_tokens = (int32_t)o->max_tokens,
                                       .temperature = o->temperature,
                                       .has_seed = o->has_seed,
                                       .seed = o->seed,
                                       .ignore_eos = o->ignore_eos,
                                       .attempt = 1,
                                       .keep_chunks = true,
                                       .echo = o->json || o->requests > 1 ? NULL : stdout,
                                       .progress = isatty(STDERR_FILENO)};
    if (load_base_url(o->url, l->url, sizeof l->url, e)) return -1;
    if (load_client_init(&l->client, l->url, (int)o->timeout_s, e)) return -1;
    *input = o->prompt_file ? o->prompt_file : o->tokens_file;
    if (o->prompt_file && read_prompt_file(l, e)) return -1;
    if (o->tokens_file && read_tokens_file(l, e)) return -1;
    *input = NULL;
    struct err why;
    if (o->record && target_check(o->record, &why))
        return err_at(e, 0, "--record", "%.200s %s", o->record, why.text);
    if (o->annotate && target_check(o->annotate, &why))
        return err_at(e, 0, "--annotate", "%.200s %s", o->annotate, why.text);
    if (!o->model && find_model(l, e)) return -1;
    return o->preset ? fetch_preset(l, e) : 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Opens the file of the records: in --out, otherwise a temporary one. */
static int open_log(struct load *l, struct err *e) {
    const char *tmp = getenv("TMPDIR");
    if (l->o.out && mkdir(l->o.out, 0777) && errno != EEXIST)
        return err_at(e, 0, "--out", "%.200s can't be made: %s", l->o.out, strerror(errno));
    int n = l->o.out ? snprintf(l->log_path, sizeof l->log_path, "%s/records.jsonl", l->o.out)
                     : snprintf(l->log_path, sizeof l->log_path, "%s/servelab-load-XXXXXX",
                                tmp ? tmp : "/tmp");
    int fd = -1;
    if (n < (int)sizeof l->log_path)
        fd = l->o.out ? open(l->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                      : mkstemp(l->log_path);
    l->log = fd < 0 ? NULL : fdopen(fd, "w");
    if (l->log) return 0;
    int why = errno;
    if (fd >= 0) close(fd);
    return err_at(e, 0, l->o.out ? "--out" : "TMPDIR", "%.200s can't be written: %s", l->log_path,
                  strerror(why));
}

static int keep(struct load *l, const cJSON *record, bool first, struct err *e) {
    char *text = json_print(record);
    if (!text) return err_set(e, "no memory for a record");
    size_t n = strlen(text);
    struct err why;
    int rc = 0;
    text[n] = '\n'; /* the line end, in the place of the NUL */
    if (fwrite(text, 1, n + 1, l->log) != n + 1 || fflush(l->log))
        rc = err_at(e, 0, l->o.out ? "--out" : "TMPDIR", "%.200s can't be written: %s", l->log_path,
                    strerror(errno));
    else if (first && l->o.record && target_write(l->o.record, text, n + 1, &why))
        rc = err_at(e, 0, "--record", "%.200s %s", l->o.record, why.text);
    l->unwritten = rc != 0;
    cJSON_free(text);
    return rc;
}

/* The record as an exercise, indented for an editor. */
static int keep_blank(struct load *l, cJSON *record, struct err *e) {
    load_blank(record);
    struct err why;
    char *text = cJSON_Print(record);
    int rc = 0;
    if (!text)
        rc = err_set(e, "no memory for a record");
    else if (target_write(l->o.annotate, text, strlen(text), &why))
        rc = err_at(e, 0, "--annotate", "%.200s %s", l->o.annotate, why.text);
    l->unwritten |= rc != 0;
    cJSON_free(text);
    return rc;
}

static int ask_once(struct load *l, long long number, uint32_t run, struct err *e) {
    struct load_seen seen;
    snprintf(l->request.request_id, sizeof l->request.request_id, "load-%08x-%lld", run, number);
    if (load_complete(&l->client, &l->request, &seen, e)) return -1;
    if (l->request.echo) fputs(seen.content_chunks > 0 ? "\n\n" : "", l->request.echo);
    if (seen.problem[0])
        fprintf(stderr, "servelab load: %s: %s\n", l->request.request_id, seen.problem);
    l->incomplete += seen.problem[0] != '\0';
    int rc;
    cJSON *record = NULL;
    struct err why;
    if (seen.http_status == 0 && number == 1 && !seen.timed_out) {
        rc = err_at(e, 0, "--url", "%.200s doesn't answer: %.150s", l->url, seen.problem);
    } else {
        record = load_record(&l->client, &l->request, &seen, &why);
        if (why.text[0])
            fprintf(stderr, "servelab load: %s: its record lacks the server's half: %s\n",
                    l->request.request_id, why.text);
        rc = keep(l, record, number == 1, e);
    }
    if (!rc && number == 1 && l->o.annotate) rc = keep_blank(l, record, e);
    cJSON_Delete(record);
    load_seen_release(&seen);
    return rc;
}

static int ask_all(struct load *l, struct err *e) {
    uint32_t run = 0;
    if (getrandom(&run, sizeof run, GRND_NONBLOCK) != sizeof run) run = (uint32_t)getpid();
    bool show = isatty(STDERR_FILENO) && l->o.requests > 1;
    int rc = 0;
    for (long long i = 1; i <= l->o.requests && !rc; i++) {
        if (show) fprintf(stderr, "\rrequest %lld of %lld", i, l->o.requests);
        rc = ask_once(l, i, run, e);
    }
    if (show) fprintf(stderr, "\r\033[K");
    return rc;
}

/* Prints the records by calling `servelab record check`. Of one to annotate, only where it is: its
 * observers, its intervals and what the person experienced are for the reader to find. */
static int print_records(struct load *l) {
    if (l->o.annotate && !l->o.json && l->o.requests == 1 && l->incomplete == 0) {
        printf("%s has the record. Replace each \"TODO\" in it; then "
               "`servelab record check %s` prints its intervals.\n",
               l->o.annotate, l->o.annotate);
        return CLI_DONE;
    }
    char *argv[] = {"", l->o.json ? "--json" : "--", l->log_path, NULL};
    int status = cmd_record_check(3, argv);
    return status == CLI_DONE && l->incomplete > 0 ? CLI_NO : status;
}

/* A flag of the other kind of run has no effect, which is a misunderstanding. */
static int check_kind(const struct option_words *w, bool workload) {
    static const char *const of_prompts[] = {"max-tokens", "record", "annotate", NULL};
    static const char *const of_workloads[] = {
        "rate-rps",      "cv",          "on-s",          "off-s",         "clients",
        "think-s",       "duration-s",  "prompt-tokens", "output-tokens", "max-output-tokens",
        "prompt-form",   "warm-up-s",   "shared-prefix", "prompt-salt",   "check-share",
        "check-wording", "cool-down-s", "objective",     "max-streams",   "no-join",
        "force",         NULL};
    for (const char *const *name = workload ? of_prompts : of_workloads; *name; name++)
        if (option_given(w, *name))
            return cli_usage(
                "load",
                workload ? "--%s has no meaning with a workload%s"
                         : "--%s needs a workload: --arrivals, --trace or "
                           "--arrivals-ms%s",
                *name, strcmp(*name, "max-tokens") ? "" : "; --output-tokens sets the length");
    return 0;
}

struct buffer load_command_line(const char *name, int argc, char **argv) {
    struct buffer b = {0};
    buffer_puts(&b, name);
    for (int i = 1; i < argc; i++) {
        bool plain =
            argv[i][0] && !argv[i][strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
                                                   "NOPQRSTUVWXYZ0123456789_./:=,+-")];
        buffer_puts(&b, plain ? " " : " '");
        for (const char *c = argv[i]; *c; c++) {
            if (*c == '\'')
                buffer_puts(&b, "'\\''");
            else
                buffer_add(&b, c, 1);
        }
        buffer_puts(&b, plain ? "" : "'");
    }
    return b;
}

static int run(int argc, char **argv) {
    struct load l = {.o = {.requests = 1, .max_tokens = 256, .timeout_s = 600}};
    struct err e;
    const char *input = NULL;
    struct option_words words;
    int status;
    struct buffer typed = load_command_line("servelab load", argc, argv);
    if (!options_parse(&load_command, &l.o, argc, argv, &words, &status)) {
        buffer_release(&typed);
        return status;
    }
    l.o.has_seed = option_given(&words, "seed");
    l.o.has_requests = option_given(&words, "requests");
    l.o.has_salt = option_given(&words, "prompt-salt");
    bool workload = l.o.w.arrivals || l.o.w.arrivals_ms || l.o.w.trace;
    status = check_kind(&words, workload);
    if (!status && workload) status = load_run(&l.o, typed.bytes);
    buffer_release(&typed);
    if (status || workload) return status;
    int bad = prepare(&l, &input, &e);
    if (!bad) bad = open_log(&l, &e);
    if (!bad) bad = ask_all(&l, &e);
    if (l.log) fclose(l.log); /* each record was flushed */
    status = bad ? cli_input_error("load", input, &e, l.o.json) : print_records(&l);
    if (l.unwritten) status = CLI_FAULT;
    if (l.log && !l.o.out) unlink(l.log_path);
    load_client_release(&l.client);
    free(l.text);
    free(l.ids);
    return status;
}
