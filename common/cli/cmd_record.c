/* cmd_record.c: `servelab record check`: reads records, reports the first error, and shows the
 * events, intervals and classification of each. Not here: the printing (record_print.h), the
 * meaning (lab 01's functions), the reading (record/log.h).
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/lab_todo.h"
#include "cli/options.h"
#include "cli/record_print.h"
#include "record/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "record check"

enum { DEFAULT_TABLES = 20, PROGRESS_EVERY_RECORDS = 8192 };

struct check_flags {
    const char *objective;
    bool json, all_events, skip_torn, no_summary;
    long long tables;
};

#define T struct check_flags
static const struct option_flag flags[] = {
    OPTION_FILE(T, objective, "objective", "FILE",
                "also say which requests are good and whether the objective is met"),
    OPTION_SWITCH(
        T, json, "json",
        "one object for one record, {\"records\": [...], \"summary\": {...}} for several"),
    OPTION_INT(T, tables, "tables", "N", 0, INT32_MAX,
               "show the tables of the first N records (20); 0 for none"),
    OPTION_SWITCH(T, all_events, "all-events", "list every token_sent event"),
    OPTION_SWITCH(T, skip_torn, "skip-torn",
                  "skip log lines that were cut off because a writer died, and count them"),
    OPTION_SWITCH(
        T, no_summary, "no-summary",
        "check only: memory stays at a few MB however long the log is; the summary needs "
        "about 110 bytes a user request (8 an observation, for exact percentiles), 110 MB "
        "for a million"),
    {0}};
#undef T
static const struct option_rule rules[] = {{OPTION_EXCLUDE, {"no-summary", "objective"}}, {0}};

const struct command record_check_command = {
    .name = COMMAND,
    .summary = "check request records: intervals, classification, summary",
    .run = cmd_record_check,
    .usage = "[FLAGS] FILE...",
    .about = "Reads request records (one JSON object a file, or a log with one record a line; - is "
             "standard input), checks every rule of the format, and prints the events, the "
             "intervals with their formulas and the classification of each, and for several "
             "records a summary.",
    .flags = flags,
    .rules = rules,
    .args = {"FILE"},
    .min_args = 1,
    .max_args = OPTIONS_MANY,
    .exits =
        "0 all records are valid, those of failed requests too; 1 with --objective, when a "
        "limit over all requests is missed (a limit that is not computable from a log is not "
        "missed); 2 a record or a flag is wrong: the message names file, line and field, and "
        "reading stops there; 3 the record is a lab's starter that is not filled in yet; 4 the "
        "output can't be written",
    .examples = "servelab record check --json solutions/01_request_record/record.json"};

struct check {
    bool json, all_events, skip_torn, with_summary;
    long long tables;
    const struct objective *objective;
    struct population *population;
    const char *file;
    int64_t records, torn, bytes_before;
    char *held; /* the JSON of the first record, kept until a second is read */
    size_t held_bytes;
    int64_t started_ns;
    bool progress_shown;
};

/* ---- progress -------------------------------------------------------------------------------- */

static void show_progress(struct check *k, const struct record_reader *rd) {
    if (k->records % PROGRESS_EVERY_RECORDS || !isatty(STDERR_FILENO)) return;
    if (clock_monotonic_ns() - k->started_ns < 2 * NS_PER_S) return;
    fprintf(stderr, "\r%" PRId64 " records, %.0f MB", k->records,
            (double)(k->bytes_before + record_reader_bytes(rd)) / 1e6);
    k->progress_shown = true;
}

static void clear_progress(struct check *k) {
    if (k->progress_shown) fprintf(stderr, "\r\033[K");
    k->progress_shown = false;
}

/* ---- one record ------------------------------------------------------------------------------ */

