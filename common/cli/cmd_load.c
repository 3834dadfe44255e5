/* cmd_load.c: `servelab load`: sends requests to a server, one after the other, joins both halves
 * of each record, and prints them with `servelab record check`. See load/client.h.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/json.h"
#include "load/client.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *url, *model, *prompt, *prompt_file, *tokens_file, *preset, *record, *out;
    long long max_tokens, requests, timeout_s, seed;
    double temperature;
    bool completions, ignore_eos, json, has_seed;
};

struct load {
    struct options o;
    struct load_client client;
    struct load_request request;
    char url[512], model[200], log_path[4096];
    char *text; /* the prompt's bytes, where it came from a file or a preset */
    int32_t *ids;
    FILE *log; /* one record a line */
    int incomplete;
};

static void help(void) {
    printf(
        "usage: servelab load --url URL (--prompt TEXT | --prompt-file FILE | --prompt-tokens-file "
        "FILE | --preset NAME) [FLAGS]\n\n"
        "Sends completions to a server, stamps what the client sees of them, and prints the joined "
        "records. Of a server that keeps no records, each record holds the client's half.\n\n"
        "  --url URL                  the server, such as http://127.0.0.1:8080\n"
        "  --prompt TEXT              one user message\n"
        "  --prompt-file FILE         the same from a file\n"
        "  --prompt-tokens-file FILE  token ids, as a JSON array: an exact prompt\n"
        "  --preset NAME              a prompt of the server's with a checkable answer, such as "
        "key-recall/1:7; \"first\" takes the first\n"
        "  --completions              text to /v1/completions instead of the chat route\n"
        "  --model NAME               (the server's first)\n"
        "  --max-tokens N             (256)\n"
        "  --temperature X            (0: greedy)\n"
        "  --seed N                   of the sampling\n"
        "  --ignore-eos               the end token is an ordinary one: go on to --max-tokens\n"
        "  --requests N               one after the other (1)\n"
        "  --timeout-s N              for one request (600)\n"
        "  --record FILE              keep the first record\n"
        "  --out DIR                  keep all records, as DIR/records.jsonl\n"
        "  --json                     as `servelab record check --json` prints it\n\n"
        "exit status: 0 every request was completed; 1 one wasn't; 2 bad usage, or no server\n\n"
        "example: servelab load --url http://127.0.0.1:8080 --prompt '12+30='\n");
}

/* ---- flags ----------------------------------------------------------------------------------- */

enum {
    F_URL = 256,
    F_PROMPT,
    F_PROMPT_FILE,
    F_TOKENS_FILE,
    F_PRESET,
    F_COMPLETIONS,
    F_MODEL,
    F_MAX_TOKENS,
    F_TEMPERATURE,
    F_SEED,
    F_IGNORE_EOS,
    F_REQUESTS,
    F_TIMEOUT,
    F_RECORD,
    F_OUT,
    F_JSON,
    F_HELP
};

static const struct option flags[] = {
    {"url", required_argument, NULL, F_URL},
    {"prompt", required_argument, NULL, F_PROMPT},
    {"prompt-file", required_argument, NULL, F_PROMPT_FILE},
    {"prompt-tokens-file", required_argument, NULL, F_TOKENS_FILE},
    {"preset", required_argument, NULL, F_PRESET},
    {"completions", no_argument, NULL, F_COMPLETIONS},
    {"model", required_argument, NULL, F_MODEL},
    {"max-tokens", required_argument, NULL, F_MAX_TOKENS},
    {"temperature", required_argument, NULL, F_TEMPERATURE},
    {"seed", required_argument, NULL, F_SEED},
    {"ignore-eos", no_argument, NULL, F_IGNORE_EOS},
    {"requests", required_argument, NULL, F_REQUESTS},
    {"timeout-s", required_argument, NULL, F_TIMEOUT},
    {"record", required_argument, NULL, F_RECORD},
    {"out", required_argument, NULL, F_OUT},
    {"json", no_argument, NULL, F_JSON},
    {"help", no_argument, NULL, F_HELP},
    {0}};

static int take_temperature(struct options *o) {
    const char *end;
    if (cli_real(optarg, &end, &o->temperature) && !*end && o->temperature >= 0 &&
        o->temperature <= 2)
        return 0;
    cli_usage("load", "--temperature takes a number from 0 to 2, not '%s'", optarg);
    return -1;
}

static int take_number(struct options *o, int flag) {
    switch (flag) {
    case F_MAX_TOKENS:
        return cli_int("load", "--max-tokens", optarg, 1, 1 << 24, &o->max_tokens);
    case F_REQUESTS:
        return cli_int("load", "--requests", optarg, 1, 1000000, &o->requests);
    case F_TIMEOUT:
        return cli_int("load", "--timeout-s", optarg, 1, 86400, &o->timeout_s);
    case F_SEED:
        o->has_seed = true;
        return cli_int("load", "--seed", optarg, -JSON_MAX_INT, JSON_MAX_INT, &o->seed);
    default:
        return take_temperature(o);
    }
}

