/* test_fuzz_objective.c: some thousand fixed mutations of objectives, for `make test`. */
#include "fuzz_objective.c"

#include "testing/check_main.h"

static const char *const seeds[] = {
    "{\"schema\":\"servelab.objective.v1\",\"name\":\"n\",\"kind\":\"serving\"}",
    "{\"schema\":\"servelab.objective.v1\",\"name\":\"n\",\"kind\":\"serving\",\"latency\":["
    "{\"interval\":\"client_ttft\",\"percentile\":99.9,\"below_ms\":800,\"scope\":\"population\"},"
    "{\"interval\":\"e2e\",\"below_ms\":0.5,\"scope\":\"request\"}],"
    "\"throughput\":{\"min_rps\":10,\"offered_rps\":12}}",
    "{\"schema\":\"servelab.objective.v1\",\"name\":\"n\",\"kind\":\"training\","
    "\"quality\":{\"check\":\"c/1\",\"min_pass_rate\":0.95},"
    "\"structure\":{\"check\":\"tool-call/1\",\"required\":true},\"truncation\":\"fixed_length\","
    "\"reliability\":{\"max_failure_rate\":0.001,\"failures\":[\"rejected\",\"timed_out\"],"
    "\"max_recovery_s\":30},\"resource\":{\"primary\":\"usd\",\"accelerators\":1,"
    "\"usd_per_accelerator_hour\":2.5,\"reserve_fraction\":0.35,\"count_idle\":true},"
    "\"hard_limits\":{\"gpu_memory_gib\":80,\"joules_per_response\":null},"
    "\"workload\":{\"anything\":[1,{}]}}",
};

START_TEST(any_bytes_are_refused_or_within_bounds) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 31);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_objective");
    TCase *t = tcase_create("fuzz_objective");
    tcase_add_test(t, any_bytes_are_refused_or_within_bounds);
    suite_add_tcase(s, t);
    return check_main(s);
}
