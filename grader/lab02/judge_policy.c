/* judge_policy.c: judges a policy by its promises (invariants), never by comparing plans.
 * judge_goodput.c judges it by its goodput. See play.h and judge_policy.h. */
#include "lab02/judge_policy.h"
#include "lab02/lab02.h"
#include "lab02/make_policy.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void judge_same_plan(const struct check_def *def, struct dialogue *d,
                            struct check_result *r);
static void judge_refuses(const struct check_def *def, struct dialogue *d, struct check_result *r);
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
    case JUDGE_ADMISSION:
    case JUDGE_CHUNKING:
    case JUDGE_BATCH_MARGIN:
    case JUDGE_BATCH_WAITS:
    case JUDGE_BATCH_STARTS:
        lab02_judge_goodput(def, d, r);
        break;
    default:
        judge_promises(def, d, r);
    }
}

/* ---- violations ------------------------------------------------------------------------------ */

void lab02_lose(struct check_result *r, const char *fmt, ...) {
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
        lab02_lose(r, "%s",
                   out->text); /* which isn't shown, and no smaller workload is looked for */
    } else if (before) {
        lab02_lose(r, "%.230s; as in %s, which shows a small workload", out->text, before);
    } else {
        lab02_play_shrink(p, d, out);
        if (out->violation >= VIOLATION_TODO) return;
        lab02_lose(r, "%s", out->text);
        lab02_play_describe(p, r->input, sizeof r->input);
        if (out->violation == VIOLATION_DIFFERS)
            text_append(r->input, sizeof r->input, "\nfirst call:  %s\nsecond call: %s",
                        out->plans[0], out->plans[1]);
        snprintf(r->kind, sizeof r->kind,
                 "%zu request%s, the smallest workload found that shows it", p->n,
                 p->n == 1 ? "" : "s");
    }
}

bool lab02_play_well(struct dialogue *d, struct check_result *r, struct play *p,
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

static void make_case(const struct check_def *def, const struct dialogue *d, enum play_kind which,
                      int k, struct play *p, char kind[CASE_KIND_BYTES]) {
    struct rng rng;
    rng_seed(&rng, case_sequence(d->seed, def->id, k));
    lab02_make_play(&rng, which, k, p, kind);
    p->ask_always = k % 3 == 1;
    p->batch = def->maker == JUDGE_BATCH;
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
        make_case(def, d, which, k, &p, r->kind);
        if (!lab02_play_well(d, r, &p, &out)) return;
        r->cases_right++;
    }
    r->kind[0] = '\0';
    r->outcome = OUTCOME_EARNED;
}

/* ---- equal views, equal plans ---------------------------------------------------------------- */

/* The shifted ids have other remainders by every small table size, and the shift can't be known. */
static int64_t draw_id_shift(const struct check_def *def, const struct dialogue *d, int k) {
    enum { LARGEST_TABLE = 64 };
    struct rng rng;
    rng_seed(&rng, case_sequence(d->seed, def->id, 64 + k));
    for (;;) {
        int64_t shift = 10000 + (int64_t)rng_below(&rng, 90000), size = 2;
        while (size <= LARGEST_TABLE && shift % size != 0) size++;
        if (size > LARGEST_TABLE) return shift;
    }
}

static void judge_same_plan(const struct check_def *def, struct dialogue *d,
                            struct check_result *r) {
    static struct play p;
    static struct play_result out, again;
    for (int k = 0; k < def->n_cases; k++) {
        make_case(def, d, k % 2 ? PLAY_ROOMY : PLAY_TIGHT, 4 + k, &p, r->kind);
        p.batch = k % 3 == 2;
        p.ask_twice = true;
        if (k % 2) p.token_budget = 2048; /* so that the policy's own limits show, too */
        if (!lab02_play_well(d, r, &p, &out)) return;
        /* a second policy in the same process must not depend on the first, nor on the ids, by
         * which it could know the first one's requests */
        p.id_shift = draw_id_shift(def, d, k);
        if (!lab02_play_well(d, r, &p, &again)) return;
        if (memcmp(out.record, again.record, p.n * sizeof *out.record) != 0) {
            lab02_lose(
                r,
                "%s: the same workload, played twice, ends differently: something is kept in mind "
                "outside of the policy's state, or the ids' values decide (the second time they "
                "are others)",
                p.batch ? "learner-batch" : "learner");
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
        lab02_lose(r, "plan() didn't answer: %.280s", d->why);
    else if (!right)
        lab02_lose(r, "plan() failed, or its plan has more actions than its room");
    else if (!(right = refuses_rightly(&c.view, slots, r)))
        lab02_lose(r, "what can never run is refused at once, and nothing else is");
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
