/* dialogue.h: a check in which the next question depends on the last answer. A simulated server
 * asks a policy for plan after plan; a search asks for one measured load after the other.
 *
 * The trust boundary is the same as for single cases: what is asked goes to the child, what is
 * expected never does, and whatever comes back is bounded, carries the question's nonce and is
 * examined here. A lab's judge (lab.h) uses this.
 */
#ifndef SERVELAB_GRADER_CORE_DIALOGUE_H
#define SERVELAB_GRADER_CORE_DIALOGUE_H

#include "core/channel.h"
#include "core/lab.h"

struct session;

enum dialogue_answer {
    DIALOGUE_OK,
    DIALOGUE_TODO,    /* the starter's LAB_TODO; the core makes "not written yet" of it */
    DIALOGUE_DIED,    /* the process ended before it answered; `why` says how */
    DIALOGUE_LATE,    /* it used up its CPU time: an endless loop */
    DIALOGUE_STRANGE, /* something came that is no answer */
    DIALOGUE_FAULT    /* ours; the core reports it */
};

struct dialogue {
    uint64_t seed;
    bool practice;           /* the cases may be shown */
    char why[320];           /* after an answer that isn't OK: a sentence, clean */
    int processes;           /* started so far */
    struct session *session; /* the core's own */
    bool alive, todo, fault;
    struct err err;
};

enum { DIALOGUE_MAX_PROCESSES = 400 };

/* Asks one question. The first one, and one after a process ended, goes to a new process. */
enum dialogue_answer dialogue_ask(struct dialogue *d, const void *bytes, size_t n, int64_t *slots,
                                  size_t n_slots, const struct channel_server *server);

/* Ends the process: the next question goes to a new one, with all its CPU time. */
void dialogue_fresh(struct dialogue *d);

/* What this run's other checks have found so far: the first with `after` NULL, then the next one;
 * NULL at the end. */
const struct check_result *dialogue_next_result(const struct dialogue *d,
                                                const struct check_result *after);

/* Runs the lab's judge for s->def. Used by run_check.c. */
void dialogue_run(struct session *s);

#endif
