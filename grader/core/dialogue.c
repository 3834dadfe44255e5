/* dialogue.c: see dialogue.h. */
#include "core/dialogue.h"

#include "core/session.h"

#include <stdio.h>
#include <string.h>

static enum dialogue_answer our_fault(struct dialogue *d) {
    d->fault = true;
    snprintf(d->why, sizeof d->why, "%.300s", d->err.text);
    return DIALOGUE_FAULT;
}

static int start(struct dialogue *d) {
    if (d->processes++ >= DIALOGUE_MAX_PROCESSES)
        return err_set(&d->err, "a judge wants more than %d processes", DIALOGUE_MAX_PROCESSES);
    if (session_start(d->session, &d->err)) return -1;
    d->alive = true;
    return 0;
}

/* Ends the process and keeps its output. `stop`: kills it at once. */
static void end(struct dialogue *d, bool stop) {
    if (!d->alive) return;
    d->alive = false;
    channel_close(&d->session->ch);
    sandbox_finish(&d->session->run, stop);
    session_keep_printed(d->session);
}

enum dialogue_answer dialogue_ask(struct dialogue *d, const void *bytes, size_t n, int64_t *slots,
                                  size_t n_slots, const struct channel_server *server) {
    struct session *s = d->session;
    char todo[64] = "";
    d->why[0] = '\0';
    if (d->fault || sandbox_stopped()) return our_fault(d);
    if (!d->alive && start(d)) return our_fault(d);
    enum channel_answer a = channel_ask(&s->ch, &s->run, bytes, n, slots, n_slots, server, todo);
    if (a == CHANNEL_OK) return DIALOGUE_OK;
    end(d, a == CHANNEL_GARBAGE);
    session_describe_end(s, d->why, sizeof d->why);
    bool late = s->run.end == SANDBOX_TIMEOUT;
    sandbox_release(&s->run);
    if (a == CHANNEL_TODO) {
        d->todo = true;
        d->refused = !session_todo(s, todo, d->why, sizeof d->why);
        return DIALOGUE_TODO;
    }
    if (a == CHANNEL_GARBAGE) {
        snprintf(d->why, sizeof d->why,
                 "something else than an answer came through the answer channel");
        return DIALOGUE_STRANGE;
    }
    return late ? DIALOGUE_LATE : DIALOGUE_DIED;
}

void dialogue_fresh(struct dialogue *d) {
    if (!d->alive) return;
    end(d, true);
    sandbox_release(&d->session->run);
}

const struct check_result *dialogue_next_result(const struct dialogue *d,
                                                const struct check_result *after) {
    const struct grading *g = d->session->g;
    const struct check_result *next = after ? after + 1 : g->results;
    for (; next < g->results + g->lab->n_checks; next++)
        if (next->id) return next;
    return NULL;
}

/* Every question was answered; the process must now exit with status 0. */
static void look_at_end(struct dialogue *d, struct check_result *r) {
    char how[280], text[320];
    if (!d->alive) return;
    end(d, false);
    if (r->outcome == OUTCOME_EARNED &&
        (d->session->run.end != SANDBOX_EXITED || d->session->run.code != 0)) {
        session_describe_end(d->session, how, sizeof how);
        snprintf(text, sizeof text, "after the last answer, %s", how);
        check_lose(r, text);
    }
    sandbox_release(&d->session->run);
}

void dialogue_run(struct session *s) {
    struct check_result *r = s->r;
    struct dialogue d = {.seed = s->g->seed, .practice = s->g->practice, .session = s};
    r->cases = s->def->n_cases;
    r->outcome = OUTCOME_LOST;
    s->g->lab->judge(s->def, &d, r);
    look_at_end(&d, r);
    if (d.todo) {
        r->outcome = OUTCOME_NOT_RUN;
        r->todo = !d.refused;
        r->kind[0] = r->input[0] = '\0';
        snprintf(r->message, sizeof r->message, "%s", d.why);
    }
    if (d.fault) session_blame(s, &d.err);
}
