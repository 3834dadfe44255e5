/* test_lab02_evidence.c: lab 02's findings.json and protocol.json: the reference's are complete,
 * and each of many bad ones is refused by the right check, with the field, the line and a reason.
 */
#include "core/collect.h"
#include "lab02/evidence_findings.h"
#include "lab02/evidence_protocol.h"
#include "lab02/lab02.h"

#include "testing/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFERENCE "solutions/02_queue_sim"

static const char *const checks[] = {"findings_valid", "findings_numbers",  "findings_answers",
                                     "protocol_valid", "protocol_complete", "protocol_consistent"};
enum { N_CHECKS = 6 };

static const char *file_of(const char *check) {
    return check[0] == 'f' ? "findings.json" : "protocol.json";
}

static struct evidence examine_text(const char *check, const char *text, size_t n) {
    char folder[] = "/tmp/servelab-test-XXXXXX", path[100], id[64];
    struct evidence got = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, file_of(check));
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
    snprintf(id, sizeof id, "evidence.%s", check);
    struct check_def def = {.id = id, .kind = CHECK_EVIDENCE, .file = file_of(check)};
    lab02_examine(&def, folder, &got);
    unlink(path);
    rmdir(folder);
    return got;
}

static char *reference(const char *name) {
    size_t n;
    char *text = collect_read(REFERENCE, name, 1 << 20, &n);
    ck_assert_msg(text, "%s: run this test from the project's folder", name);
    return text;
}

/* The reference's file with the first `from` after `behind` replaced by `to`; *line is its line. */
static char *edited(const char *file, const char *behind, const char *from, const char *to,
                    int *line) {
    char *text = reference(file), *start = strstr(text, behind);
    char *at = start ? strstr(start, from) : NULL;
    ck_assert_msg(at != NULL, "%s: no '%s' behind '%s'", file, from, behind);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    *line = 1;
    for (const char *p = text; p < at; p++) *line += *p == '\n';
    free(text);
    return out;
}

START_TEST(the_reference_is_whole) {
    for (int i = 0; i < N_CHECKS; i++) {
        char *text = reference(file_of(checks[i]));
        struct evidence got = examine_text(checks[i], text, strlen(text));
        ck_assert_msg(got.outcome == OUTCOME_EARNED, "%s: %s", checks[i], got.message);
        free(text);
    }
}
END_TEST

START_TEST(the_starters_are_not_attempted) {
    static const char *const first[] = {"conclusion", "question"};
    for (int i = 0; i < N_CHECKS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.starter", file_of(checks[i]));
        char *text = reference(name);
        struct evidence got = examine_text(checks[i], text, strlen(text));
        ck_assert(got.outcome == OUTCOME_NOT_RUN && got.todo);
        ck_assert_msg(strstr(got.message, first[i / 3]) != NULL, "%s", got.message);
        free(text);
    }
}
END_TEST

/* ---- one thing wrong ---- */

struct bad {
    const char *check, *behind, *from, *to;
    const char *field, *says; /* what the message must contain */
};

