/* test_policy_check.c: plans against a plain reading of the rules in policy.h, one rule after the
 * other and without any short cut; and the messages of single broken rules. */
#include "base/rng.h"
#include "sched/policy.h"
#include "testing/check_main.h"

#include <string.h>

enum { MOST = 24 };

struct scene {
    struct policy_request waiting[MOST], running[MOST];
    struct policy_action actions[2 * MOST];
    struct policy_view view;
    struct policy_plan plan;
};

static struct policy_request request(struct rng *r, int64_t id, bool runs) {
    struct policy_request q = {.id = id, .prompt_tokens = 1 + (int32_t)rng_below(r, 100)};
    if (!runs) return q;
    bool prefill = rng_below(r, 3) == 0;
    q.generated_tokens = prefill ? 0 : 1 + (int32_t)rng_below(r, 50);
    q.computed_tokens = prefill ? (int32_t)rng_below(r, (uint64_t)q.prompt_tokens)
                                : q.prompt_tokens + q.generated_tokens - 1;
    q.kv_blocks = policy_blocks_for(q.computed_tokens);
    return q;
}

/* A scene with random ids and an empty plan. */
static void set_scene(struct scene *s, struct rng *r) {
    size_t waiting = rng_below(r, MOST), running = rng_below(r, MOST);
    int64_t id = 0;
    for (size_t i = 0; i < waiting; i++)
        s->waiting[i] = request(r, id += 1 + (int64_t)rng_below(r, 3), false);
    for (size_t i = 0; i < running; i++)
        s->running[i] = request(r, id += 1 + (int64_t)rng_below(r, 3), true);
    s->view = (struct policy_view){.waiting = s->waiting,
                                   .n_waiting = waiting,
                                   .running = s->running,
                                   .n_running = running,
                                   .free_kv_blocks = (int32_t)rng_below(r, 60),
                                   .total_kv_blocks = 1000,
                                   .token_budget = 1 + (int32_t)rng_below(r, 600),
                                   .max_running = MOST / 2 + (int32_t)rng_below(r, MOST)};
    s->plan = (struct policy_plan){.actions = s->actions, .cap_actions = 2 * MOST};
}

static const struct policy_request *find(const struct policy_request *list, size_t n, int64_t id) {
    for (size_t i = 0; i < n; i++)
        if (list[i].id == id) return &list[i];
    return NULL;
}

static int32_t left_of(const struct policy_request *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}

