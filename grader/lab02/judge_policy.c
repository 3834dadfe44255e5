/* judge_policy.c: judges a policy by its promises (invariants) and by its goodput, never by
 * comparing plans. See play.h and lab02.h. */
#include "lab02/lab02.h"
#include "lab02/make_policy.h"
#include "lab02/oracle.h"
#include "lab02/play.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PAR_PERCENT = 100, MARGIN_PERCENT = 125, BATCH_MARGIN_PERCENT = 110 };

/* The limits of a good request, in every play. */
static const struct point_limits limits = {2000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX};

static void judge_same_plan(const struct check_def *def, struct dialogue *d,
                            struct check_result *r);
static void judge_refuses(const struct check_def *def, struct dialogue *d, struct check_result *r);
static void judge_goodput(const struct check_def *def, struct dialogue *d, struct check_result *r);
static void judge_promises(const struct check_def *def, struct dialogue *d, struct check_result *r);

void lab02_judge_policy(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    switch (def->maker) {
    case JUDGE_SAME_PLAN:
        judge_same_plan(def, d, r);
        break;
    case JUDGE_REFUSES:
        judge_refuses(def, d, r);
        break;
    case JUDGE_PAR:
    case JUDGE_MARGIN:
    case JUDGE_BATCH_MARGIN:
        judge_goodput(def, d, r);
        break;
    default:
        judge_promises(def, d, r);
    }
}

/* ---- violations ------------------------------------------------------------------------------ */

/* For an instructor's seed: the violation, and nothing of the case. */
static const char *general(enum violation v) {
    static const char *const texts[] = {
        [VIOLATION_DIED] = "plan() ended the program instead of returning",
        [VIOLATION_LOOP] = "plan() didn't come back: an endless loop?",
        [VIOLATION_STRANGE] = "the bytes on the answer channel are not a plan",
        [VIOLATION_GAVE_UP] = "create() or plan() reports a failure where there is none",
        [VIOLATION_RULE] = "a plan breaks a rule of sched/policy.h",
        [VIOLATION_REFUSED] = "the policy refuses a request that could run",
        [VIOLATION_DIFFERS] = "equal views don't give equal plans",
        [VIOLATION_STUCK] = "the policy stops although requests wait",
        [VIOLATION_ROUND] = "plan after plan, and the work doesn't get done",
        [VIOLATION_GROUP] = "a group is too large, or a request joins it late",
        [VIOLATION_STARVED] = "a request is overtaken by too many that arrived later"};
    return texts[v];
}

static void lose(struct check_result *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void lose(struct check_result *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->message, sizeof r->message, fmt, ap);
    va_end(ap);
    r->outcome = OUTCOME_LOST;
}

/* The id of a check of this run that has shown the same violation already, or NULL. */
static const char *shown_before(const struct dialogue *d, const struct check_result *r,
                                const struct play_result *out) {
    const struct check_result *other = NULL;
    while ((other = dialogue_next_result(d, other))) {
        if (other == r || other->outcome != OUTCOME_LOST || !other->input[0]) continue;
        if (lab02_play_same_words(other->message, out->text, true)) return other->id;
    }
    return NULL;
}

static void show_violation(struct dialogue *d, struct check_result *r, struct play *p,
                           struct play_result *out) {
    const char *before = d->practice ? shown_before(d, r, out) : NULL;
    r->endless = out->violation == VIOLATION_LOOP;
    if (out->violation >= VIOLATION_TODO) return; /* the core reports it */
    if (!d->practice) {
        lose(r, "%s", general(out->violation));
    } else if (before) {
        lose(r, "%.230s; as in %s, which shows a small workload", out->text, before);
    } else {
        lab02_play_shrink(p, d, out);
        if (out->violation >= VIOLATION_TODO) return;
        lose(r, "%s", out->text);
        lab02_play_describe(p, r->input, sizeof r->input);
        snprintf(r->kind, sizeof r->kind,
                 "%zu request%s, the smallest workload found that shows it", p->n,
                 p->n == 1 ? "" : "s");
    }
}

/* Plays p; true when there was no violation. */
static bool good_play(struct dialogue *d, struct check_result *r, struct play *p,
                      struct play_result *out) {
    lab02_play_remote(p, d, out);
    if (out->violation == VIOLATION_NONE && out->n == p->n) return true;
    if (out->violation == VIOLATION_NONE) { /* the simulator counts them; this can't happen */
        out->violation = VIOLATION_STUCK;
        snprintf(out->text, sizeof out->text, "requests are lost");
    }
    show_violation(d, r, p, out);
    return false;
}

/* ---- promises -------------------------------------------------------------------------------- */

