/* test_fuzz_choice.c: fixed mutations of choice.json and of run files, for `make test`. */
#include "fuzz_choice.c"

#include "testing/check_main.h"

#define POINT(n)                                                                                   \
    "{\"offered_rps\":1,\"window_s\":40,\"requests\":40,\"useful\":" n                             \
    ",\"failed\":0,\"quality_evaluated\":40,\"quality_passed\":" n                                 \
    ",\"percentiles_ms\":[700.5,60],\"stable\":true,\"verdict\":\"met\"}"
static const char *const seeds[] = {
    "{\"schema\":\"servelab.choice.v1\",\"points\":[" POINT("39") "," POINT("38") "," POINT(
        "37") "],"
              "\"chosen\":0,\"useful_rps\":0.975,\"why\":\"the highest load within limits\","
              "\"refused\":[{\"point\":1,\"because\":\"less_useful\",\"why\":\"as it is less "
              "useful\"},"
              "{\"point\":2,\"because\":\"latency\",\"why\":\"it takes too long\"}],"
              "\"not_known\":[\"what p99 is, of forty\"]}",
    "{\"workload\":{\"arrivals\":\"poisson\",\"requests\":3,\"rate_rps\":4,\"seed\":1,"
    "\"prompt_tokens\":{\"lo\":512,\"hi\":512},\"output_tokens\":{\"lo\":1,\"hi\":8}},"
    "\"schedule\":{\"first_t_ns\":5,\"duration_s\":2},\"lag\":{\"median_ttft_ns\":1}}",
    "{\"workload\":{\"arrivals\":\"gamma\",\"requests\":null,\"rate_rps\":1e-3,\"cv\":4,\"seed\":1}"
    ","
    "\"schedule\":{\"first_t_ns\":5,\"duration_s\":null}}",
    "{\"workload\":{\"arrivals\":\"on-off\",\"rate_rps\":1e3,\"on_s\":1,\"off_s\":2,\"seed\":1},"
    "\"schedule\":{\"first_t_ns\":5,\"duration_s\":0.001}}",
};

START_TEST(any_bytes_are_refused_or_judged) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 20000, 37);
}
END_TEST

/* The seed of this fuzz test is one that is read. */
START_TEST(a_choice_in_its_form_is_judged) {
    struct objective o = {.n_latency = 2,
                          .latency = {{.scope = SCOPE_POPULATION, .below_ns = 800000000},
                                      {.scope = SCOPE_POPULATION, .below_ns = 80000000}}};
    struct evidence out[2] = {0};
    struct err e = {0};
    cJSON *doc = json_parse(seeds[0], strlen(seeds[0]), 1, &e);
    ck_assert_ptr_nonnull(doc);
    ck_assert_msg(lab04_examine_choice(doc, &o, out, &e) == 0, "%s: %s", e.field, e.text);
    ck_assert_int_eq(out[0].outcome, OUTCOME_LOST); /* no load on the other side of the limit */
    ck_assert_int_eq(out[1].outcome, OUTCOME_LOST); /* point 2 meets the latency */
    cJSON_Delete(doc);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_choice");
    TCase *t = tcase_create("fuzz_choice");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, any_bytes_are_refused_or_judged);
    tcase_add_test(t, a_choice_in_its_form_is_judged);
    suite_add_tcase(s, t);
    return check_main(s);
}