/* Mostly sensible actions, in the order of the view or not. */
static void make_plan(struct scene *s, struct rng *r) {
    const struct policy_view *v = &s->view;
    struct policy_action *a = s->actions;
    size_t n = 0, from = 0;
    for (size_t i = 0; i < v->n_running; i++)
        if (rng_below(r, 8) == 0)
            a[n++] = (struct policy_action){POLICY_PREEMPT, v->running[i].id, 0, NULL};
    for (size_t i = 0; i < v->n_waiting; i++)
        if (rng_below(r, 16) == 0)
            a[n++] = (struct policy_action){POLICY_REJECT, v->waiting[i].id, 0, "too long"};
    from = n;
    for (size_t k = 0; k < v->n_running + v->n_waiting; k++) {
        const struct policy_request *q =
            k < v->n_running ? &v->running[k] : &v->waiting[k - v->n_running];
        bool named = false;
        for (size_t i = 0; i < from; i++) named |= a[i].id == q->id;
        if (named || rng_below(r, 3) == 0) continue;
        int32_t tokens = 1 + (int32_t)rng_below(r, (uint64_t)left_of(q));
        a[n++] = (struct policy_action){POLICY_RUN, q->id, tokens, NULL};
    }
    for (int swaps = rng_below(r, 2) ? 0 : 4; swaps > 0 && n > from + 1; swaps--) {
        size_t i = from + rng_below(r, n - from), j = from + rng_below(r, n - from);
        struct policy_action t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
    s->plan.n_actions = n;
}

/* Spoils one thing, or nothing. */
static void spoil(struct scene *s, struct rng *r) {
    size_t n = s->plan.n_actions;
    if (n == 0 || n == 2 * MOST) return;
    struct policy_action *a = &s->actions[rng_below(r, n)];
    switch (rng_below(r, 12)) {
    case 0:
        a->id += 1; /* another request, or none */
        break;
    case 1:
        a->tokens = (int32_t)rng_below(r, 200);
        break;
    case 2:
        a->verb = (enum policy_verb)rng_below(r, 4);
        break;
    case 3:
        a->reason = NULL;
        break;
    case 4:
        s->actions[n] = s->actions[rng_below(r, n)]; /* named twice, somewhere */
        s->plan.n_actions++;
        break;
    default:
        break;
    }
}

/* The rules of policy.h, plainly. */
static bool keeps_the_rules(const struct scene *s) {
    const struct policy_view *v = &s->view;
    int64_t blocks = v->free_kv_blocks, tokens = 0, positions = (int64_t)v->n_running;
    bool ran = false;
    for (size_t i = 0; i < s->plan.n_actions; i++) {
        const struct policy_action *a = &s->actions[i];
        const struct policy_request *runs = find(v->running, v->n_running, a->id);
        const struct policy_request *waits = find(v->waiting, v->n_waiting, a->id);
        const struct policy_request *q = runs ? runs : waits;
        if (!q) return false;
        for (size_t k = 0; k < i; k++)
            if (s->actions[k].id == a->id) return false;
        if (a->verb == POLICY_PREEMPT) {
            if (!runs || ran) return false;
            blocks += q->kv_blocks;
            positions--;
        } else if (a->verb == POLICY_REJECT) {
            if (!waits || ran || !a->reason) return false;
        } else if (a->verb == POLICY_RUN) {
            ran = true;
            if (a->tokens < 1 || a->tokens > left_of(q)) return false;
            tokens += a->tokens;
            positions += !runs;
            int32_t need = policy_blocks_for(q->computed_tokens + a->tokens) - q->kv_blocks;
            blocks -= need > 0 ? need : 0;
        } else {
            return false;
        }
    }
    return blocks >= 0 && tokens <= v->token_budget && positions <= v->max_running;
}

START_TEST(random_plans_are_judged_as_the_rules_say) {
    struct rng r;
    rng_seed(&r, 77);
    int good = 0, bad = 0;
    for (int trial = 0; trial < 100000; trial++) {
        struct scene s;
        struct err e = {0};
        set_scene(&s, &r);
        make_plan(&s, &r);
        spoil(&s, &r);
        bool want = keeps_the_rules(&s), got = policy_check(&s.view, &s.plan, &e) == 0;
        if (got != want) ck_abort_msg("trial %d: got %d, want %d: %s", trial, got, want, e.text);
        if (!got && !e.text[0]) ck_abort_msg("trial %d: refused without a word", trial);
        good += want;
        bad += !want;
    }
    ck_assert_int_gt(good, 10000);
    ck_assert_int_gt(bad, 10000);
}
END_TEST

/* ---- the message of each broken rule ---- */

START_TEST(each_broken_rule_has_its_message) {
    static const struct {
        const char *says;
        struct policy_action actions[3];
        size_t n;
    } cases[] = {
        {"neither waits nor runs", {{POLICY_RUN, 9, 1, NULL}}, 1},
        {"twice in one plan", {{POLICY_RUN, 1, 1, NULL}, {POLICY_RUN, 1, 1, NULL}}, 2},
        {"twice in one plan",
         {{POLICY_RUN, 2, 1, NULL}, {POLICY_RUN, 1, 1, NULL}, {POLICY_RUN, 2, 1, NULL}},
         3},
        {"come first", {{POLICY_RUN, 1, 1, NULL}, {POLICY_PREEMPT, 5, 0, NULL}}, 2},
        {"isn't running", {{POLICY_PREEMPT, 1, 0, NULL}}, 1},
        {"is running already", {{POLICY_REJECT, 5, 0, "no"}}, 1},
        {"without a reason", {{POLICY_REJECT, 1, 0, NULL}}, 1},
        {"at least 1 is needed", {{POLICY_RUN, 1, 0, NULL}}, 1},
        {"only 10 are left", {{POLICY_RUN, 1, 11, NULL}}, 1},
        {"budget of one iteration is 30", {{POLICY_RUN, 3, 31, NULL}}, 1},
        {"batch positions; there are 2", {{POLICY_RUN, 1, 1, NULL}, {POLICY_RUN, 2, 1, NULL}}, 2},
        {"1 more KV blocks", {{POLICY_RUN, 3, 17, NULL}}, 1},
        {"unknown action", {{(enum policy_verb)7, 1, 1, NULL}}, 1},
    };
    static const struct policy_request waiting[] = {{.id = 1, .prompt_tokens = 10},
                                                    {.id = 2, .prompt_tokens = 10},
                                                    {.id = 3, .prompt_tokens = 50}};
    static const struct policy_request running[] = {
        {.id = 5, .prompt_tokens = 3, .computed_tokens = 3, .generated_tokens = 1, .kv_blocks = 1}};
    struct policy_view view = {.waiting = waiting,
                               .n_waiting = 3,
                               .running = running,
                               .n_running = 1,
                               .free_kv_blocks = 1,
                               .token_budget = 30,
                               .max_running = 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy_action actions[3];
        memcpy(actions, cases[i].actions, sizeof actions);
        struct policy_plan plan = {.actions = actions, .n_actions = cases[i].n, .cap_actions = 3};
        struct err e = {0};
        view.free_kv_blocks =
            strstr(cases[i].says, "budget") || strstr(cases[i].says, "positions") ? 100 : 1;
        ck_assert_int_eq(policy_check(&view, &plan, &e), -1);
        ck_assert_msg(strstr(e.text, cases[i].says), "case %zu says: %s", i, e.text);
    }
    struct policy_plan plan = {.actions = NULL, .n_actions = 4, .cap_actions = 3};
    struct err e;
    ck_assert_int_eq(policy_check(&view, &plan, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "into room for 3"));
}
END_TEST

int main(void) {
    Suite *s = suite_create("policy check");
    TCase *t = tcase_create("check");
    tcase_add_test(t, random_plans_are_judged_as_the_rules_say);
    tcase_add_test(t, each_broken_rule_has_its_message);
    suite_add_tcase(s, t);
    return check_main(s);
}
