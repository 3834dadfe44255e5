/* make_quality.c: cases for the classification functions. See lab01.h and make_intervals.c. */
#include "lab01/lab01.h"

#include <stdio.h>
#include <string.h>

static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                      EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                      EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};

static struct record *attempt(struct lab01_making *m) {
    m->c->fn = FN_ATTEMPT;
    m->c->truncation = lab01_make_chance(m, 30) ? TRUNCATION_FIXED_LENGTH : TRUNCATION_REJECT;
    return lab01_make_record(m, 0, (int)lab01_make_between(m, 1, 6));
}

static void server_event(struct record *r, enum event_kind kind) {
    int64_t t = lab01_make_find(r, EV_REQUEST_ACCEPTED)->t_ns;
    lab01_make_event(r, kind, CLOCK_SERVER, t + 2000000000, 0, NULL);
}

/* Every fifth case of a reason's check is an ordinary answer, so that no constant earns it. */
static bool ordinary(struct lab01_making *m) {
    if (m->k % 5 != 4) return false;
    attempt(m);
    lab01_make_kind(m, "an ordinary answer, for comparison");
    return true;
}

/* ---- one reason ------------------------------------------------------------------------------ */

static void make_delivered(struct lab01_making *m) {
    static const char *const reasons[] = {"stop", "tool_calls", "x", "lengthy", "Length"};
    struct record *r = attempt(m);
    lab01_make_finish(r, reasons[m->k % 5]);
    if (m->k % 2) r->outcome.http_status = 0;
    lab01_make_kind(m, "a whole answer, finish reason \"%s\", HTTP status %s",
                    r->outcome.finish_reason, m->k % 2 ? "not stated" : "200");
    if (m->k % 4 == 3) {
        lab01_make_drop(r, EV_FINAL_BYTE_RECEIVED);
        lab01_make_kind(m, "an answer whose end never came, for comparison");
    }
    if (m->k % 4 != 1) return;
    for (int kind = 0; kind < EV_N; kind++)
        if (kind != EV_REQUEST_SUBMITTED && kind != EV_FIRST_BYTE_RECEIVED &&
            kind != EV_FINAL_BYTE_RECEIVED)
            lab01_make_drop(r, (enum event_kind)kind);
    lab01_make_kind(m, "a whole answer of a server that keeps no records");
    if (m->k % 8 != 5) return;
    lab01_make_drop(r, EV_FIRST_BYTE_RECEIVED);
    lab01_make_kind(
        m, "a record of a client alone that lacks one of its three events, for comparison");
}

static void make_rejected(struct lab01_making *m) {
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    if (m->k % 3 == 0) {
        server_event(r, EV_REQUEST_REJECTED);
        lab01_make_kind(m, "an event request_rejected");
    } else {
        r->outcome.http_status = m->k % 3 == 1 ? 429 : 503;
        lab01_make_kind(m, "HTTP status %d", r->outcome.http_status);
    }
    r->outcome.delivered = lab01_make_chance(m, 50);
}

static void make_cancelled(struct lab01_making *m) {
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    server_event(r, EV_REQUEST_CANCELLED);
    r->outcome.delivered = false;
    if (m->k % 2) lab01_make_drop(r, EV_FINAL_BYTE_RECEIVED);
    lab01_make_kind(m, "the client went away");
}

static void make_timed_out(struct lab01_making *m) {
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    lab01_make_error(r, "timed_out");
    r->outcome.delivered = lab01_make_chance(m, 50);
    r->outcome.http_status = m->k % 3 == 0 ? 200 : m->k % 3 == 1 ? 0 : 504;
    lab01_make_kind(m, "outcome.error is \"timed_out\"");
    if (m->k % 4 == 3) {
        lab01_make_error(r, "timed_out while reading");
        r->outcome.http_status = 200;
        lab01_make_kind(m, "an error that only begins with \"timed_out\"");
    }
}

