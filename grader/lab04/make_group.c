/* make_group.c: attempts for report_group, built from the user requests that they must become. */
#include "lab04/lab04.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct user {
    int id, tries, first, last; /* indexes into the attempts */
    int64_t arrival_ns;
    double gpu, joules;
};

static void attempt(struct lab04_making *m, struct report_attempt *a, int id, int number) {
    struct rng *rng = &m->rng;
    memset(a, 0, sizeof *a);
    snprintf(a->request_id, sizeof a->request_id, "u%02d", id);
    a->attempt = number;
    a->reason = lab04_chance(rng, 70) ? REASON_DELIVERED
                                      : (enum completion_reason)lab04_between(rng, 1, REASON_N - 1);
    a->quality = (enum verdict)lab04_between(rng, 0, 2);
    a->structure = (enum verdict)lab04_between(rng, 0, 3);
    strcpy(a->check, a->quality ? "key-recall/1" : "");
    a->iv.client_ttft = (struct interval){.status = INTERVAL_OK, .ns = lab04_between(rng, 1, 900)};
    if (lab04_chance(rng, 20)) a->iv.client_ttft = (struct interval){.status = INTERVAL_ABSENT};
    a->iv.e2e = (struct interval){.status = INTERVAL_OK, .ns = lab04_between(rng, 900, 3000)};
    a->iv.server_ttft = (struct interval){.status = INTERVAL_OK, .ns = lab04_between(rng, 1, 500)};
    a->iv.queue_delay.status = a->iv.tpot.status = a->iv.gpu_execution.status = INTERVAL_ABSENT;
    a->prompt_tokens = a->cached_prompt_tokens = a->output_tokens = -1;
    a->gpu_seconds = lab04_chance(rng, 90) ? (double)lab04_between(rng, 1, 64) / 8 : NAN;
    a->joules = lab04_chance(rng, 80) ? (double)lab04_between(rng, 1, 99) / 4 : NAN;
}

static void shuffle(struct lab04_making *m) {
    for (size_t i = m->c->n_attempts; i-- > 1;) {
        size_t j = (size_t)rng_below(&m->rng, i + 1);
        struct report_attempt swap = m->c->attempts[i];
        m->c->attempts[i] = m->c->attempts[j];
        m->c->attempts[j] = swap;
    }
    for (size_t i = 0; i < m->c->n_attempts; i++) m->c->attempts[i].line = (int)i + 1;
}

static void make_objective(struct lab04_making *m) {
    struct objective *o = &m->c->o;
    o->structure.required = lab04_chance(&m->rng, 30);
    o->quality.min_pass_rate = o->throughput.min_rps = o->throughput.offered_rps = NAN;
    o->reliability.max_failure_rate = o->reliability.max_recovery_s = NAN;
    o->hard_limits.gpu_memory_gib = o->hard_limits.joules_per_response = NAN;
    o->latency[o->n_latency++] = (struct latency_limit){
        .interval = IV_E2E, .scope = SCOPE_REQUEST, .below_ns = lab04_between(&m->rng, 1500, 2800)};
    if (lab04_chance(&m->rng, 50))
        o->latency[o->n_latency++] = (struct latency_limit){
            .interval = IV_CLIENT_TTFT, .scope = SCOPE_REQUEST, .below_ns = 700};
}

static bool good(const struct objective *o, const struct report_attempt *a, bool useful,
                 int64_t before_ns) {
    if (!useful || (o->structure.required && a->structure != VERDICT_PASSED)) return false;
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct interval *iv =
            o->latency[i].interval == IV_E2E ? &a->iv.e2e : &a->iv.client_ttft;
        if (iv->status != INTERVAL_OK || iv->ns + before_ns >= o->latency[i].below_ns) return false;
    }
    return true;
}

static void want_user(struct lab04_making *m, const struct user *u) {
    const struct report_attempt *a = &m->c->attempts[u->last];
    int64_t before = a->submitted_ns - u->arrival_ns;
    bool completed = a->reason == REASON_DELIVERED, absent = a->iv.client_ttft.status;
    bool useful = completed && a->quality == VERDICT_PASSED && a->structure != VERDICT_FAILED;
    lab04_want(m, "deciding", u->last);
    lab04_want(m, "attempts", u->tries);
    lab04_want(m, "arrival_ns", u->arrival_ns);
    lab04_want(m, "client_ttft.status", (int)a->iv.client_ttft.status);
    lab04_want(m, "client_ttft.ns", absent ? 0 : a->iv.client_ttft.ns + before);
    lab04_want(m, "e2e.ns", a->iv.e2e.ns + before);
    lab04_want(m, "server_ttft.ns", a->iv.server_ttft.ns);
    lab04_want(m, "completed", completed);
    lab04_want(m, "reason", (int)a->reason);
    lab04_want(m, "quality", (int)a->quality);
    lab04_want(m, "useful", useful);
    lab04_want(m, "c.attempts", u->tries);
    lab04_want(m, "good", good(&m->c->o, a, useful, before));
    lab04_want_real(m, "gpu_seconds", u->gpu);
    lab04_want_real(m, "joules", u->joules);
}