/* clang-format off */
static const struct bad findings[] = {
    {"findings_valid", "", "findings.v1", "findings.v2", "schema", "not a known value"},
    {"findings_valid", "", "\"arrivals_ms\"", "\"arrival_ms\"", "arrival_ms", "nearest one is \"arrivals_ms\""},
    {"findings_valid", "", "[0, 1, 2, 3]", "[0, 1, 2, 4]", "arrivals_ms", "0, 1, 2, 3"},
    {"findings_valid", "", "[0, 1, 2, 3]", "[0, 1, 3, 2]", "arrivals_ms[3]", "sort them"},
    {"findings_valid", "", "[0, 1, 2, 3]", "[0, 1, \"2\", 3]", "arrivals_ms[2]", "must be a number"},
    {"findings_valid", "", "\"per_request_ms\": 1,", "\"per_request_ms\": 2,", "per_request_ms", "only the set-up varies"},
    {"findings_valid", "", "\"per_request_ms\": 1,", "", "per_request_ms", "is missing"},
    {"findings_valid", "\"setup_ms\": 2", "2", "5", "runs", "no run with a set-up of 2 ms"},
    {"findings_valid", "\"setup_ms\": 1", "1", "0", "runs[3]", "same setup_ms as runs[2]"},
    {"findings_valid", "\"setup_ms\": 1", "1", "4.0000001", "runs[3]", "same setup_ms as runs[0]"},
    {"findings_valid", "\"setup_ms\": 1", "1", "-1", "runs[3].setup_ms", "from 0 to 1000"},
    {"findings_valid", "\"setup_ms\": 1", "1", "1e9", "runs[3].setup_ms", "from 0 to 1000"},
    {"findings_valid", "", "363.64", "null", "runs[0].wait_for_n_4.throughput_rps", "must be a number"},
    {"findings_valid", "", "363.64", "\"363.64\"", "runs[0].wait_for_n_4.throughput_rps", "must be a number"},
    {"findings_valid", "", "363.64", "NaN", "", "NaN"},
    {"findings_valid", "", "\"first_waits_longer\": true", "\"first_waits_longer\": \"yes\"", "runs[0].first_waits_longer", "true or false"},
    {"findings_valid", "", "\"first_latency_ms\": 5", "\"first_ms\": 5", "runs[0].single.first_ms", "nearest one is \"first_latency_ms\""},
    {"findings_valid", "", "\"conclusion\"", "\"result\": 1, \"conclusion\"", "result", "not a known member"},
    {"findings_valid", "", "\"break_even_setup_ms\": 3", "\"break_even_setup_ms\": null", "break_even_setup_ms", "must be a number"},
    {"findings_valid", "", ",\n    {\n      \"setup_ms\": 1,\n      \"single\": {\"mean_latency_ms\": 3.5, \"first_latency_ms\": 2, \"throughput_rps\": 500},\n      \"wait_for_n_4\": {\"mean_latency_ms\": 6.5, \"first_latency_ms\": 8, \"throughput_rps\": 500},\n      \"batching_lowers_mean\": false,\n      \"batching_raises_throughput\": false,\n      \"first_waits_longer\": true\n    }\n", "\n", "runs", "one more"},
    {"findings_numbers", "", "\"mean_latency_ms\": 11", "\"mean_latency_ms\": 10", "runs[0].single.mean_latency_ms", "--policy single --setup-ms 4"},
    {"findings_numbers", "", "\"mean_latency_ms\": 11", "\"mean_latency_ms\": 11.01", "runs[0].single.mean_latency_ms", "simulator"},
    {"findings_numbers", "\"setup_ms\": 2", "\"first_latency_ms\": 9", "\"first_latency_ms\": 6", "runs[1].wait_for_n_4.first_latency_ms", "--policy wait-for-n:4 --setup-ms 2"},
    {"findings_numbers", "", "571.43", "571.42", "runs[2].wait_for_n_4.throughput_rps", "simulator"},
    {"findings_numbers", "", "\"throughput_rps\": 1000", "\"throughput_rps\": 1", "runs[2].single.throughput_rps", "simulator"},
    /* another set-up is simulated as stated: the numbers now belong to a different one */
    {"findings_numbers", "\"setup_ms\": 1", "1", "1.5", "runs[3].single.mean_latency_ms", "(and 1 more)"},
    {"findings_answers", "", "\"batching_lowers_mean\": true", "\"batching_lowers_mean\": false", "runs[0].batching_lowers_mean", "set-up of 4 ms"},
    {"findings_answers", "\"setup_ms\": 2", "\"batching_lowers_mean\": false", "\"batching_lowers_mean\": true", "runs[1].batching_lowers_mean", "set-up of 2 ms"},
    {"findings_answers", "\"setup_ms\": 2", "\"batching_raises_throughput\": true", "\"batching_raises_throughput\": false", "runs[1].batching_raises_throughput", "disagrees"},
    {"findings_answers", "\"setup_ms\": 1", "\"batching_raises_throughput\": false", "\"batching_raises_throughput\": true", "runs[3].batching_raises_throughput", "disagrees"},
    {"findings_answers", "\"setup_ms\": 0", "\"first_waits_longer\": true", "\"first_waits_longer\": false", "runs[2].first_waits_longer", "disagrees"},
    {"findings_answers", "", "\"break_even_setup_ms\": 3", "\"break_even_setup_ms\": 2.9", "break_even_setup_ms", "differ"},
    {"findings_answers", "\"conclusion\"", "throughput", "speed", "conclusion", "throughput"},
    {"findings_answers", "", "Above 1 ms of set-up the group raises the throughput, but only above 3 ms does it also lower the mean latency, and the first request pays with its own wait for the others in every case.", "throughput latency throughput latency throughput", "conclusion", "no sentence"},
};