/* Computes intervals and classification. An interval in error is an error of the record. */
static int judge_record(const struct check *k, struct checked *c, struct err *e) {
    intervals_compute(c->record, &c->intervals);
    if (record_in_one_piece(c->record) || record_counts_too_many(c->record))
        intervals_of_client(c->record, &c->intervals);
    for (enum interval_id id = 0; id < IV_N; id++) {
        enum interval_status status = interval_get(&c->intervals, id)->status;
        if (status == INTERVAL_NEGATIVE)
            return err_at(e, c->line, interval_name(id),
                          "is negative in record '%s': its end is before its start; check the "
                          "timestamps and clock_offsets",
                          c->record->request_id);
        if (status == INTERVAL_CROSS_CLOCK)
            return err_at(e, c->line, interval_name(id),
                          "has its ends on two clocks in record '%s'; state clock_offsets",
                          c->record->request_id);
    }
    enum truncation_rule truncation = k->objective ? k->objective->truncation : TRUNCATION_REJECT;
    classify_request(&c->record, 1, truncation, &c->class);
    c->objective = k->objective;
    c->good = k->objective && classify_good(&c->class, &c->intervals, k->objective);
    return 0;
}

static void begin_list(const struct check *k) {
    printf("{\"records\":[%s", k->held ? k->held : "");
}

/* The first record's JSON is kept: if it is the only record, it is the whole output; otherwise the
 * first item. */
static int emit_json(struct check *k, const struct checked *c) {
    if (k->records == 0) {
        FILE *held = open_memstream(&k->held, &k->held_bytes);
        if (!held) return -1;
        print_record_json(held, c);
        return fclose(held);
    }
    if (k->records == 1) begin_list(k);
    fputs(",\n", stdout);
    print_record_json(stdout, c);
    return 0;
}

static void emit_text(const struct check *k, const struct checked *c) {
    if (k->records == k->tables && k->tables > 0)
        printf("\nThe first %lld records are shown; --tables N shows more.\n", k->tables);
    if (k->records >= k->tables) return;
    if (k->records > 0) putchar('\n');
    print_record_text(stdout, c, k->all_events);
}

static int check_record(struct check *k, const struct record *r, int line, struct err *e) {
    struct checked c = {.record = r, .file = k->file, .line = line};
    if (judge_record(k, &c, e)) return -1;
    if (k->population && population_add(k->population, r, &c.intervals, &c.class, c.good, e)) {
        e->line = line;
        return -1;
    }
    if (!k->json)
        emit_text(k, &c);
    else if (emit_json(k, &c))
        return err_set(e, "memory is out");
    k->records++;
    return 0;
}

/* ---- torn lines and starters ------------------------------------------------------------------
 */

/* The reader's advice "write it again" is right for a file of one record; in a log the other
 * records are fine. Replaces it with `advice`, which may be "". */
static void change_advice(struct err *e, const char *advice) {
    static const char written_for_one[] = "; write it again";
    size_t n = strlen(e->text), end = sizeof written_for_one - 1;
    if (n >= end && !strcmp(e->text + n - end, written_for_one)) n -= end;
    snprintf(e->text + n, sizeof e->text - n, "%s", advice);
}

