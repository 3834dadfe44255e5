/* dialogue.h: a check in which each question depends on the last answer: a simulated server asks a
 * policy for plan after plan, and a search asks for one measured load after another.
 *
 * The trust boundary is the same as for single cases: the child gets questions and never expected
 * answers; its answers are bounded, carry the question's nonce and are examined in the grader. A
 * lab's judge (lab.h) uses this.
 */
#ifndef SERVELAB_GRADER_CORE_DIALOGUE_H
#define SERVELAB_GRADER_CORE_DIALOGUE_H

#include "core/channel.h"
#include "core/lab.h"

struct session;

enum dialogue_answer {
    DIALOGUE_OK,
    DIALOGUE_TODO,    /* the starter's LAB_TODO; the core reports "not written yet" */
    DIALOGUE_DIED,    /* the process ended before it answered; `why` says how */
    DIALOGUE_LATE,    /* it used up its CPU time: an endless loop */
    DIALOGUE_STRANGE, /* the bytes that came are not an answer */
    DIALOGUE_FAULT    /* the grader's fault; the core reports it */
};

struct dialogue {
    uint64_t seed;
    bool practice;           /* the cases may be shown */
    char why[320];           /* after any result but DIALOGUE_OK: a sentence, clean */
    int processes;           /* started so far */
    struct session *session; /* for the core only */
    bool alive, todo, fault;
    bool refused; /* todo: because the function's file was refused */
    struct err err;
};

enum { DIALOGUE_MAX_PROCESSES = 400 };

/* Asks one question. A new process is started for the first question, and after a process ended. */
enum dialogue_answer dialogue_ask(struct dialogue *d, const void *bytes, size_t n, int64_t *slots,
                                  size_t n_slots, const struct channel_server *server);

/* Ends the process: the next question starts a new one with its full CPU time. */
void dialogue_fresh(struct dialogue *d);

/* The results of this run's other checks so far: the first with `after` NULL, then the next one;
 * NULL at the end. */
const struct check_result *dialogue_next_result(const struct dialogue *d,
                                                const struct check_result *after);

/* Runs the lab's judge for s->def. Used by run_check.c. */
void dialogue_run(struct session *s);

#endif