static const struct bad protocols[] = {
    {"protocol_valid", "", "protocol.v1", "protocol.v9", "schema", "not a known value"},
    {"protocol_valid", "", "\"question\"", "\"questoin\"", "questoin", "nearest one is \"question\""},
    {"protocol_valid", "", "\"factor\": \"policy\"", "\"factor\": \"batch\"", "varied.factor", "not a known value"},
    {"protocol_valid", "", "\"factor\": \"policy\"", "\"factor\": \"gpu\"", "fixed.policy", "is missing"},
    {"protocol_valid", "", "[\"static:8\", \"learner\"]", "[\"learner\"]", "varied.values", "2 to 8 entries"},
    {"protocol_valid", "", "[\"static:8\", \"learner\"]", "[\"static:8\", 7]", "varied.values[1]", "must be a text"},
    {"protocol_valid", "", "\"token_budget\": 2048", "\"token_budget\": [512, 2048]", "fixed.token_budget", "two things vary"},
    {"protocol_valid", "", "\"kv_blocks\": 6500,", "", "fixed.kv_blocks", "is missing"},
    {"protocol_valid", "", "\"kv_blocks\": 6500", "\"kv_blocks\": 0.5", "fixed.kv_blocks", "from 1"},
    {"protocol_valid", "", "\"weight_bits\": 16", "\"weight_bits\": 16.5", "fixed.weight_bits", "whole number"},
    {"protocol_valid", "", "\"cold\"", "\"cool\"", "prompts.cache_state", "nearest one is \"cold\""},
    {"protocol_valid", "", "\"fixed_length\"", "\"as_it_comes\"", "output.rule", "not a known value"},
    {"protocol_valid", "\"output\"", "128", "\"128\"", "output.tokens", "must be a number"},
    {"protocol_valid", "", "[1, 2, 4, 8, 16, 32, 64]", "[1, 2, 4.5]", "load.concurrency[2]", "whole number"},
    {"protocol_valid", "", "[1, 2, 4, 8, 16, 32, 64]", "[0, 2, 4]", "load.concurrency[0]", "from 1"},
    {"protocol_valid", "", "\"closed\"", "\"half-open\"", "load.loop", "not a known value"},
    {"protocol_valid", "\"warm_up\"", "\"by_arrival\"", "null", "warm_up.stragglers", "one of: by_arrival"},
    {"protocol_valid", "", "\"count\": 5", "\"count\": 0", "repeats.count", "from 1"},
    {"protocol_valid", "", "\"timed_out\"", "\"rejected\"", "failures.counted[1]", "twice"},
    {"protocol_valid", "", "\"timed_out\"", "\"slow\"", "failures.counted[1]", "not a known value"},
    {"protocol_valid", "", "\"percentile\": 99}", "\"percentile\": 100}", "percentiles[1].percentile", "from 0.1"},
    {"protocol_valid", "", "\"e2e\"", "\"latency\"", "percentiles[4].interval", "not a known value"},
    {"protocol_valid", "", "\"timeout_s\": 60", "\"timeout_s\": 1e999", "", "a number"},
    {"protocol_valid", "", "\"retries\": 0", "\"retries\": 0, \"retries\": 1", "failures.retries", "twice"},
    {"protocol_valid", "\"decision\"", "\"rule\": \"", "\"rule\": \" ", "decision.rule", "blank space"},
    {"protocol_valid", "", "\"result\": null", "\"result\": null}, {", "", "protocol.json:"},

    {"protocol_complete", "", "same server?", "same server.", "question", "question mark"},
    {"protocol_complete", "", "same server?", "same server.\342\200\235", "question", "question mark"},
    {"protocol_complete", "", "Up to which concurrency do the policies static:8 and learner hold both limits on the same server?", "xxxxxxxxxxxxxxxxxxxxxxx?", "question", "no sentence"},
    {"protocol_complete", "", "The highest level at which both p99 are below their limits in all five repeats; the policies differ if those levels do.", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "decision.rule", "no sentence"},
    {"protocol_complete", "", "[1, 2, 4, 8, 16, 32, 64]", "[1, 64]", "load.concurrency", "at least 3"},
    {"protocol_complete", "\"warm_up\"", "200", "0", "warm_up.requests", "empty server"},
    {"protocol_complete", "\"warm_up\"", "\"by_arrival\"", "\"dropped\"", "warm_up.stragglers", "prefers short requests"},
    {"protocol_complete", "", "\"count\": 5, \"seeds\": [11, 12, 13, 14, 15]", "\"count\": 2, \"seeds\": [1, 2]", "repeats.count", "fewer than 3"},
    {"protocol_complete", "", "\"range\"", "\"none\"", "repeats.spread", "noise"},
    {"protocol_complete", "", "\"timed_out\", ", "", "failures.counted", "timed_out"},
    {"protocol_complete", "", "\"client_ttft\", \"percentile\": 99", "\"client_ttft\", \"percentile\": 95", "percentiles", "first token at p99"},
    {"protocol_complete", "", "\"tpot\", \"percentile\": 99", "\"tpot\", \"percentile\": 90", "percentiles", "per output token"},

    {"protocol_consistent", "", "\"fixed\": {", "\"fixed\": {\"policy\": \"static:8\",", "fixed.policy", "varied.factor varies it"},
    {"protocol_consistent", "", "\"static:8\"", "\"learner\"", "varied.values[1]", "nothing varies"},
    {"protocol_consistent", "", "\"same_for_every_run\": true", "\"same_for_every_run\": false", "prompts.same_for_every_run", "vary together with policy"},
    {"protocol_consistent", "", "\"count\": 1400", "\"count\": 100", "prompts.count", "cold"},
    {"protocol_consistent", "", "\"tokens\": 128", "\"tokens\": null", "output.tokens", "which length"},
    {"protocol_consistent", "", "\"stop_token_ends\": false", "\"stop_token_ends\": true", "output.stop_token_ends", "before the fixed length"},
    {"protocol_consistent", "", "\"max_tokens\": 128", "\"max_tokens\": 256", "output.max_tokens", "fixed length is 128"},
    {"protocol_consistent", "", "\"tokens\": 128, \"stop_token_ends\": false, \"max_tokens\": 128", "\"tokens\": 1, \"stop_token_ends\": false, \"max_tokens\": 1", "output.tokens", "one token"},
    {"protocol_consistent", "", "\"in_band_error\"", "\"truncated\"", "failures.counted", "ends at its limit"},
    {"protocol_consistent", "", "\"rule\": \"fixed_length\", \"tokens\": 128, \"stop_token_ends\": false", "\"rule\": \"until_stop\", \"tokens\": null, \"stop_token_ends\": true", "failures.counted", "cut short"},
    {"protocol_consistent", "", "\"rule\": \"fixed_length\"", "\"rule\": \"until_stop\"", "output.tokens", "leaves the length open"},
    {"protocol_consistent", "", "\"offered_rps\": null", "\"offered_rps\": [1, 2, 3]", "load.offered_rps", "answers set it"},
    {"protocol_consistent", "", "\"arrivals\": null", "\"arrivals\": \"poisson\"", "load.arrivals", "when they are answered"},
    {"protocol_consistent", "", "[1, 2, 4, 8, 16, 32, 64]", "null", "load.concurrency", "how many clients"},
    {"protocol_consistent", "", "\"think_s\": 0", "\"think_s\": null", "load.think_s", "0 is an answer"},
    {"protocol_consistent", "", "\"closed\"", "\"open\"", "load.offered_rps", "at which rates"},
    {"protocol_consistent", "", "\"loop\": \"closed\",\n    \"concurrency\": [1, 2, 4, 8, 16, 32, 64],\n    \"think_s\": 0,\n    \"offered_rps\": null", "\"loop\": \"open\", \"concurrency\": null, \"think_s\": null, \"offered_rps\": [1, 2, 3]", "load.arrivals", "how do requests arrive"},
    {"protocol_consistent", "", "\"loop\": \"closed\",\n    \"concurrency\": [1, 2, 4, 8, 16, 32, 64],\n    \"think_s\": 0,\n    \"offered_rps\": null,\n    \"arrivals\": null", "\"loop\": \"open\", \"concurrency\": [4], \"think_s\": null, \"offered_rps\": [1, 2, 3], \"arrivals\": \"poisson\"", "load.concurrency", "in an open loop that can't be fixed"},
    {"protocol_consistent", "", "\"loop\": \"closed\",\n    \"concurrency\": [1, 2, 4, 8, 16, 32, 64],\n    \"think_s\": 0,\n    \"offered_rps\": null,\n    \"arrivals\": null", "\"loop\": \"open\", \"concurrency\": null, \"think_s\": null, \"offered_rps\": [1, 3, 2], \"arrivals\": \"gamma\"", "load.offered_rps[2]", "from low to high"},
    {"protocol_consistent", "", "[1, 2, 4, 8, 16, 32, 64]", "[1, 4, 2, 64]", "load.concurrency[2]", "from low to high"},
    {"protocol_consistent", "", "[1, 2, 4, 8, 16, 32, 64]", "[1, 4, 4, 64]", "load.concurrency[2]", "each level once"},
    {"protocol_consistent", "\"warm_up\"", "200", "1200", "warm_up.requests", "nothing is left"},
    {"protocol_consistent", "\"warm_up\"", "200", "20", "warm_up.requests", "64 clients begin at once"},
    {"protocol_consistent", "", "[1, 2, 4, 8, 16, 32, 64]", "[1, 2, 1100]", "load.requests_per_level", "fewer than the 1100"},
    {"protocol_consistent", "", "\"counted\": false", "\"counted\": true", "warm_up.counted", "is none"},
    {"protocol_consistent", "", "\"count\": 5", "\"count\": 4", "repeats.seeds", "5 seeds for 4"},
    {"protocol_consistent", "", "13, 14", "13, 13", "repeats.seeds[3]", "same run twice"},
    {"protocol_consistent", "", "\"count\": 5, \"seeds\": [11, 12, 13, 14, 15]", "\"count\": 1, \"seeds\": [1]", "repeats.spread", "one repeat has none"},
    {"protocol_valid", "", "\"weight_bits\": 16", "\"weight_bits\": 999", "fixed.weight_bits", "from 1 to 64"},
    {"protocol_consistent", "", "\"ttft_below_ms\": 2000", "\"ttft_below_ms\": 2", "decision.ttft_below_ms", "is it in seconds?"},
    {"protocol_consistent", "", "\"ttft_below_ms\": 2000", "\"ttft_below_ms\": 2000000", "decision.ttft_below_ms", "ten minutes"},
    {"protocol_consistent", "", "\"tpot_below_ms\": 100", "\"tpot_below_ms\": 0.1", "decision.tpot_below_ms", "is it in seconds?"},
    {"protocol_consistent", "", "\"infinite_latency\"", "\"drop\"", "failures.handling", "look faster"},
    {"protocol_consistent", "", "\"infinite_latency\"", "\"retry_until_done\"", "failures.handling", "slow success"},
    {"protocol_consistent", "", "\"retries\": 0", "\"retries\": 2", "failures.retries", "hidden retries"},
    {"protocol_consistent", "", "\"timeout_s\": 60", "\"timeout_s\": 2", "failures.timeout_s", "nothing could miss"},
    {"protocol_consistent", "", "\"client_ttft\", \"percentile\": 50", "\"client_ttft\", \"percentile\": 99", "percentiles[1]", "once more"},
    {"protocol_consistent", "", "\"requests_per_level\": 1200", "\"requests_per_level\": 299", "percentiles[1]", "under 100"},
    {"protocol_consistent", "\"e2e\"", "99", "99.95", "percentiles[4]", "under 2000"},
    {"protocol_consistent", "", "\"result\": null", "\"result\": \"learner is twice as fast\"", "result", "before anything was measured"},
};
/* clang-format on */

