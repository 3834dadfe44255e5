/* judge_goodput.c: judges a policy by the requests that it serves within their limits, compared
 * with named policies on the same workload. Each check has a workload on which one idea decides:
 * joining a running batch, looking at the cache before admission, prompts in pieces, waiting for a
 * group. See judge_policy.h and make_policy.h.
 */
#include "lab02/judge_policy.h"
#include "lab02/make_policy.h"
#include "lab02/oracle.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_RIVALS = 5 };

static const struct bar {
    enum lab02_maker maker;
    enum play_kind plays;
    struct point_limits limits; /* of a good request */
    int percent;                /* of the best of the first n_best rivals */
    size_t n_best;
    const char *best; /* these, in words */
    const char *rivals[MAX_RIVALS];
    const char *own; /* the course's own policy, which is shown and not asked for */
} bars[] = {
    {JUDGE_PAR,
     PLAY_LOAD,
     {2000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     100,
     2,
     "the better of static:8 and wait-for-n:8",
     {"static:8", "wait-for-n:8", "continuous", "chunked"},
     "reference"},
    {JUDGE_MARGIN,
     PLAY_LOAD,
     {2000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     125,
     2,
     "the better of static:8 and wait-for-n:8",
     {"static:8", "wait-for-n:8", "continuous", "chunked"},
     "reference"},
    {JUDGE_ADMISSION,
     PLAY_SCARCE,
     {5000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     80,
     2,
     "the better of continuous and chunked",
     {"continuous", "chunked", "static:8"},
     "reference"},
    {JUDGE_CHUNKING,
     PLAY_LONG,
     {10000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     125,
     3,
     "the best of continuous, chunked and static:8",
     {"continuous", "chunked", "static:8"},
     "reference"},
    {JUDGE_BATCH_MARGIN,
     PLAY_LIGHT,
     {2000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     110,
     1,
     "single",
     {"single", "static:8", "wait-for-n:8", "wait-for-time:50,8"},
     "reference-batch:8"},
    {JUDGE_BATCH_WAITS,
     PLAY_BURSTS,
     {400 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     150,
     2,
     "the better of static:8 and wait-for-n:8",
     {"static:8", "wait-for-n:8", "single"},
     "reference-batch:8"},
    {JUDGE_BATCH_STARTS,
     PLAY_LONE,
     {50 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX},
     95,
     1,
     "single",
     {"single", "wait-for-time:50,8", "wait-for-n:8"},
     "reference-batch:8"},
};
/* Of the tokens of a workload's prompts and answers, so many per cent may be computed in vain on
 * PLAY_SCARCE. A policy that looks at the free blocks and at the growth of those that run loses at
 * most 1; with room for two blocks of growth, at most 4.4; one that looks at the free blocks alone,
 * 6.8 to 9.8 where answers are long; one that doesn't look, 10 to 250. */
enum { LOST_PERCENT = 5 };
enum { N_BARS = sizeof bars / sizeof *bars };

/* What a policy reached on all plays of a check. */
struct score {
    int64_t good;
    int64_t late, slow; /* requests that missed the limit on TTFT; those that missed only TPOT's */
    int64_t tokens;     /* of the prompts and the answers */
    int64_t preemptions, lost_tokens, admissions, blind;
    /* requests that came alone, when nothing ran, and were late; longest wait before the start */
    int64_t alone, alone_wait_ns;
    int64_t company; /* all of these started at the arrival of this many; 0: not so */
};

struct scores {
    int64_t all;
    struct score mine, rival[MAX_RIVALS], own;
    struct score worst; /* mine, on the workload that lost the largest part of its tokens */
};

/* Looks at late requests that came when nothing ran or waited: when did they start? */
static void watch_alone(struct score *s, const struct bar *bar, const struct play *p,
                        const struct play_result *out) {
    int64_t last_end_ns = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct point_request *r = &out->record[i];
        bool alone = last_end_ns <= r->arrival_ns;
        size_t k = i; /* the last one that had come when this one started */
        if (r->end_ns > last_end_ns) last_end_ns = r->end_ns;
        if (!alone || r->first_token_ns - r->arrival_ns < bar->limits.ttft_below_ns) continue;
        while (k + 1 < p->n && out->record[k + 1].arrival_ns <= r->admitted_ns) k++;
        if (k + 1 == p->n) break; /* no more arrivals: a policy knows that, and need not wait */
        int64_t n = k > i && out->record[k].arrival_ns == r->admitted_ns ? (int64_t)(k - i + 1) : 0;
        s->company = s->alone++ == 0 || s->company == n ? n : 0;
        if (r->admitted_ns - r->arrival_ns > s->alone_wait_ns)
            s->alone_wait_ns = r->admitted_ns - r->arrival_ns;
    }
}

static void add_score(struct score *s, const struct bar *bar, const struct play *p,
                      const struct play_result *out) {
    struct operating_point point;
    lab02_oracle_measure(out->record, p->n, 0, p->request[p->n - 1].arrival_ns + 1, &bar->limits,
                         &point);
    s->good += point.good;
    s->preemptions += out->preemptions;
    s->lost_tokens += out->lost_tokens;
    s->admissions += out->admissions;
    s->blind += out->blind;
    watch_alone(s, bar, p, out);
    for (size_t i = 0; i < p->n; i++) {
        struct point_intervals t;
        s->tokens += p->request[i].prompt_tokens + p->request[i].output_tokens;
        lab02_oracle_point_intervals(&out->record[i], &t);
        if (t.ttft_ns >= bar->limits.ttft_below_ns)
            s->late++;
        else if (t.tpot_ns >= bar->limits.tpot_below_ns)
            s->slow++;
    }
}

/* Plays all workloads. Those that repeat a mix only add to what that mix lost: preemptions are few,
 * and goodput has been counted. False when a violation, or a grader fault, has settled the check.
 */
static bool take_scores(const struct check_def *def, const struct bar *bar, struct dialogue *d,
                        struct check_result *r, struct scores *s) {
    static struct play p;
    static struct play_result out;
    const int first_again = bar->plays == PLAY_SCARCE ? PLAY_SCARCE_MIXES : def->n_cases;
    struct score one = {0};
    *s = (struct scores){0};
    for (int k = 0; k < def->n_cases; k++) {
        struct rng rng;
        rng_seed(&rng, case_sequence(d->seed, def->id, k));
        lab02_make_play(&rng, bar->plays, k, &p, r->kind);
        struct play whole = p; /* a violation shrinks p */
        dialogue_fresh(d);     /* each workload gets a process with full CPU time */
        if (!lab02_play_well(d, r, &p, &out)) return false;
        r->cases_right++;
        bool again = k >= first_again, last = k + 1 < first_again || k + 1 == def->n_cases;
        if (!again) one = (struct score){0};
        add_score(&one, bar, &whole, &out);
        if (last && one.lost_tokens * s->worst.tokens >= s->worst.lost_tokens * one.tokens)
            s->worst = one;
        if (again) continue;
        add_score(&s->mine, bar, &whole, &out);
        s->all += (int64_t)whole.n;
        for (size_t i = 0; i <= MAX_RIVALS; i++) {
            const char *name = i < MAX_RIVALS ? bar->rivals[i] : bar->own;
            if (!name) continue;
            if (lab02_play_local(&whole, name, &out, &d->err)) {
                d->fault = true;
                return false;
            }
            add_score(i < MAX_RIVALS ? &s->rival[i] : &s->own, bar, &whole, &out);
        }
    }
    r->kind[0] = '\0';
    return true;
}

static double lost_percent(const struct score *s) {
    return 100.0 * (double)s->lost_tokens / (double)s->tokens;
}

static bool wasteful(const struct bar *bar, const struct scores *s) {
    return bar->maker == JUDGE_ADMISSION && lost_percent(&s->worst) > LOST_PERCENT;
}

static void list_scores(const struct bar *bar, const struct scores *s, char *out, size_t cap) {
    int n = snprintf(out, cap, "good requests of %lld: yours %lld", (long long)s->all,
                     (long long)s->mine.good);
    for (size_t i = 0; i < MAX_RIVALS && bar->rivals[i] && n > 0 && (size_t)n < cap; i++)
        n += snprintf(out + n, cap - (size_t)n, ", %s %lld", bar->rivals[i],
                      (long long)s->rival[i].good);
    if (n > 0 && (size_t)n < cap)
        snprintf(out + n, cap - (size_t)n, ", the course's own %lld", (long long)s->own.good);
}

/* The likely cause, by what went wrong and for whom. "" when none shows. */
static void likely_cause(const struct bar *bar, const struct score *mine, bool wasteful, char *out,
                         size_t cap) {
    bool slow = mine->slow > mine->late;
    long long wait_ms = (long long)(mine->alone_wait_ns / NS_PER_MS);
    out[0] = '\0';
    if (bar->maker == JUDGE_ADMISSION && mine->blind * 10 > mine->admissions)
        snprintf(
            out, cap,
            ". Requests are admitted without checking the free KV blocks: %lld of %lld when too "
            "few were free",
            (long long)mine->blind, (long long)mine->admissions);
    else if (bar->maker == JUDGE_ADMISSION && (mine->preemptions > 20 || wasteful))
        snprintf(out, cap,
                 ". Requests are admitted into blocks that running ones will need for their next "
                 "tokens");
    else if (bar->maker == JUDGE_CHUNKING && slow)
        snprintf(out, cap,
                 ": they wait while a whole prompt, or a large part of one, is processed");
    else if (bar->maker == JUDGE_BATCH_STARTS && mine->alone > 0 && mine->company > 0)
        snprintf(out, cap,
                 ". A request that is alone was started only when %lld had come, up to %lld ms "
                 "later, though nothing was running. Start with what is there, or wait for others "
                 "a shorter time",
                 (long long)mine->company, wait_ms);
    else if (bar->maker == JUDGE_BATCH_STARTS && mine->alone > 0)
        snprintf(out, cap,
                 ". A request that is alone waited up to %lld ms before it was started, though "
                 "nothing was running. Start with what is there, or wait for others a shorter time",
                 wait_ms);
    else if (bar->maker == JUDGE_BATCH_WAITS && mine->late > 0)
        snprintf(out, cap, ": the first of a burst starts alone, or waits for a full group");
}

static void say_lost(const struct bar *bar, const struct scores *s, int64_t best,
                     struct check_result *r) {
    char cause[200], preempted[80] = "";
    likely_cause(bar, &s->mine, wasteful(bar, s), cause, sizeof cause);
    if (s->mine.preemptions + s->own.preemptions > 0)
        snprintf(preempted, sizeof preempted, "; %lld preemptions, the course's own has %lld",
                 (long long)s->mine.preemptions, (long long)s->own.preemptions);
    if (wasteful(bar, s)) {
        lab02_lose(
            r,
            "in one of the workloads %lld tokens were computed and then lost by %lld preemptions, "
            "%.1f %% of its tokens; at most %d %% may be. Goodput is %.2f times that of %s; %.2f "
            "is asked for%s",
            (long long)s->worst.lost_tokens, (long long)s->worst.preemptions,
            lost_percent(&s->worst), LOST_PERCENT, best ? (double)s->mine.good / (double)best : 0.0,
            bar->best, bar->percent / 100.0, cause);
        return;
    }
    lab02_lose(r,
               "goodput is %.2f times that of %s; %.2f is asked for. First token too late (%lld "
               "ms): %lld; the others too slow (%lld ms each): %lld%s%s",
               best ? (double)s->mine.good / (double)best : 0.0, bar->best, bar->percent / 100.0,
               (long long)(bar->limits.ttft_below_ns / NS_PER_MS), (long long)s->mine.late,
               (long long)(bar->limits.tpot_below_ns / NS_PER_MS), (long long)s->mine.slow,
               preempted, cause);
}

void lab02_judge_goodput(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    struct scores s;
    const struct bar *bar = bars;
    while (bar < bars + N_BARS - 1 && (int)bar->maker != def->maker) bar++;
    if (!take_scores(def, bar, d, r, &s)) return;
    int64_t best = 0;
    for (size_t i = 0; i < bar->n_best; i++)
        if (s.rival[i].good > best) best = s.rival[i].good;
    if (s.mine.good > 0 && s.mine.good * 100 >= best * bar->percent && !wasteful(bar, &s)) {
        r->outcome = OUTCOME_EARNED;
        list_scores(bar, &s, r->note, sizeof r->note);
        if (bar->maker == JUDGE_ADMISSION && s.worst.lost_tokens > 0)
            text_append(r->note, sizeof r->note,
                        "; computed and lost: %.1f %% of a workload's tokens",
                        lost_percent(&s.worst));
        size_t n = strlen(r->note);
        if (s.mine.good > s.own.good)
            snprintf(r->note + n, sizeof r->note - n, ": it beats the course's own policy");
        return;
    }
    say_lost(bar, &s, best, r);
    list_scores(bar, &s, r->got, sizeof r->got);
    snprintf(r->want, sizeof r->want, "at least %lld",
             (long long)((best * bar->percent + 99) / 100));
}