static void make_internal_error(struct lab01_making *m) {
    static const int status[] = {500, 501, 502, 504, 599, 499};
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    if (m->k % 7 == 6) {
        server_event(r, EV_REQUEST_FAILED);
        lab01_make_kind(m, "an event request_failed");
    } else {
        r->outcome.http_status = status[m->k % 7];
        lab01_make_kind(m, "HTTP status %d", r->outcome.http_status);
    }
    r->outcome.delivered = lab01_make_chance(m, 50);
}

static void make_in_band(struct lab01_making *m) {
    static const char *const errors[] = {"out of KV blocks", "E", "stream broken"};
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    lab01_make_error(r, errors[m->k % 3]);
    r->outcome.delivered = m->k % 2 == 0;
    lab01_make_kind(m, "HTTP status 200 and an error in the stream");
}

static void make_not_delivered(struct lab01_making *m) {
    static const int status[] = {404, 400, 302, 201};
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    int k = m->k % 12;
    if (k < 6) {
        lab01_make_drop(r, six[k]);
        lab01_make_kind(m, "marked delivered, but one of the six events is missing");
    } else if (k < 7) {
        r->outcome.delivered = false;
        lab01_make_kind(m, "outcome.delivered is false");
    } else if (k < 11) {
        r->outcome.http_status = status[k - 7];
        lab01_make_kind(m, "HTTP status %d", r->outcome.http_status);
    } else {
        lab01_make_error(r, m->k < 12 ? "connection reset" : "x");
        r->outcome.http_status = 0;
        lab01_make_kind(m, "an error without an HTTP status");
    }
}

static void make_no_finish(struct lab01_making *m) {
    if (ordinary(m)) return;
    struct record *r = attempt(m);
    lab01_make_finish(r, "");
    lab01_make_kind(m, "no finish reason");
}

static void make_truncation(struct lab01_making *m) {
    struct record *r = attempt(m);
    m->c->truncation = m->k % 2 ? TRUNCATION_FIXED_LENGTH : TRUNCATION_REJECT;
    lab01_make_finish(r, m->k % 4 < 2 ? "length" : "stop");
    lab01_make_kind(m, "finish reason \"%s\", truncation rule %s", r->outcome.finish_reason,
                    m->k % 2 ? "fixed_length" : "reject");
}

/* Several reasons at once: the first one in the header's order counts. */
static void make_precedence(struct lab01_making *m) {
    struct record *r = attempt(m);
    int n = 0;
    int first = m->k % 7; /* each reason is the first one in turn, followed by later ones */
    m->c->truncation = TRUNCATION_REJECT;
    if (first == 0 && ++n) {
        if (lab01_make_chance(m, 50))
            server_event(r, EV_REQUEST_REJECTED);
        else
            r->outcome.http_status = lab01_make_chance(m, 50) ? 429 : 503;
    }
    if ((first == 1 || (first < 1 && lab01_make_chance(m, 50))) && ++n)
        server_event(r, EV_REQUEST_CANCELLED);
    if ((first == 2 || (first < 2 && lab01_make_chance(m, 50))) && ++n)
        lab01_make_error(r, "timed_out");
    if ((first == 3 || (first < 3 && lab01_make_chance(m, 50))) && ++n) {
        if (lab01_make_chance(m, 50) || r->outcome.http_status != 200)
            server_event(r, EV_REQUEST_FAILED);
        else
            r->outcome.http_status = 500;
    }
    if ((first == 4 || (first < 4 && lab01_make_chance(m, 50))) && ++n)
        if (!r->outcome.error[0]) lab01_make_error(r, "stream broken");
    if ((first == 5 || (first < 5 && lab01_make_chance(m, 50))) && ++n) {
        if (lab01_make_chance(m, 50))
            r->outcome.delivered = false;
        else
            lab01_make_drop(r, six[lab01_make_between(m, 0, 5)]);
    }
    lab01_make_finish(r, lab01_make_chance(m, 50) || first == 6 ? "" : "length");
    if (first == 6) n++;
    lab01_make_kind(m, "%d reasons apply at once", n + 1);
}

