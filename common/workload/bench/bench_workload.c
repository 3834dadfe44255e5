/* bench_workload.c: what does a request cost before it reaches the simulator?
 *
 *   make build/obj/gcc-release-solutions/common/workload/bench/bench_workload
 *   build/obj/gcc-release-solutions/common/workload/bench/bench_workload [TRACE FORMAT]
 *
 * Draws REQUESTS of each kind, and reads a trace of ROWS rows in each format (written to memory
 * first), or the trace that is named. Processor time of this thread: median, least and most of
 * ROUNDS rounds.
 */
#include "workload/traces.h"

#include "base/clock.h"
#include "base/rng.h"
#include "workload/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7, REQUESTS = 1000000, ROWS = 200000 };

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *what, double *s, double units, const char *unit) {
    qsort(s, ROUNDS, sizeof *s, by_value);
    double f = 1e9 / units;
    printf("%-34s %8.1f ns a %s (%.1f to %.1f), %.2f ms in all\n", what, s[ROUNDS / 2] * f, unit,
           s[0] * f, s[ROUNDS - 1] * f, s[ROUNDS / 2] * 1e3);
}

static void bench_kind(const char *name, struct workload_spec s) {
    double took[ROUNDS];
    s.requests = REQUESTS;
    for (int round = 0; round < ROUNDS; round++) {
        struct err e;
        struct sim_request r;
        double from = cpu_s();
        struct workload *w = workload_open(&s, &e);
        INVARIANT(w);
        while (workload_next(w, &r, &e) == 1)
            if (s.arrivals == ARRIVALS_CLOSED) workload_ended(w, r.arrival_ns);
        workload_close(w);
        took[round] = cpu_s() - from;
    }
    print(name, took, REQUESTS, "request");
}

static int write_rows(enum trace_format format) {
    int fd = memfd_create("trace", 0);
    FILE *f = fdopen(dup(fd), "w");
    INVARIANT(f);
    struct rng r;
    rng_seed(&r, 1);
    if (format == TRACE_AZURE) fputs("TIMESTAMP,ContextTokens,GeneratedTokens\n", f);
    if (format == TRACE_VIDUR) fputs("arrived_at,num_prefill_tokens,num_decode_tokens\n", f);
    if (format == TRACE_BURSTGPT)
        fputs("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n", f);
    for (int i = 0; i < ROWS; i++) {
        int prompt = 1 + (int)rng_below(&r, 8000), output = (int)rng_below(&r, 1000);
        int s = i / 10, ms = i % 10 * 100;
        if (format == TRACE_AZURE)
            fprintf(f, "2023-11-16 %02d:%02d:%02d.%03d0000,%d,%d\n", s / 3600 % 24, s / 60 % 60,
                    s % 60, ms, prompt, output);
        else if (format == TRACE_VIDUR)
            fprintf(f, "%d.%03d,%d,%d\n", s, ms, prompt, output);
        else if (format == TRACE_BURSTGPT)
            fprintf(f, "%d.0,GPT-3.5,%d,%d,%d,Conversation log\n", s, prompt, output,
                    prompt + output);
        else {
            fprintf(
                f,
                "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [",
                i * 100, prompt, output);
            for (int k = 0; k < (prompt + 511) / 512; k++)
                fprintf(f, "%s%d", k ? ", " : "", (int)rng_below(&r, 50000));
            fputs("]}\n", f);
        }
    }
    fclose(f);
    return fd;
}

static void bench_reading(const char *name, int fd, enum trace_format format) {
    double took[ROUNDS];
    int64_t rows = 0;
    off_t bytes = lseek(fd, 0, SEEK_END);
    for (int round = 0; round < ROUNDS; round++) {
        struct trace t;
        struct err e;
        lseek(fd, 0, SEEK_SET);
        double from = cpu_s();
        int rc = trace_read_fd(&t, fd, format, false, &e);
        took[round] = cpu_s() - from;
        if (rc) fprintf(stderr, "%s: line %d: %s: %s\n", name, e.line, e.field, e.text), exit(2);
        rows = t.n;
        trace_clear(&t);
    }
    print(name, took, (double)rows, "row");
    printf("%34s %8.0f MB/s\n", "", (double)bytes / 1e6 / took[ROUNDS / 2]);
    close(fd);
}

int main(int argc, char **argv) {
    struct lengths prompt = {1, 4000}, output = {1, 500};
#define REST .rate_rps = 10, .prompt_tokens = prompt, .output_tokens = output, .fail_rate = 0.01
    if (argc == 3) {
        enum trace_format format;
        struct err e;
        FILE *f = fopen(argv[1], "r");
        if (!f || spec_trace_format("FORMAT", argv[2], &format, &e)) return 2;
        bench_reading(argv[1], dup(fileno(f)), format);
        return 0;
    }
    bench_kind("poisson", (struct workload_spec){.arrivals = ARRIVALS_POISSON, REST});
    bench_kind("on-off",
               (struct workload_spec){.arrivals = ARRIVALS_ON_OFF, .on_s = 10, .off_s = 30, REST});
    static const double cvs[] = {1, 0.5, 0.1, 0.7, 2, 10};
    for (size_t i = 0; i < sizeof cvs / sizeof *cvs; i++) {
        char name[32];
        snprintf(name, sizeof name, "gamma, cv %g", cvs[i]);
        bench_kind(name, (struct workload_spec){.arrivals = ARRIVALS_GAMMA, .cv = cvs[i], REST});
    }
    bench_kind("closed, 1000 clients", (struct workload_spec){.arrivals = ARRIVALS_CLOSED,
                                                              .clients = 1000,
                                                              .think_s = 1,
                                                              .prompt_tokens = prompt,
                                                              .output_tokens = output});
    for (int f = TRACE_AZURE; f <= TRACE_VIDUR; f++) {
        enum trace_format format = (enum trace_format)f;
        bench_reading(spec_trace_format_name(format), write_rows(format), format);
    }
    return 0;
}