static void refused(const struct bad *b) {
    int line;
    char *text = edited(file_of(b->check), b->behind, b->from, b->to, &line);
    struct evidence got = examine_text(b->check, text, strlen(text));
    ck_assert_msg(got.outcome == OUTCOME_LOST, "'%s' -> '%s': outcome %d, %s", b->from, b->to,
                  got.outcome, got.message);
    ck_assert_msg(strstr(got.message, b->says) != NULL, "'%s' -> '%s' says: %s", b->from, b->to,
                  got.message);
    char place[200]; /* "FILE:LINE: FIELD: TEXT" */
    snprintf(place, sizeof place, ": %s: ", b->field);
    ck_assert_msg(!b->field[0] || strstr(got.message, place) != NULL,
                  "'%s' -> '%s' names no %s: %s", b->from, b->to, b->field, got.message);
    int told = 0;
    ck_assert_msg(sscanf(got.message + strlen(file_of(b->check)), ":%d:", &told) == 1 && told >= 1,
                  "no line: %s", got.message);
    /* after a fault of the form the file's other checks are not run; any other fault leaves the
     * form's points */
    for (int i = 0; i < N_CHECKS; i++) {
        if (file_of(checks[i]) != file_of(b->check) || !strcmp(checks[i], b->check)) continue;
        struct evidence other = examine_text(checks[i], text, strlen(text));
        bool form = strstr(b->check, "_valid") != NULL;
        if (strstr(checks[i], "_valid"))
            ck_assert_msg(other.outcome == OUTCOME_EARNED, "%s: %s", checks[i], other.message);
        else if (form)
            ck_assert_msg(other.outcome == OUTCOME_NOT_RUN || other.outcome == OUTCOME_LOST,
                          "%s: %s", checks[i], other.message);
    }
    free(text);
}