/* ---- one user request ------------------------------------------------------------------------ */

static void set_structure(struct record *r, const char *check, enum verdict v) {
    snprintf(r->structure.check, sizeof r->structure.check, "%s", check);
    r->structure.verdict = v;
}

static void make_verdicts(struct lab01_making *m) {
    static const enum verdict all[] = {VERDICT_NOT_EVALUATED, VERDICT_PASSED, VERDICT_FAILED};
    struct record *r = attempt(m);
    m->c->fn = FN_REQUEST;
    m->focus = "quality|structure";
    r->quality.verdict = all[m->k % 3];
    lab01_make_kind(m, "the verdict of a named check");
    if (m->k % 7 == 6) memset(r->quality.check + 1, 0, sizeof r->quality.check - 1); /* "k" */
    if (m->k % 4 == 3) {
        memset(r->quality.check, 0, sizeof r->quality.check);
        r->quality.verdict = VERDICT_PASSED;
        lab01_make_kind(m, "a quality verdict without the name of a check");
    }
    if (m->k % 5 < 3) set_structure(r, "tool-call/1", all[m->k % 5]);
}

static void make_useful(struct lab01_making *m) {
    static const enum verdict quality[] = {VERDICT_PASSED, VERDICT_FAILED, VERDICT_NOT_EVALUATED};
    static const enum verdict structure[] = {VERDICT_NOT_REQUIRED, VERDICT_PASSED, VERDICT_FAILED,
                                             VERDICT_NOT_EVALUATED};
    struct record *r = attempt(m);
    m->c->fn = FN_REQUEST;
    m->focus = "completed|useful|reason";
    m->c->truncation = TRUNCATION_REJECT;
    int k = m->k % 24;
    r->quality.verdict = quality[k % 3];
    set_structure(r, k / 3 % 4 ? "tool-call/1" : "", structure[k / 3 % 4]);
    if (k >= 12) {
        if (lab01_make_chance(m, 50))
            lab01_make_finish(r, "length");
        else
            r->outcome.delivered = false;
    }
    lab01_make_kind(m, "%s, quality %s, structure %s", k < 12 ? "completed" : "not completed",
                    k % 3 == 0   ? "passed"
                    : k % 3 == 1 ? "failed"
                                 : "not evaluated",
                    k / 3 % 4 == 0   ? "not required"
                    : k / 3 % 4 == 1 ? "passed"
                    : k / 3 % 4 == 2 ? "failed"
                                     : "not evaluated");
}

/* Makes the attempt fail, so that a retry follows. */
static void spoil(struct lab01_making *m, struct record *r) {
    r->outcome.delivered = false;
    if (lab01_make_chance(m, 50))
        r->outcome.http_status = 503;
    else
        server_event(r, EV_REQUEST_FAILED);
    r->quality.verdict = VERDICT_NOT_EVALUATED;
}

static void make_retries(struct lab01_making *m) {
    static const int order[4][3] = {{1, 2, 3}, {3, 1, 2}, {2, 3, 1}, {1, 3, 2}};
    int n = m->k % 6 == 5 ? 1 : 2 + m->k % 2;
    m->c->fn = FN_REQUEST;
    m->c->truncation = TRUNCATION_REJECT;
    for (int i = 0; i < n; i++) {
        struct record *r = lab01_make_record(m, i, (int)lab01_make_between(m, 1, 3));
        r->attempt = n == 3 ? order[m->k / 2 % 4][i] : m->k % 4 < 2 ? i + 1 : n - i;
        if (lab01_make_chance(m, 20))
            r->attempt += 7; /* attempt numbers are ordered, with gaps allowed */
        snprintf(r->request_id, sizeof r->request_id, "%s", m->c->rec[0].request_id);
    }
    int32_t highest = 0;
    for (int i = 0; i < n; i++)
        if (m->c->rec[i].attempt > highest) highest = m->c->rec[i].attempt;
    bool last_fails = m->k % 3 == 2;
    for (int i = 0; i < n; i++)
        if ((m->c->rec[i].attempt == highest) == last_fails) spoil(m, &m->c->rec[i]);
    lab01_make_kind(m, "%d attempt%s in any order; the last one %s", n, n > 1 ? "s" : "",
                    last_fails ? "failed" : "was delivered");
    if (m->k % 12 == 10) {
        m->c->rec[0].attempt = m->c->rec[1].attempt = highest + 1;
        lab01_make_kind(m, "two attempts with the same number");
    }
}