static void case_of(const struct check_def *def, const struct dialogue *d, enum play_kind which,
                    int k, struct play *p, char kind[CASE_KIND_BYTES]) {
    struct rng rng;
    rng_seed(&rng, case_sequence(d->seed, def->id, k));
    lab02_make_play(&rng, which, k, p, kind);
    p->ask_always = k % 3 == 1;
    p->batch = def->maker == JUDGE_BATCH || def->maker == JUDGE_BATCH_MARGIN;
    if (def->maker == JUDGE_BATCH) p->group = 1 + k % 9;
    /* a budget for a whole group at once, so that the cache is the limit */
    if (def->maker == JUDGE_BATCH && k % 4 == 0) p->token_budget = 512;
}

static void judge_promises(const struct check_def *def, struct dialogue *d,
                           struct check_result *r) {
    static struct play p;
    static struct play_result out;
    for (int k = 0; k < def->n_cases; k++) {
        enum play_kind which = def->maker == JUDGE_FAIRNESS         ? PLAY_CROWD
                               : def->maker == JUDGE_RULES          ? PLAY_ROOMY
                               : def->maker == JUDGE_BATCH && k % 2 ? PLAY_ROOMY
                                                                    : PLAY_TIGHT;
        case_of(def, d, which, k, &p, r->kind);
        if (!good_play(d, r, &p, &out)) return;
        r->cases_right++;
    }
    r->kind[0] = '\0';
    r->outcome = OUTCOME_EARNED;
}

/* ---- equal views, equal plans ---------------------------------------------------------------- */

static void judge_same_plan(const struct check_def *def, struct dialogue *d,
                            struct check_result *r) {
    static struct play p;
    static struct play_result out, again;
    for (int k = 0; k < def->n_cases; k++) {
        case_of(def, d, k % 2 ? PLAY_ROOMY : PLAY_TIGHT, 4 + k, &p, r->kind);
        p.batch = k % 3 == 2;
        p.ask_twice = true;
        if (k % 2) p.token_budget = 2048; /* so that the policy's own limits show, too */
        if (!good_play(d, r, &p, &out)) return;
        /* a second policy in the same process must not depend on the first */
        if (!good_play(d, r, &p, &again)) return;
        if (memcmp(out.record, again.record, p.n * sizeof *out.record) != 0) {
            lose(r, "the same workload, played twice, ends differently: something is kept in mind "
                    "outside of the policy's state");
            return;
        }
        r->cases_right++;
    }
    r->kind[0] = '\0';
    r->outcome = OUTCOME_EARNED;
}

/* ---- refusing what can never run ------------------------------------------------------------- */

static bool can_never_run(const struct policy_view *v, const struct policy_request *c) {
    return policy_blocks_for(c->prompt_tokens + c->max_output_tokens) > v->total_kv_blocks;
}

/* Whether the plan (its slots) refuses exactly the requests that can never run. */
static bool refuses_rightly(const struct policy_view *v, const int64_t *slots,
                            struct check_result *r) {
    for (size_t i = 0; i < v->n_waiting; i++) {
        bool refused = false, reason = false;
        for (int64_t k = 0; k < slots[PLAN_N]; k++) {
            const int64_t *s = slots + PLAN_HEAD + k * CASE_ACTION_SLOTS;
            if (s[1] != v->waiting[i].id || s[0] != POLICY_REJECT) continue;
            refused = true;
            reason = s[3];
        }
        bool want = can_never_run(v, &v->waiting[i]);
        if (refused == want && (!refused || reason)) continue;
        snprintf(r->got, sizeof r->got, "request %lld %s", (long long)v->waiting[i].id,
                 !refused ? "is not refused"
                 : reason ? "is refused"
                          : "is refused without a reason");
        snprintf(r->want, sizeof r->want,
                 "prompt %d and at most %d more tokens: %d blocks; the whole cache has %d",
                 v->waiting[i].prompt_tokens, v->waiting[i].max_output_tokens,
                 policy_blocks_for(v->waiting[i].prompt_tokens + v->waiting[i].max_output_tokens),
                 v->total_kv_blocks);
        return false;
    }
    return true;
}

static bool refuses_case(const struct check_def *def, struct dialogue *d, int k,
                         struct check_result *r) {
    static unsigned char bytes[WIRE_MAX_PAYLOAD];
    static int64_t slots[PLAN_HEAD + CASE_ACTION_SLOTS * 64];
    struct lab02_case c = {.fn = FN_PLAN, .batch = k % 4 == 3, .group = 4, .fresh = true};
    struct rng rng;
    rng_seed(&rng, case_sequence(d->seed, def->id, k));
    lab02_make_view(&rng, k, (size_t)(k % 3), &c.view);
    struct wire w = wire_writer(bytes, sizeof bytes);
    int bad = lab02_case_codec(&w, &c);
    enum dialogue_answer a =
        bad ? DIALOGUE_FAULT
            : dialogue_ask(d, bytes, sizeof bytes - w.left, slots, lab02_case_slots(&c), NULL);
    bool right = a == DIALOGUE_OK && slots[PLAN_CREATED] && slots[PLAN_RC] == 0 &&
                 slots[PLAN_N] >= 0 &&
                 slots[PLAN_N] <= (int64_t)(c.view.n_waiting + c.view.n_running);
    snprintf(r->kind, sizeof r->kind,
             k % 3 ? "a view in which one that waits can never run"
                   : "a view in which all that wait can run");
    if (a != DIALOGUE_OK)
        lose(r, "plan() didn't answer: %.280s", d->why);
    else if (!right)
        lose(r, "plan() failed, or its plan has more actions than its room");
    else if (!(right = refuses_rightly(&c.view, slots, r)))
        lose(r, "what can never run is refused at once, and nothing else is");
    if (!right) lab02_describe(&c, r->input, sizeof r->input);
    r->endless = a == DIALOGUE_LATE;
    lab02_case_release(&c);
    return right;
}