START_TEST(bad_findings_are_refused) {
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) refused(&findings[i]);
}
END_TEST

START_TEST(bad_protocols_are_refused) {
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) refused(&protocols[i]);
}
END_TEST

/* The message has the line of the fault. */
START_TEST(lines_are_right) {
    static const struct bad some[] = {
        {"findings_valid", "", "363.64", "null", "", ""},
        {"findings_answers", "", "\"break_even_setup_ms\": 3", "\"break_even_setup_ms\": 7", "",
         ""},
        {"protocol_valid", "", "\"cold\"", "\"cool\"", "", ""},
        {"protocol_consistent", "", "\"max_tokens\": 128", "\"max_tokens\": 256", "", ""},
        {"protocol_consistent", "", "\"arrivals\": null", "\"arrivals\": \"poisson\"", "", ""}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const struct bad *b = &some[i];
        int line;
        char *text = edited(file_of(b->check), b->behind, b->from, b->to, &line), want[80];
        struct evidence got = examine_text(b->check, text, strlen(text));
        snprintf(want, sizeof want, "%s:%d: ", file_of(b->check), line);
        ck_assert_msg(!strncmp(got.message, want, strlen(want)), "%s is not at line %d",
                      got.message, line);
        free(text);
    }
}
END_TEST

/* ---- other right answers ---- */