/* ---- good ------------------------------------------------------------------------------------ */

static struct interval ok_interval(struct lab01_making *m, int64_t lo, int64_t hi) {
    return (struct interval){INTERVAL_OK, lab01_make_between(m, lo, hi), 0};
}

/* A useful request with all its intervals, and an objective without limits. */
static void good_base(struct lab01_making *m) {
    struct lab01_case *c = m->c;
    c->fn = FN_GOOD;
    lab01_make_objective(c);
    c->cls = (struct classification){
        true, REASON_DELIVERED, VERDICT_PASSED, VERDICT_NOT_REQUIRED, true, 1};
    c->iv.client_ttft = ok_interval(m, 50000000, 900000000);
    c->iv.server_ttft = ok_interval(m, 1000000, 40000000);
    c->iv.queue_delay = ok_interval(m, 1000, 900000);
    c->iv.e2e = ok_interval(m, INT64_C(1000000000), INT64_C(20000000000));
    c->iv.tpot = ok_interval(m, 1000000, 90000000);
    c->iv.gpu_execution = ok_interval(m, 1000000, 40000000);
    c->iv.tpot_boundary = TPOT_TOKEN_SENT;
}

static struct interval *slot_of(struct lab01_case *c, enum interval_id id) {
    struct interval *all[IV_N] = {&c->iv.client_ttft, &c->iv.server_ttft, &c->iv.queue_delay,
                                  &c->iv.e2e,         &c->iv.tpot,        &c->iv.gpu_execution};
    return all[id];
}

static void add_limit(struct lab01_case *c, enum interval_id id, enum limit_scope scope,
                      int64_t below) {
    struct objective *o = &c->obj;
    o->latency[o->n_latency++] =
        (struct latency_limit){id, scope, scope == SCOPE_POPULATION ? 99000 : 0, below};
}

static void not_useful(struct lab01_case *c) {
    c->cls.useful = false;
    c->cls.quality = VERDICT_FAILED;
}

static void make_good(struct lab01_making *m) {
    struct lab01_case *c = m->c;
    good_base(m);
    enum interval_id id = (enum interval_id)lab01_make_between(m, 0, IV_N - 1);
    int64_t ns = slot_of(c, id)->ns;
    switch (m->k % 8) {
    case 0:
        for (int i = 0; i < IV_N; i++) /* every limit met by 1 ns */
            add_limit(c, (enum interval_id)i, SCOPE_REQUEST,
                      slot_of(c, (enum interval_id)i)->ns + 1);
        lab01_make_kind(m, "every interval 1 ns below its limit");
        break;
    case 1:
        add_limit(c, IV_E2E, SCOPE_REQUEST, c->iv.e2e.ns + 5);
        add_limit(c, id, SCOPE_REQUEST, ns);
        lab01_make_kind(m, "an interval equal to its limit");
        break;
    case 2:
        add_limit(c, id, SCOPE_REQUEST, ns - 1);
        add_limit(c, IV_E2E, SCOPE_REQUEST, c->iv.e2e.ns + 5);
        lab01_make_kind(m, "an interval above its limit");
        break;
    case 3:
        add_limit(c, id, SCOPE_POPULATION, ns - 1);
        add_limit(c, id, SCOPE_REQUEST, ns + 1);
        lab01_make_kind(m, "a limit of scope population, which is not about one request");
        break;
    case 4:
        not_useful(c);
        add_limit(c, id, SCOPE_REQUEST, ns + 1);
        lab01_make_kind(m, "fast, but not useful");
        break;
    case 5:
        c->obj.structure.required = true;
        c->cls.structure = m->k / 8 % 2 ? VERDICT_PASSED : VERDICT_NOT_EVALUATED;
        lab01_make_kind(m, "the objective requires the structure check");
        break;
    case 6:
        lab01_make_kind(m, "an objective without limits");
        break;
    default:
        c->obj.structure.required = true;
        c->cls.structure = m->k / 8 % 2 ? VERDICT_PASSED : VERDICT_NOT_REQUIRED;
        lab01_make_kind(m, "the objective requires a structure check");
    }
}