/* Finds the user requests again after the shuffle. */
static int find_users(const struct lab04_making *m, struct user *users) {
    int n = 0;
    for (int id = 0; id < 60; id++) {
        struct user u = {.id = id, .first = -1, .last = -1};
        for (int i = 0; i < (int)m->c->n_attempts; i++) {
            const struct report_attempt *a = &m->c->attempts[i];
            if ((a->request_id[1] - '0') * 10 + a->request_id[2] - '0' != id) continue;
            if (u.tries == 0 || a->attempt < m->c->attempts[u.first].attempt) u.first = i;
            if (u.tries == 0 || a->attempt > m->c->attempts[u.last].attempt) u.last = i;
            u.tries++;
            u.gpu += a->gpu_seconds;
            u.joules += a->joules;
        }
        if (u.tries == 0) continue;
        u.arrival_ns = m->c->attempts[u.first].submitted_ns;
        int at = n++;
        for (; at > 0 && users[at - 1].arrival_ns > u.arrival_ns; at--) users[at] = users[at - 1];
        users[at] = u; /* equal arrivals stay in the order of ids */
    }
    return n;
}

static void want_order(struct lab04_making *m) {
    int line = 0;
    for (size_t i = 0; i < m->c->n_attempts; i++)
        if (!strcmp(m->c->attempts[i].request_id, "u59") && m->c->attempts[i].attempt == 2)
            line = m->c->attempts[i].line;
    lab04_kind(m, "an attempt that was sent before an earlier one");
    lab04_want(m, "rc", -1);
    lab04_want(m, "e->line", line);
}

void lab04_make_group(struct lab04_making *m, enum lab04_maker which) {
    struct rng *rng = &m->rng;
    struct lab04_case *c = m->c;
    struct user users[60];
    int n = (int)lab04_between(rng, 1, 30), most = which == MAKE_GROUP_ORDER ? 1 : 4;
    c->fn = FN_GROUP;
    make_objective(m);
    for (int id = 0; id < n; id++) {
        int tries = lab04_chance(rng, 50) ? 1 : (int)lab04_between(rng, 1, most);
        int number = (int)lab04_between(rng, 1, 3);
        int64_t at = lab04_between(rng, 5, 60) * 100; /* some arrive together */
        for (int k = 0; k < tries; k++, number += (int)lab04_between(rng, 1, 2)) {
            struct report_attempt *a = &c->attempts[c->n_attempts++];
            attempt(m, a, id, number);
            a->submitted_ns = at;
            a->ended_ns = at + a->iv.e2e.ns;
            at = a->ended_ns + lab04_between(rng, 1, 500);
        }
    }
    if (which == MAKE_GROUP_TWICE &&
        m->k % 3 == 2) { /* one sent before the one with a lower number */
        struct report_attempt *a = &c->attempts[c->n_attempts++];
        for (int i = 0; i < 2; i++, a = &c->attempts[c->n_attempts++]) attempt(m, a, 59, 1 + i);
        c->n_attempts--;
        (a - 2)->submitted_ns = 7000;
        (a - 1)->submitted_ns = 7000 - lab04_between(rng, 1, 6000);
    } else if (which == MAKE_GROUP_TWICE)
        c->attempts[c->n_attempts++] = c->attempts[rng_below(rng, (uint64_t)n)];
    shuffle(m);
    if (which == MAKE_GROUP_TWICE && m->k % 3 == 2) {
        want_order(m);
        return;
    }
    lab04_kind(m, which == MAKE_GROUP_TWICE ? "an attempt that is there twice"
                  : most == 1               ? "one attempt a request"
                                            : "requests with retries");
    if (which == MAKE_GROUP_TWICE) {
        int line = 0;
        for (size_t i = 0; i < c->n_attempts; i++)
            for (size_t j = 0; j < i; j++)
                if (!strcmp(c->attempts[i].request_id, c->attempts[j].request_id) &&
                    c->attempts[i].attempt == c->attempts[j].attempt)
                    line = (int)i + 1;
        lab04_want(m, "rc", -1);
        lab04_want(m, "e->line", line);
        return;
    }
    int n_users = find_users(m, users);
    lab04_want(m, "rc", 0);
    lab04_want(m, "n_out", n_users);
    for (int i = 0; i < n_users; i++) want_user(m, &users[i]);
}