static const struct bad right[] = {
    {"findings_numbers", "", "363.64", "363.63636363636363", "", ""},
    {"findings_numbers", "", "[0, 1, 2, 3]", "[0,1.0,2,3e0]", "", ""},
    {"findings_answers", "", "\"break_even_setup_ms\": 3", "\"break_even_setup_ms\": 3.001", "",
     ""},
    {"protocol_consistent", "",
     "\"count\": 1400,\n    \"same_for_every_run\": true,\n    \"cache_state\": \"cold\"",
     "\"count\": 8, \"same_for_every_run\": true, \"cache_state\": \"warm\"", "", ""},
    {"protocol_consistent", "", "\"factor\": \"policy\", \"values\": [\"static:8\", \"learner\"]",
     "\"factor\": \"kv_blocks\", \"values\": [1000, 2000]", "", ""}, /* and the policy is fixed */
    {"protocol_complete", "", "\"requests_per_level\": 1200", "\"requests_per_level\": 1", "", ""},
    {"protocol_consistent", "", "\"ttft_below_ms\": 2000", "\"ttft_below_ms\": 50", "", ""},
    {"protocol_consistent", "", "\"tpot_below_ms\": 100", "\"tpot_below_ms\": 2.5", "", ""},
    {"protocol_valid", "", "\"weight_bits\": 16", "\"weight_bits\": 4", "", ""},
    {"protocol_complete", "", "same server?", "same server\357\274\237", "", ""},
    {"protocol_complete", "", "same server?", "same server\330\237", "", ""},
    {"protocol_complete", "", "same server?", "same server?\342\200\235", "", ""},
    {"protocol_complete", "", "same server?", "same server?\302\240\302\273", "", ""},
    {"protocol_complete", "", "same server?", "same server\357\274\237\343\200\215", "", ""},
    {"protocol_complete", "", "same server?", "same server?)", "", ""},
    {"findings_answers", "",
     "Above 1 ms of set-up the group raises the throughput, but only above 3 ms does it also lower "
     "the mean latency, and the first request pays with its own wait for the others in every case.",
     "Throughput rises above 1 ms of set-up. Latencies fall above 3 ms, except the first.", "", ""},
};