static void judge_refuses(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    for (int k = 0; k < def->n_cases; k++) {
        if (!refuses_case(def, d, k, r)) return;
        r->cases_right++;
    }
    r->kind[0] = '\0';
    r->outcome = OUTCOME_EARNED;
}

/* ---- goodput --------------------------------------------------------------------------------- */

static int64_t good_of(const struct play *p, const struct play_result *out) {
    struct operating_point point;
    lab02_oracle_measure(out->record, p->n, 0, p->request[p->n - 1].arrival_ns + 1, &limits,
                         &point);
    return point.good;
}

enum { N_RIVALS = 5 };
struct scores {
    int64_t all, mine, rival[N_RIVALS];
};

/* The last one is the course's own policy. */
static const char *const rivals[N_RIVALS] = {"static:8", "wait-for-n:8", "continuous", "chunked",
                                             "reference"};
static const char *const batch_rivals[N_RIVALS] = {"single", "static:8", "wait-for-n:8",
                                                   "wait-for-time:50,8", "reference-batch:8"};

/* Plays all loads. False when a violation, or a grader fault, has settled the check. */
static bool take_scores(const struct check_def *def, struct dialogue *d, struct check_result *r,
                        struct scores *s) {
    static struct play p;
    static struct play_result out;
    bool batch = def->maker == JUDGE_BATCH_MARGIN;
    *s = (struct scores){0};
    for (int k = 0; k < def->n_cases; k++) {
        case_of(def, d, batch ? PLAY_LIGHT : PLAY_LOAD, k, &p, r->kind);
        p.ask_always = false;
        struct play whole = p;
        dialogue_fresh(d); /* each load gets a process with full CPU time */
        if (!good_play(d, r, &p, &out)) return false;
        s->mine += good_of(&whole, &out);
        s->all += (int64_t)whole.n;
        for (int i = 0; i < N_RIVALS; i++) {
            if (lab02_play_local(&whole, batch ? batch_rivals[i] : rivals[i], &out, &d->err)) {
                d->fault = true;
                return false;
            }
            s->rival[i] += good_of(&whole, &out);
        }
        r->cases_right++;
    }
    r->kind[0] = '\0';
    return true;
}

static void list_scores(const struct check_def *def, const struct scores *s, char *out,
                        size_t cap) {
    bool batch = def->maker == JUDGE_BATCH_MARGIN;
    int n = snprintf(out, cap, "good requests of %lld: yours %lld", (long long)s->all,
                     (long long)s->mine);
    for (int i = 0; i < N_RIVALS && n > 0 && (size_t)n < cap; i++)
        n += snprintf(out + n, cap - (size_t)n, ", %s %lld",
                      i == N_RIVALS - 1 ? "the course's own"
                      : batch           ? batch_rivals[i]
                                        : rivals[i],
                      (long long)s->rival[i]);
}

static void judge_goodput(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    struct scores s;
    bool batch = def->maker == JUDGE_BATCH_MARGIN;
    int percent = batch                     ? BATCH_MARGIN_PERCENT
                  : def->maker == JUDGE_PAR ? PAR_PERCENT
                                            : MARGIN_PERCENT;
    if (!take_scores(def, d, r, &s)) return;
    int64_t best = s.rival[0], own = s.rival[N_RIVALS - 1];
    if (!batch && s.rival[1] > best) best = s.rival[1];
    const char *against = batch ? "single" : "the better of static:8 and wait-for-n:8";
    if (s.mine > 0 && s.mine * 100 >= best * percent) {
        r->outcome = OUTCOME_EARNED;
        list_scores(def, &s, r->note, sizeof r->note);
        size_t n = strlen(r->note);
        if (s.mine > own)
            snprintf(r->note + n, sizeof r->note - n, ": it beats the course's own policy");
        return;
    }
    lose(r, "goodput is %.2f times that of %s; %.2f times is asked for",
         best ? (double)s.mine / (double)best : 0.0, against, percent / 100.0);
    list_scores(def, &s, r->got, sizeof r->got);
    snprintf(r->want, sizeof r->want, "at least %lld", (long long)((best * percent + 99) / 100));
}
