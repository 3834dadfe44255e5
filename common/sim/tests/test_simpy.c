/* test_simpy.c: our simulator against departures that SimPy computed (simpy_golden.txt, made by
 * check_simpy.py): equal to the nanosecond.
 *
 * The golden file: for each case a line "case POLICY KIND SETUP_NS PER_NS FIXED_PS CONTEXT_PS
 * TOKEN_PS OVERHEAD_NS BUDGET POSITIONS N", then N lines "ARRIVAL_NS PROMPT OUTPUT SERVICE_NS
 * DEPARTURE_NS". */
#include "simulate.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST = 64 };

static struct cost_model cost_of(const char *kind, const int64_t *x) {
    if (!strcmp(kind, "service")) return (struct cost_model){.kind = COST_SERVICE};
    if (!strcmp(kind, "request"))
        return (struct cost_model){
            .kind = COST_PER_REQUEST, .setup_ns = x[0], .per_request_ns = x[1]};
    return (struct cost_model){.kind = COST_TRANSFORMER,
                               .memory_fixed_ps = x[2],
                               .memory_per_context_ps = x[3],
                               .compute_per_token_ps = x[4],
                               .overhead_ns = x[5]};
}

static void compare(const struct setting *set, const struct sim_request *list,
                    const int64_t *departure_ns, size_t n) {
    struct run run = run_list(set, list, n);
    check_invariants(&run, n, 0);
    for (size_t i = 0; i < n; i++) {
        const struct sim_outcome *o = &run.outcomes[i];
        ck_assert_msg(o->completion_ns == departure_ns[o->request.id],
                      "%s, request %" PRId64 ": got %" PRId64 ", SimPy says %" PRId64, set->policy,
                      o->request.id, o->completion_ns, departure_ns[o->request.id]);
    }
    run_free(&run);
}

/* Reads one case and compares. False at the end of the file. */
static bool next_case(FILE *file) {
    char policy[32], kind[32];
    int64_t x[6];
    struct setting set = {.policy = policy};
    int n = 0;
    int got = fscanf(file,
                     "case %31s %31s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                     " %" SCNd64 " %d %d %d ",
                     policy, kind, x, x + 1, x + 2, x + 3, x + 4, x + 5, &set.token_budget,
                     &set.max_running, &n);
    if (got == EOF) return false;
    ck_assert_int_eq(got, 11);
    ck_assert(n > 0 && n <= MOST);
    set.cost = cost_of(kind, x);
    struct sim_request list[MOST] = {0};
    int64_t departure_ns[MOST];
    for (int i = 0; i < n; i++) {
        struct sim_request *r = &list[i];
        r->id = i;
        ck_assert_int_eq(fscanf(file, "%" SCNd64 " %d %d %" SCNd64 " %" SCNd64 " ", &r->arrival_ns,
                                &r->prompt_tokens, &r->output_tokens, &r->service_ns,
                                &departure_ns[i]),
                         5);
        r->max_output_tokens = r->output_tokens;
    }
    compare(&set, list, departure_ns, (size_t)n);
    return true;
}

START_TEST(departures_equal_those_of_simpy) {
    FILE *file = fopen("common/sim/tests/simpy_golden.txt", "r");
    ck_assert_msg(file != NULL, "simpy_golden.txt isn't there; run from the top folder");
    int cases = 0;
    while (next_case(file)) cases++;
    ck_assert_int_eq(cases, 10);
    fclose(file);
}
END_TEST

int main(void) {
    Suite *s = suite_create("SimPy");
    TCase *t = tcase_create("simpy");
    tcase_add_test(t, departures_equal_those_of_simpy);
    suite_add_tcase(s, t);
    return check_main(s);
}