START_TEST(other_right_answers_are_right) {
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        const struct bad *b = &right[i];
        int line;
        char *text = edited(file_of(b->check), b->behind, b->from, b->to, &line);
        char *kv = strstr(b->to, "\"kv_blocks\"") ? strstr(text, "\"kv_blocks\": 6500") : NULL;
        if (kv) memcpy(kv, "\"policy\":\"single\"", strlen("\"kv_blocks\": 6500"));
        struct evidence got = examine_text(b->check, text, strlen(text));
        ck_assert_msg(got.outcome == OUTCOME_EARNED, "'%s' -> '%s': %s", b->from, b->to,
                      got.message);
        free(text);
    }
}
END_TEST

START_TEST(an_open_loop_is_as_good) {
    int line;
    char *text =
        edited("protocol.json", "",
               "\"loop\": \"closed\",\n    \"concurrency\": [1, 2, 4, 8, 16, 32, 64],\n    "
               "\"think_s\": 0,\n    \"offered_rps\": null,\n    \"arrivals\": null",
               "\"loop\": \"open\", \"concurrency\": null, \"think_s\": null, "
               "\"offered_rps\": [0.5, 1, 1.5], \"arrivals\": \"poisson\"",
               &line);
    for (int i = 3; i < N_CHECKS; i++) {
        struct evidence got = examine_text(checks[i], text, strlen(text));
        ck_assert_msg(got.outcome == OUTCOME_EARNED, "%s: %s", checks[i], got.message);
    }
    free(text);
}
END_TEST

/* ---- what isn't even JSON, or is too much of it ---- */

START_TEST(hostile_bytes) {
    static const char *const texts[] = {
        "",        "{", "[]", "null", "\"x\"", "3", "{}", "{\"schema\": \"servelab.protocol.v1\"}",
        "\xff\xfe"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < N_CHECKS; k++) {
            struct evidence got = examine_text(checks[k], texts[i], strlen(texts[i]));
            ck_assert(got.outcome == OUTCOME_LOST || got.outcome == OUTCOME_NOT_RUN);
            ck_assert(got.message[0] && !strchr(got.message, '\n'));
        }
    /* a name with terminal escape codes */
    struct evidence got = examine_text("protocol_valid", "{\"\\u001b[31m\\u202e\": 1}", 24);
    ck_assert(got.outcome == OUTCOME_LOST && !strchr(got.message, 0x1b) &&
              !strstr(got.message, "\xe2\x80\xae"));
    /* a list that is far too long */
    size_t n = 600000;
    char *text = malloc(n + 64);
    int len = sprintf(text, "{\"schema\": \"servelab.findings.v1\", \"arrivals_ms\": [");
    while ((size_t)len < n) len += sprintf(text + len, "1,");
    len += sprintf(text + len, "1]}");
    got = examine_text("findings_valid", text, (size_t)len);
    ck_assert(got.outcome == OUTCOME_LOST);
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("lab02_evidence");
    TCase *t = tcase_create("lab02_evidence");
    tcase_add_test(t, the_reference_is_whole);
    tcase_add_test(t, the_starters_are_not_attempted);
    tcase_add_test(t, bad_findings_are_refused);
    tcase_add_test(t, bad_protocols_are_refused);
    tcase_add_test(t, lines_are_right);
    tcase_add_test(t, other_right_answers_are_right);
    tcase_add_test(t, an_open_loop_is_as_good);
    tcase_add_test(t, hostile_bytes);
    suite_add_tcase(s, t);
    return check_main(s);
}
