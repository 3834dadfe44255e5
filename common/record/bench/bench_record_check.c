/* bench_record_check.c: how fast is a log of records checked, and against bare cJSON?
 *
 *   make build/obj/gcc-release-solutions/common/record/bench/bench_record_check
 *   build/obj/gcc-release-solutions/common/record/bench/bench_record_check [RECORDS [TOKENS_SENT
 * [ROUNDS]]]
 *
 * Writes a log of RECORDS records (default 100000) with TOKENS_SENT token_sent events each (default
 * 0) under build/, then ROUNDS times (default 5), alternating, each in a separate process on one
 * core:
 *   cjson     reads the file line by line, cJSON_ParseWithLength and cJSON_Delete each, no checks
 *   strict    json_parse instead: the scan and cJSON, as record_read.c uses it
 *   reader    record_reader_next: the records with all their rules
 *   check     the reader, lab 01's intervals and classification, grouping, percentiles
 * Prints MB per second of processor time (median, least, most), the ratio of the medians to cjson's
 * in this run, and the peak memory. Neighbours still cost cache and clock rate: only the ratios of
 * one run compare.
 */
#include "base/clock.h"
#include "base/json.h"
#include "record/log.h"
#include "objective/population.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 99 };
static const char *const path = "build/bench_record_check.jsonl";

/* ---- the log --------------------------------------------------------------------------------- */

static void put_event(FILE *f, const char *event, const char *clock, int64_t t_ns,
                      const char *source, const char *api, int tokens) {
    fprintf(f,
            "{\"event\":\"%s\",\"clock\":\"%s\",\"t_ns\":%" PRId64 ",\"source\":\"%s\","
            "\"clock_api\":\"%s\"",
            event, clock, t_ns, source, api);
    if (tokens >= 0) fprintf(f, ",\"tokens\":%d", tokens);
    fputs("},", f);
}

static void put_record(FILE *f, int64_t i, int tokens_sent) {
    const char *now = "performance.now", *mono = "CLOCK_MONOTONIC";
    int64_t b = 1000000000 + i * 3000000, s = 1200000000000000 + i * 3000017;
    int64_t wait = i * 7919 % 50000000, first = wait + 200000000 + i * 104729 % 100000000;
    fprintf(f,
            "{\"schema\":\"" RECORD_SCHEMA "\",\"request_id\":\"r-%08" PRId64 "\",\"attempt\":1,"
            "\"workload\":{\"model\":\"SmolLM2-135M-Instruct\",\"prompt_tokens\":2048,"
            "\"max_output_tokens\":256,\"output_tokens\":181,\"decoding\":\"greedy\"},"
            "\"events\":[",
            i);
    put_event(f, "request_submitted", "browser", b, "browser", now, -1);
    put_event(f, "request_accepted", "server", s, "server_log", mono, -1);
    put_event(f, "tokenization_finished", "server", s + 900000, "server_log", mono, -1);
    put_event(f, "request_admitted", "server", s + 900000 + wait, "scheduler_log", mono, -1);
    put_event(f, "first_token", "server", s + first + 900000, "server_log", mono, -1);
    for (int t = 0; t < tokens_sent; t++)
        put_event(f, "token_sent", "server", s + first + 1000000 + t * 25000000, "server_log", mono,
                  1);
    put_event(f, "first_byte_received", "browser", b + first + 2000000, "browser", now, -1);
    put_event(f, "response_finished", "server", s + first + 6000000000, "server_log", mono, -1);
    put_event(f, "final_byte_received", "browser", b + first + 6000000000, "browser", now, -1);
    fseek(f, -1, SEEK_CUR);
    fputs("],\"outcome\":{\"delivered\":true,\"http_status\":200,\"finish_reason\":\"stop\","
          "\"error\":null},\"quality\":{\"check\":\"key-recall/1\",\"verdict\":\"passed\"},"
          "\"structure\":{\"check\":null,\"verdict\":\"not_required\"},\"resources\":{"
          "\"gpu_seconds\":null,\"joules\":null},\"statement\":\"client_ttft is what the person "
          "felt before the answer began\"}\n",
          f);
}

static int64_t write_log(int64_t records, int tokens_sent) {
    struct stat st;
    char *line;
    size_t n;
    FILE *f = fopen(path, "w");
    if (!f) return perror(path), -1;
    for (int64_t i = 0; i < records; i++) {
        FILE *one = open_memstream(&line, &n); /* fseek on the file would flush each record */
        put_record(one, i, tokens_sent);
        fclose(one);
        fwrite(line, 1, n, f);
        free(line);
    }
    if (fclose(f) || stat(path, &st)) return perror(path), -1;
    return st.st_size;
}

