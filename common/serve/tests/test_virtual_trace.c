/* test_virtual_trace.c: the first 2,000 requests of the Azure conversation trace: the engine in
 * virtual time and the simulator agree on every event, policy by policy. The trace is public data
 * that is not ours to ship: without it the test is skipped. Policies that serve one group at a time
 * take the first 250 unless SERVELAB_SLOW is set.
 */
#include "serve/tests/virtual_compare.h"

#include "workload/workload.h"

#include <unistd.h>

enum { N = 2000 };
static const char trace[] = "../shared/data/traces/AzureLLMInferenceTrace_conv.csv";

START_TEST(azure_conversations) {
    static struct sim_request list[N];
    const struct workload_spec spec = {.arrivals = ARRIVALS_TRACE,

                                       .trace = trace,
                                       .trace_format = TRACE_AZURE,
                                       .requests = N,
                                       .time_scale = 1};
    struct err e;
    struct workload *w = workload_open(&spec, &e);
    ck_assert_msg(w != NULL, "%s: %s", e.field, e.text);
    for (int i = 0; i < N; i++) ck_assert_int_eq(workload_next(w, &list[i], &e), 1);
    struct setting set = {ALL[_i], llama_on("h100"), 7609, 2048, 256, .events = true};
    /* one at a time, the queue of an hour is long and every step looks at all of it: 100 s */
    bool batches = strchr(ALL[_i], ':') == NULL && strcmp(ALL[_i], "single") &&
                   strcmp(ALL[_i], "shortest-first");
    expect_equal(&set, list, batches || getenv("SERVELAB_SLOW") ? N : N / 8);
    workload_close(w);
}
END_TEST

int main(void) {
    if (access(trace, R_OK)) {
        printf("ok 1 - published Azure conversation hour # SKIP no shared test data\n1..1\n");
        return 0;
    }
    tokenizer = fake_tokenizer();
    Suite *s = suite_create("virtual trace");
    TCase *c = tcase_create("trace");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, azure_conversations, 0, N_ALL);
    suite_add_tcase(s, c);
    int rc = check_main(s);
    tokenizer_free(tokenizer);
    return rc;
}
