/* generator.h: sends a workload to a server on an absolute schedule, in one thread.
 *
 * Open loop: a request is sent at its time, independent of the others. Each wait ends at an
 * absolute time, so the rate does not drift. Closed loop: each client thinks, sends, and waits for
 * the end. In both, a request has the time at which it should have been sent; the lag behind it is
 * recorded, and latencies count from the schedule. A client of a closed loop whose request failed
 * waits LOAD_PAUSE_MS before it thinks: otherwise a server that refuses, or is gone, would be asked
 * as fast as it can refuse.
 *
 * Where the system permits it (as root), the thread has the lowest real-time priority meanwhile: on
 * a machine that the server shares, an ordinary thread is woken milliseconds late.
 *
 * What disturbs the measurement is kept out of it: the next request of an open loop is made before
 * it is due, records are exchanged with the server on connections of their own when nothing is due
 * (outbox.h), a request is sent once and never retried.
 *
 * Offers: rows (results.h) and one record a request, as a line of the log. Refuses: to judge.
 */
#ifndef SERVELAB_LOAD_GENERATOR_H
#define SERVELAB_LOAD_GENERATOR_H

#include "load/client.h"
#include "load/outbox.h"
#include "load/prompts.h"
#include "load/results.h"
#include "workload/workload.h"

#include <signal.h>

enum { LOAD_PAUSE_MS = 100 };

/* A prompt with a checkable answer, as the server gave it. */
struct check_prompt {
    char name[48]; /* X-Quality-Check */
    char *prompt;
    int32_t prompt_tokens, max_tokens;
};

struct load_job {
    const struct load_client *client;
    struct workload *workload;
    bool closed;         /* it is a closed loop */
    int64_t requests;    /* for the remaining time; 0: unknown */
    double rate_rps;     /* likewise */
    int64_t duration_ns; /* 0: until the workload ends */
    int64_t warm_up_ns, cool_down_ns;

    const char *model;
    bool chat; /* text goes to the chat route */
    bool ids;  /* prompts are token ids to /v1/completions */
    bool ignore_eos;
    double temperature;
    struct prompt_maker prompts;
    const struct check_prompt *checks; /* (n_checks), used in turn */
    int64_t n_checks;
    double check_share; /* of the requests that ask one of them, drawn from `seed` */
    uint64_t seed;
    uint32_t run; /* in the request ids: "load-RUN-NUMBER" */

    bool joins; /* the server keeps records */
    FILE *log;
    FILE *live; /* the live line; NULL: none */
    bool live_is_tty;
    const char *live_label;      /* in front of each line; NULL: nothing */
    int max_streams;             /* open at once */
    volatile sig_atomic_t *stop; /* how many signals came: 1 stops sending and cuts off what runs,
                                    2 doesn't ask the server for its records either */
};

/* 0, or -1 and *e. In both cases *out holds the observations; the caller releases it. */
int load_generate(const struct load_job *job, struct load_results *out,
                  struct outbox_counts *records, struct err *e);

#endif