/* Is the file a lab's starter with blanks? Then *e says where. */
static bool is_starter(const char *path, struct err *e) {
    char blank[sizeof e->field];
    struct err ignored;
    cJSON *doc = strcmp(path, "-") ? json_parse_file(path, &ignored) : NULL;
    bool found = doc && lab_todo_find(doc, blank, sizeof blank);
    cJSON_Delete(doc);
    if (found)
        err_at(e, 0, blank,
               "is still \"TODO\": this record is not filled in yet; the handout beside it "
               "(README.md, record.json) says what belongs where");
    return found;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void report_torn(struct check *k, struct err *e) {
    char place[1024];
    clear_progress(k);
    k->torn++;
    change_advice(e, "");
    fprintf(stderr, "servelab %s: skipped: %s\n", COMMAND,
            err_format(e, k->file, place, sizeof place));
}

static int check_file(struct check *k, const char *path, struct err *e) {
    k->file = path;
    struct record_reader *rd = record_reader_open(path, e);
    if (!rd) return -1;
    const struct record *r;
    int line, status = 0;
    while (!status) {
        enum record_read got = record_reader_next(rd, &r, &line, e);
        if (got == RECORD_READ_END) break;
        if (got == RECORD_READ_OK)
            status = check_record(k, r, line, e);
        else if (got == RECORD_READ_TORN && k->skip_torn)
            report_torn(k, e);
        else
            status = -1;
        /* a torn line with another record before or after it is in a log */
        if (got == RECORD_READ_TORN && !k->skip_torn &&
            (line > 1 || record_reader_next(rd, &r, &line, NULL) != RECORD_READ_END))
            change_advice(e, "; pass over it with --skip-torn");
        if (!status) show_progress(k, rd);
    }
    clear_progress(k);
    k->bytes_before += record_reader_bytes(rd);
    record_reader_close(rd);
    return status;
}

/* Reports bad input. The JSON on stdout is still one valid document: the records before the error,
 * then the error. */
static int finish_with_error(struct check *k, struct err *e) {
    bool begun = k->json && k->records > 0;
    int status = is_starter(k->file, e) ? CLI_NOT_ATTEMPTED : CLI_USAGE;
    fflush(stdout);
    cli_input_error(COMMAND, k->file, e, k->json && !begun);
    if (!begun) return status;
    if (k->records == 1) begin_list(k);
    fputs("],\n\"error\":{\"input\":", stdout);
    print_json_string(stdout, k->file);
    if (e->line > 0) printf(",\"line\":%d", e->line);
    if (e->field[0]) {
        fputs(",\"field\":", stdout);
        print_json_string(stdout, e->field);
    }
    fputs(",\"message\":", stdout);
    print_json_string(stdout, e->text);
    fputs("}}\n", stdout);
    return status;
}

static enum slo_answer finish_json(struct check *k, const struct summary *s) {
    if (k->records == 1) {
        puts(k->held);
        return k->population ? summary_verdict(s) : SLO_MET;
    }
    enum slo_answer verdict = SLO_MET;
    if (k->records == 0) begin_list(k);
    fputc(']', stdout);
    if (k->population) {
        fputs(",\n\"summary\":", stdout);
        verdict = print_summary_json(stdout, s);
    }
    puts("}");
    return verdict;
}

static enum slo_answer finish_text(struct check *k, const struct summary *s) {
    if (!k->population) {
        printf("%s%" PRId64 " records are valid\n", k->tables && k->records ? "\n" : "",
               k->records);
        return SLO_MET;
    }
    if (k->records == 1) return print_verdict_text(stdout, s);
    if (k->tables > 0 && k->records) putchar('\n');
    return print_summary_text(stdout, s);
}

static int finish(struct check *k) {
    struct summary s = {k->population, k->objective, k->torn};
    enum slo_answer verdict = k->json ? finish_json(k, &s) : finish_text(k, &s);
    return verdict == SLO_MISSED ? CLI_NO : CLI_DONE;
}

static int run_check(struct check *k, char **files, int n) {
    struct err e = {0};
    int status = CLI_DONE;
    if (k->with_summary && !(k->population = population_create(k->objective))) {
        fprintf(stderr, "servelab %s: memory is out\n", COMMAND);
        return CLI_FAULT;
    }
    k->started_ns = clock_monotonic_ns();
    for (int i = 0; i < n && status == CLI_DONE; i++)
        if (check_file(k, files[i], &e)) status = finish_with_error(k, &e);
    if (status == CLI_DONE) status = finish(k);
    free(k->held);
    population_free(k->population);
    return status;
}

/* ---- entry ----------------------------------------------------------------------------------- */

int cmd_record_check(int argc, char **argv) {
    struct check_flags o = {.tables = DEFAULT_TABLES};
    struct option_words words;
    struct objective objective;
    struct err e;
    int status;
    if (!options_parse(&record_check_command, &o, argc, argv, &words, &status)) return status;
    struct check k = {.json = o.json,
                      .all_events = o.all_events,
                      .skip_torn = o.skip_torn,
                      .with_summary = !o.no_summary,
                      .tables = o.tables};
    if (o.objective) {
        if (objective_read(&objective, o.objective, &e))
            return cli_input_error(COMMAND, o.objective, &e, o.json);
        k.objective = &objective;
    }
    status = run_check(&k, words.args, words.n_args);
    if (k.objective) objective_release(&objective);
    return status;
}