static void make_good_absent(struct lab01_making *m) {
    static const enum interval_status bad[] = {INTERVAL_CROSS_CLOCK, INTERVAL_NEGATIVE};
    struct lab01_case *c = m->c;
    good_base(m);
    add_limit(c, IV_CLIENT_TTFT, SCOPE_REQUEST, c->iv.client_ttft.ns + 1);
    switch (m->k % 4) {
    case 0:
        c->iv.tpot = (struct interval){INTERVAL_ABSENT, 0, 0};
        c->iv.tpot_boundary = TPOT_NONE;
        add_limit(c, IV_TPOT, SCOPE_REQUEST, 80000000);
        lab01_make_kind(m, "a limit on a TPOT that is absent");
        break;
    case 1: {
        enum interval_id id = (enum interval_id)lab01_make_between(m, 0, IV_N - 1);
        if (id == IV_TPOT) id = IV_E2E;
        *slot_of(c, id) = (struct interval){INTERVAL_ABSENT, 0, 0};
        add_limit(c, id, SCOPE_REQUEST, INT64_C(30000000000));
        lab01_make_kind(m, "a limit on another interval that is absent");
        break;
    }
    case 2:
        c->iv.tpot = (struct interval){bad[m->k / 4 % 2], 0, 0};
        add_limit(c, IV_TPOT, SCOPE_REQUEST, 80000000);
        lab01_make_kind(m, "a limit on a TPOT that is in error");
        break;
    default:
        c->iv.e2e = (struct interval){bad[m->k / 4 % 2], 0, 0};
        add_limit(c, IV_E2E, SCOPE_REQUEST, INT64_C(30000000000));
        lab01_make_kind(m, "a limit on an interval that is in error");
    }
}

void lab01_make_quality(struct lab01_making *m, enum lab01_maker which) {
    static void (*const makers[])(struct lab01_making *) = {
        [MAKE_DELIVERED] = make_delivered,
        [MAKE_REJECTED] = make_rejected,
        [MAKE_CANCELLED] = make_cancelled,
        [MAKE_TIMED_OUT] = make_timed_out,
        [MAKE_INTERNAL_ERROR] = make_internal_error,
        [MAKE_IN_BAND] = make_in_band,
        [MAKE_NOT_DELIVERED] = make_not_delivered,
        [MAKE_FINISH_REASON] = make_no_finish,
        [MAKE_TRUNCATION] = make_truncation,
        [MAKE_PRECEDENCE] = make_precedence,
        [MAKE_VERDICTS] = make_verdicts,
        [MAKE_USEFUL] = make_useful,
        [MAKE_RETRIES] = make_retries,
        [MAKE_GOOD] = make_good,
        [MAKE_GOOD_ABSENT] = make_good_absent,
    };
    INVARIANT(which < sizeof makers / sizeof *makers && makers[which]);
    makers[which](m);
}