/* 0, or an exit status + 1. */
static int take_flags(struct options *o, int argc, char **argv) {
    optind = 1;
    opterr = 0;
    for (int f; (f = getopt_long(argc, argv, ":", flags, NULL)) != -1;) {
        switch (f) {
        case F_URL:
            o->url = optarg;
            break;
        case F_PROMPT:
            o->prompt = optarg;
            break;
        case F_PROMPT_FILE:
            o->prompt_file = optarg;
            break;
        case F_TOKENS_FILE:
            o->tokens_file = optarg;
            break;
        case F_PRESET:
            o->preset = optarg;
            break;
        case F_COMPLETIONS:
            o->completions = true;
            break;
        case F_MODEL:
            o->model = optarg;
            break;
        case F_IGNORE_EOS:
            o->ignore_eos = true;
            break;
        case F_RECORD:
            o->record = optarg;
            break;
        case F_OUT:
            o->out = optarg;
            break;
        case F_JSON:
            o->json = true;
            break;
        case F_HELP:
            help();
            return CLI_DONE + 1;
        case '?':
            return cli_bad_flag("load", argc, argv, false) + 1;
        case ':':
            return cli_bad_flag("load", argc, argv, true) + 1;
        default:
            if (take_number(o, f)) return CLI_USAGE + 1;
        }
    }
    if (optind < argc) return cli_usage("load", "'%s' is one argument too many", argv[optind]) + 1;
    int prompts = !!o->prompt + !!o->prompt_file + !!o->tokens_file + !!o->preset;
    if (!o->url) return cli_usage("load", "--url is missing") + 1;
    if (prompts != 1)
        return cli_usage("load", "give one of --prompt, --prompt-file, --prompt-tokens-file and "
                                 "--preset") +
               1;
    return 0;
}

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
    snprintf(path, sizeof path, "/v1/presets%s%s", seeded ? "?seed=" : "", seeded ? colon + 1 : "");
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
        if (strcmp(l->o.preset, "first") && strcmp(l->o.preset, name)) continue;
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
    if (!l->model[0])
        return err_at(e, 0, "--model", "%s doesn't say which model it has (HTTP %d); name it",
                      l->url, status);
    l->request.model = l->model;
    return 0;
}

static int prepare(struct load *l, const char **input, struct err *e) {
    const struct options *o = &l->o;
    l->request = (struct load_request){.model = o->model,
                                       .prompt = o->prompt,
                                       .chat = !o->completions,
                                       .max_tokens = (int32_t)o->max_tokens,
                                       .temperature = o->temperature,
                                       .has_seed = o->has_seed,
                                       .seed = o->seed,
                                       .ignore_eos = o->ignore_eos,
                                       .attempt = 1,
                                       .echo = o->json || o->requests > 1 ? NULL : stdout,
                                       .progress = isatty(STDERR_FILENO)};
    size_t n = strlen(o->url);
    while (n > 0 && o->url[n - 1] == '/') n--;
    if (n < 1 || n >= sizeof l->url)
        return err_at(e, 0, "--url",
                      "'%.60s' is not an address; give one such as http://127.0.0.1:8080", o->url);
    memcpy(l->url, o->url, n);
    if (load_client_init(&l->client, l->url, (int)o->timeout_s, e)) return -1;
    *input = o->prompt_file ? o->prompt_file : o->tokens_file;
    if (o->prompt_file && read_prompt_file(l, e)) return -1;
    if (o->tokens_file && read_tokens_file(l, e)) return -1;
    *input = NULL;
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
    fprintf(l->log, "%s\n", text);
    int rc = 0;
    if (first && l->o.record) {
        FILE *f = fopen(l->o.record, "w");
        bool ok = f && fprintf(f, "%s\n", text) > 0;
        if (f) ok = !fclose(f) && ok;
        if (!ok)
            rc = err_at(e, 0, "--record", "%.200s can't be written: %s", l->o.record,
                        strerror(errno));
    }
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
    if (seen.http_status == 0 && number == 1)
        rc = err_at(e, 0, "--url", "%.200s doesn't answer: %.150s", l->url, seen.problem);
    else if ((record = load_record(&l->client, &l->request, &seen, e)) == NULL)
        rc = -1;
    else
        rc = keep(l, record, number == 1, e);
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

/* Prints the records by calling `servelab record check`. */
static int print_records(struct load *l) {
    char *argv[] = {"record", "check", l->o.json ? "--json" : l->log_path, l->log_path, NULL};
    int status = cmd_record(l->o.json ? 4 : 3, argv);
    return status == CLI_DONE && l->incomplete > 0 ? CLI_NO : status;
}

int cmd_load(int argc, char **argv) {
    struct load l = {.o = {.requests = 1, .max_tokens = 256, .timeout_s = 600}};
    struct err e;
    const char *input = NULL;
    int status = take_flags(&l.o, argc, argv);
    if (status) return status - 1;
    int bad = prepare(&l, &input, &e);
    if (!bad) bad = open_log(&l, &e);
    if (!bad) bad = ask_all(&l, &e);
    if (l.log && fclose(l.log) && !bad) bad = err_set(&e, "the records can't be written");
    status = bad ? cli_input_error("load", input, &e, l.o.json) : print_records(&l);
    if (l.log && !l.o.out) unlink(l.log_path);
    load_client_release(&l.client);
    free(l.text);
    free(l.ids);
    return status;
}