/* ---- what is timed; each returns how many records it saw ------------------------------------- */

static int64_t by_line(cJSON *(*parse)(const char *, size_t)) {
    int64_t seen = 0;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    FILE *f = fopen(path, "r");
    while ((n = getline(&line, &cap, f)) > 0) {
        cJSON *tree = parse(line, (size_t)n);
        seen += tree != NULL;
        cJSON_Delete(tree);
    }
    free(line);
    fclose(f);
    return seen;
}

static cJSON *parse_strict(const char *text, size_t n) {
    return json_parse(text, n, 1, NULL);
}

static int64_t run_cjson(void) {
    return by_line(cJSON_ParseWithLength);
}
static int64_t run_strict(void) {
    return by_line(parse_strict);
}

static int64_t run_records(struct population *p) {
    const struct record *r;
    struct err e;
    int64_t seen = 0;
    int line;
    struct record_reader *rd = record_reader_open(path, &e);
    for (; record_reader_next(rd, &r, &line, &e) == RECORD_READ_OK; seen++) {
        struct intervals iv;
        struct classification c;
        if (!p) continue;
        intervals_compute(r, &iv);
        classify_request(&r, 1, TRUNCATION_REJECT, &c);
        if (population_add(p, r, &iv, &c, false, &e)) return -1;
    }
    record_reader_close(rd);
    for (enum interval_id id = 0; p && id < IV_N; id++)
        for (int k = 0; k < 3; k++)
            population_percentile(p, id, POPULATION_ALL, (const int32_t[]){50000, 90000, 99000}[k]);
    return seen;
}

static int64_t run_reader(void) {
    return run_records(NULL);
}
static int64_t run_check(void) {
    struct population *p = population_create(NULL);
    int64_t seen = run_records(p);
    population_free(p);
    return seen;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t (*run)(void);
} subjects[] = {
    {"cjson", run_cjson}, {"strict", run_strict}, {"reader", run_reader}, {"check", run_check}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

struct sample {
    int64_t seen, ns, peak_kib;
};

/* Processor time, the kernel's share included: what one core needs when it has nothing else to do.
 */
static int64_t cpu_ns(void) {
    struct timespec t;
    INVARIANT(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct sample measure(int64_t (*run)(void)) {
    struct sample s = {-1, 1, 0};
    int ends[2];
    if (pipe(ends)) return s;
    pid_t child = fork();
    if (child == 0) {
        struct rusage use;
        int64_t start = cpu_ns();
        s.seen = run();
        s.ns = cpu_ns() - start;
        getrusage(RUSAGE_SELF, &use);
        s.peak_kib = use.ru_maxrss;
        _exit(write(ends[1], &s, sizeof s) != sizeof s);
    }
    close(ends[1]);
    if (read(ends[0], &s, sizeof s) != sizeof s) s.seen = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return s;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int64_t records = argc > 1 ? atoll(argv[1]) : 100000;
    int tokens_sent = argc > 2 ? atoi(argv[2]) : 0;
    int rounds = argc > 3 ? atoi(argv[3]) : 5;
    double rate[SUBJECTS][MAX_ROUNDS];
    int64_t peak[SUBJECTS] = {0};
    int64_t bytes = write_log(records, tokens_sent);
    if (bytes < 0 || rounds < 1 || rounds > MAX_ROUNDS) return 4;
    printf("%" PRId64 " records, %d token_sent each, %.1f MB (%.0f bytes a record)\n", records,
           tokens_sent, (double)bytes / 1e6, (double)bytes / (double)records);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < SUBJECTS; i++) {
            struct sample s = measure(subjects[i].run);
            if (s.seen != records) {
                fprintf(stderr, "%s saw %" PRId64 " records\n", subjects[i].name, s.seen);
                return 4;
            }
            rate[i][round] = (double)bytes / 1e6 / ((double)s.ns / 1e9);
            if (s.peak_kib > peak[i]) peak[i] = s.peak_kib;
        }
    for (int i = 0; i < SUBJECTS; i++) qsort(rate[i], (size_t)rounds, sizeof(double), ascending);
    for (int i = 0; i < SUBJECTS; i++)
        printf("%-8s %7.1f MB/s (%.1f to %.1f), %.2f x cjson, %.0f ns a record, peak %.1f MB\n",
               subjects[i].name, rate[i][rounds / 2], rate[i][0], rate[i][rounds - 1],
               rate[i][rounds / 2] / rate[0][rounds / 2],
               (double)bytes / (double)records / rate[i][rounds / 2] * 1e3, (double)peak[i] / 1024);
    unlink(path);
    return 0;
}
