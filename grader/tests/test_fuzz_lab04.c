/* test_fuzz_lab04.c: fixed mutations of lab 04's cases, of a machine's configuration and of an
 * engine's queries, for `make test`. */
#include "fuzz_lab04.c"
#include "lab04/lab04.h"
#include "tests/fuzz_bytes.h"

START_TEST(cases) {
    fuzz_cases(&lab04);
}
END_TEST

/* One request of three tokens, and the queries of an engine that answers it. */
static size_t make_play(int64_t *v, int which) {
    static struct machine_config c;
    struct rng rng;
    rng_seed(&rng, (uint64_t)which);
    lab04_make_workload(&rng, JUDGE_TOKENS + which % 8, &c);
    size_t n = machine_config_write(&c, false, v + 1);
    v[0] = (int64_t)n | INT64_C(63) << 32;
    int64_t *q = v + 1 + n;
    const int64_t head[] = {MACHINE_STEP, 0, 0, 0, 1, c.request[0].n_prompt % 40, 0, 1, 3};
    memcpy(q, head, sizeof head);
    for (int k = 0; k < c.request[0].n_prompt % 40; k++) q[9 + k] = c.request[0].prompt[k];
    for (int k = 0; k < 3; k++) q[9 + c.request[0].n_prompt % 40 + k] = k;
    return 1 + n + 63;
}

START_TEST(machines) {
    static int64_t v[4096];
    for (int which = 0; which < 24; which++) {
        memset(v, 0, sizeof v);
        size_t n = make_play(v, which);
        struct rng rng;
        rng_seed(&rng, 1000 + (uint64_t)which);
        LLVMFuzzerTestOneInput((const uint8_t *)v, n * 8);
        for (int i = 0; i < 400; i++) {
            static int64_t w[4096];
            memcpy(w, v, n * 8);
            for (int k = 0; k < 3; k++) { /* an odd number, mostly behind the configuration */
                uint64_t at = rng_below(&rng, 4) ? n - 1 - rng_below(&rng, 63) : rng_below(&rng, n);
                w[at] = rng_below(&rng, 2) ? (int64_t)rng_below(&rng, 200) - 20
                                           : (int64_t)rng_next(&rng);
            }
            LLVMFuzzerTestOneInput((const uint8_t *)w, n * 8);
        }
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_lab04");
    TCase *t = tcase_create("fuzz_lab04");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, cases);
    tcase_add_test(t, machines);
    suite_add_tcase(s, t);
    return check_main(s);
}
