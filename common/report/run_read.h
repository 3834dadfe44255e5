/* run_read.h: reads one run for a report: its records, what its run file states, its engine steps.
 *
 * A run is a folder as `servelab load --out` leaves it (run.json, records.jsonl, and steps.jsonl if
 * the server's --step-log was put there), a log of records alone, or another tool's result
 * (run_foreign.h).
 *
 * With a run file, the measured window is the one it states, and its records must be of that run:
 * as many user requests as were sent, each submitted within the schedule, at one pace. Of a log
 * alone, the window goes from the first arrival to the last and a mean gap beyond it: n arrivals
 * have n - 1 gaps between them, and would make too high a rate.
 *
 * Arrivals are on the client's clock. If no record of a run has the client's half, they are on the
 * server's: request_accepted stands for the submission, and what a client would have seen is
 * absent. Records without the client's half among others that have it are counted and left out.
 *
 * Errors name the file, the line and the field: two clocks in one run, two records of one attempt,
 * a torn line, a record of another run, a negative interval, no record at all. The records of two
 * runs of `servelab load` are refused also where the two ran at the same time: nothing says which
 * window and which offered load both have. The message says how to part them.
 */
#ifndef SERVELAB_REPORT_RUN_READ_H
#define SERVELAB_REPORT_RUN_READ_H

#include "objective/report.h"

#include <cjson/cJSON.h>

/* What made the times of a run. */
enum run_kind {
    RUN_MEASURED, /* clocks of real machines */
    RUN_PACED,    /* a server that kept a simulated machine's pace */
    RUN_SIMULATED /* the simulator, or records written by hand on its clock */
};

/* The engine's steps within the window. */
struct run_steps {
    bool present;
    int64_t n;
    double busy_s;         /* sum of their times */
    double mean_sequences; /* in the batch, weighted by time; NaN without a step */
    int64_t prefill_tokens, decode_tokens;
};

/* The tool that measured, and what its words mean; .tool NULL: servelab, whose records say so. */
struct run_source {
    const char *tool, *ttft, *tpot, *e2e;
    const char *failures; /* what it writes of a request that failed */
    bool loop_unknown;    /* its file doesn't say whether arrivals waited for completions */
    char version[32];     /* "": not stated */
};

struct report_run {
    char name[4096]; /* as given; what is no UTF-8 or a control character is replaced */
    enum run_kind kind;
    char label[96]; /* of a paced run: "llama-2-7b on h100" */
    struct run_source source;
    struct report_attempt *attempts;
    struct report_request *requests; /* of report_group */
    size_t n_attempts, n_requests;
    struct report_window window;
    int64_t ahead_ns;      /* of the window's clock, compared with its machine's CLOCK_MONOTONIC */
    bool at_server;        /* arrivals are on the server's clock */
    int64_t left_out;      /* records without the client's half */
    int64_t torn;          /* lines that were cut off and skipped */
    int64_t in_one_piece;  /* records without a TPOT: their text came in one piece */
    int64_t too_many;      /* the same: the server counts more tokens than were asked for */
    int64_t cut;           /* records without a check that ended by their length, as truncated */
    int64_t first_missing; /* requests with a later attempt and without the first */
    bool closed_loop;      /* arrivals waited for completions */
    cJSON *run_file;       /* NULL: none */
    bool no_point; /* report_run_read gave an error because the run file says that no request
                      was due in the window, or that the window has no length */
    bool valid;    /* false: the run file says that the client could not keep up, ... */
    struct run_steps steps;
};

/* Reads the run at `path`. 0, or -1 and *e; *file then names the file at fault. report_run_release
 * after either. */
int report_run_read(struct report_run *run, const char *path, const struct objective *o,
                    bool skip_torn, char file[4096], struct err *e);
void report_run_release(struct report_run *run);

/* Whether two runs have the same records, request by request: one run that was named twice. A
 * simulator's runs are never the same: two policies may give equal times. */
bool report_run_same(const struct report_run *a, const struct report_run *b);

#endif
