/* test_objective.c: what the objective's reader understands, and what it refuses by name. */
#include "base/json.h"
#include "objective/objective.h"
#include "record/tests/null_members.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define HEAD "{\"schema\": \"servelab.objective.v1\", \"name\": \"n\", \"kind\": \"serving\""

static int read_text(struct objective *o, const char *text, struct err *e) {
    cJSON *doc = json_parse(text, strlen(text), 1, e);
    ck_assert_msg(doc != NULL, "%s", e->text);
    int rc = objective_from_json(o, doc, e);
    cJSON_Delete(doc);
    return rc;
}

/* Every member once. */
static const char whole[] =
    HEAD ", \"unit_of_work\": \"useful_response\","
         "\"quality\": {\"check\": \"key-recall/1\", \"min_pass_rate\": 0.95},"
         "\"structure\": {\"check\": \"tool-call/1\", \"required\": false},"
         "\"truncation\": \"reject\","
         "\"latency\": [{\"interval\": \"client_ttft\", \"percentile\": 99, \"below_ms\": 800, "
         "\"scope\": \"population\"},"
         "{\"interval\": \"tpot\", \"percentile\": 99.9, \"below_ms\": 0.25, \"scope\": "
         "\"population\"},"
         "{\"interval\": \"e2e\", \"below_ms\": 20000, \"scope\": \"request\"}],"
         "\"throughput\": {\"min_rps\": 10, \"offered_rps\": 12},"
         "\"reliability\": {\"max_failure_rate\": 0.001, \"failures\": [\"internal_error\", "
         "\"in_band_error\", \"timed_out\", \"rejected\"], \"max_recovery_s\": 30},"
         "\"resource\": {\"primary\": \"usd\", \"accelerators\": 1, \"usd_per_accelerator_hour\": "
         "2.5, \"reserve_fraction\": 0.35, \"count_idle\": true},"
         "\"hard_limits\": {\"gpu_memory_gib\": 80, \"joules_per_response\": null},"
         "\"workload\": {\"prompt_tokens\": {\"fixed\": 2048}, \"cache_state\": \"cold\"}}";

START_TEST(the_whole_example_is_read) {
    struct objective o;
    struct err e;
    ck_assert_int_eq(read_text(&o, whole, &e), 0);
    ck_assert_str_eq(o.name, "n");
    ck_assert_int_eq(o.kind, OBJECTIVE_SERVING);
    ck_assert_str_eq(o.quality.check, "key-recall/1");
    ck_assert_double_eq(o.quality.min_pass_rate, 0.95);
    ck_assert_str_eq(o.structure.check, "tool-call/1");
    ck_assert(!o.structure.required);
    ck_assert_int_eq(o.truncation, TRUNCATION_REJECT);
    ck_assert_int_eq(o.n_latency, 3);
    ck_assert_int_eq(o.latency[0].interval, IV_CLIENT_TTFT);
    ck_assert_int_eq(o.latency[0].percentile_milli, 99000);
    ck_assert_int_eq(o.latency[0].below_ns, 800000000);
    ck_assert_int_eq(o.latency[1].percentile_milli, 99900);
    ck_assert_int_eq(o.latency[1].below_ns, 250000);
    ck_assert_int_eq(o.latency[2].scope, SCOPE_REQUEST);
    ck_assert_int_eq(o.latency[2].percentile_milli, 0);
    ck_assert_double_eq(o.throughput.min_rps, 10);
    ck_assert_double_eq(o.throughput.offered_rps, 12);
    ck_assert_int_eq(o.reliability.n_failures, 4);
    ck_assert_str_eq(o.reliability.failures[3], "rejected");
    ck_assert_double_eq(o.reliability.max_failure_rate, 0.001);
    ck_assert_double_eq(o.reliability.max_recovery_s, 30);
    ck_assert_str_eq(o.resource.primary, "usd");
    ck_assert_double_eq(o.resource.usd_per_accelerator_hour, 2.5);
    ck_assert_double_eq(o.resource.reserve_fraction, 0.35);
    ck_assert(o.resource.count_idle);
    ck_assert_double_eq(o.hard_limits.gpu_memory_gib, 80);
    ck_assert(isnan(o.hard_limits.joules_per_response));
    ck_assert_ptr_nonnull(cJSON_GetObjectItem(o.workload, "cache_state"));
    objective_release(&o);
    ck_assert_ptr_null(o.workload);
}
END_TEST

START_TEST(what_is_left_out_is_not_required) {
    struct objective o;
    struct err e;
    ck_assert_int_eq(read_text(&o, HEAD ", \"latency\": null, \"resource\": {}}", &e), 0);
    ck_assert_str_eq(o.unit_of_work, "useful_response");
    ck_assert(isnan(o.quality.min_pass_rate) && isnan(o.reliability.max_failure_rate));
    ck_assert(isnan(o.throughput.min_rps) && isnan(o.throughput.offered_rps));
    ck_assert(isnan(o.resource.accelerators) && isnan(o.resource.usd_per_accelerator_hour));
    ck_assert(isnan(o.hard_limits.gpu_memory_gib) && isnan(o.reliability.max_recovery_s));
    ck_assert_int_eq(o.n_latency, 0);
    ck_assert_double_eq(o.resource.reserve_fraction, 0);
    ck_assert(o.resource.count_idle && !o.structure.required && !o.resource.primary[0]);
    ck_assert_ptr_null(o.workload);
    objective_release(&o);
}
END_TEST

/* All that was read, in one text. */
static const char *in_words(const struct objective *o, char *buf, size_t cap) {
    int n = snprintf(
        buf, cap, "%s %d %s %s %g %s %d %d %g %g %g %d %g %s %g %g %g %d %g %g %d", o->name,
        o->kind, o->unit_of_work, o->quality.check, o->quality.min_pass_rate, o->structure.check,
        o->structure.required, o->truncation, o->throughput.min_rps, o->throughput.offered_rps,
        o->reliability.max_failure_rate, o->reliability.n_failures, o->reliability.max_recovery_s,
        o->resource.primary, o->resource.accelerators, o->resource.usd_per_accelerator_hour,
        o->resource.reserve_fraction, o->resource.count_idle, o->hard_limits.gpu_memory_gib,
        o->hard_limits.joules_per_response, o->workload != NULL);
    for (int i = 0; i < o->n_latency; i++)
        n += snprintf(buf + n, cap - (size_t)n, " %d %d %d %lld", o->latency[i].interval,
                      o->latency[i].scope, o->latency[i].percentile_milli,
                      (long long)o->latency[i].below_ns);
    return buf;
}

static void null_is_absent(const char *with_null, const char *without, const char *name) {
    struct objective a, b;
    struct err x = {0}, y = {0};
    char one[2048], other[2048];
    int rc = read_text(&a, with_null, &x);
    ck_assert_msg(rc == read_text(&b, without, &y), "%s: %s", name, x.text);
    ck_assert_str_eq(x.field, y.field);
    if (rc) return;
    ck_assert_str_eq(in_words(&a, one, sizeof one), in_words(&b, other, sizeof other));
    objective_release(&a);
    objective_release(&b);
}

START_TEST(null_says_the_same_as_leaving_out) {
    cJSON *tree = json_parse(whole, strlen(whole), 1, NULL);
    ck_assert_int_eq(each_null_member(tree, tree, "workload", null_is_absent), 39);
    cJSON_Delete(tree);
}
END_TEST

#define LATENCY(members) HEAD ", \"latency\": [{" members "}]}"
#define P99_E2E                                                                                    \
    "\"interval\": \"e2e\", \"percentile\": 99, \"below_ms\": 5, \"scope\": \"population\""

static const struct {
    const char *json, *field, *says;
} refused[] = {
    {"[1]", "", "object"},
    {"{\"name\": \"n\"}", "schema", "missing"},
    {"{\"schema\": 7}", "schema", "string"},
    {"{\"schema\": \"servelab.objective.v2\"}", "schema", "servelab.objective.v1"},
    {"{\"schema\": \"servelab.objective.v1\", \"kind\": \"serving\"}", "name", "missing"},
    {"{\"schema\": \"servelab.objective.v1\", \"name\": \"n\"}", "kind", "missing"},
    {"{\"schema\": \"servelab.objective.v1\", \"name\": \"\", \"kind\": \"serving\"}", "name",
     "1 to 95 bytes"},
    {"{\"schema\": \"servelab.objective.v1\", \"name\": \"n\", \"kind\": \"servin\"}", "kind",
     "nearest one is \"serving\""},
    {HEAD ", \"latencies\": []}", "latencies", "nearest one is \"latency\""},
    {HEAD ", \"Latency\": []}", "Latency", "nearest one is \"latency\""},
    {HEAD ", \"qualty\": {}}", "qualty", "nearest one is \"quality\""},
    {HEAD ", \"quality\": {\"min_pass_rate\": 0.9}}", "quality.check", "missing"},
    {HEAD ", \"quality\": {\"check\": \"c\", \"min_pass_rat\": 0.9}}", "quality.min_pass_rat",
     "nearest one is \"min_pass_rate\""},
    {HEAD ", \"quality\": {\"check\": \"c\", \"min_pass_rate\": 95}}", "quality.min_pass_rate",
     "from 0 to 1"},
    {HEAD ", \"quality\": {\"check\": \"c\", \"min_pass_rate\": \"0.95\"}}",
     "quality.min_pass_rate", "number"},
    {HEAD ", \"quality\": []}", "quality", "object"},
    {HEAD ", \"structure\": {\"required\": true}}", "structure.check", "name"},
    {HEAD ", \"structure\": {\"required\": 1}}", "structure.required", "true"},
    {HEAD ", \"truncation\": \"allow\"}", "truncation", "nearest"},
    {HEAD ", \"latency\": {}}", "latency", "list"},
    {HEAD ", \"latency\": [7]}", "latency[0]", "object"},
    {LATENCY("\"interval\": \"ttft\", \"percentile\": 99, \"below_ms\": 5, \"scope\": "
             "\"population\""),
     "latency[0].interval", "nearest one is \"tpot\""},
    {LATENCY("\"percentile\": 99, \"below_ms\": 5, \"scope\": \"population\""),
     "latency[0].interval", "missing"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 99, \"below_ms\": 5"), "latency[0].scope",
     "missing"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 99, \"scope\": \"population\""),
     "latency[0].below_ms", "missing"},
    {LATENCY("\"interval\": \"e2e\", \"below_ms\": 5, \"scope\": \"population\""),
     "latency[0].percentile", "missing"},
    {LATENCY("\"interval\": \"e2e\", \"below_ms\": 5, \"scope\": \"request\", \"percentile\": 99"),
     "latency[0].percentile", "one request has no percentile"},
    {LATENCY(P99_E2E ", \"above_ms\": 5"), "latency[0].above_ms", "nearest one is \"below_ms\""},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 0, \"below_ms\": 5, \"scope\": "
             "\"population\""),
     "latency[0].percentile", "above 0"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 100.1, \"below_ms\": 5, \"scope\": "
             "\"population\""),
     "latency[0].percentile", "at most 100"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 99.9999, \"below_ms\": 5, \"scope\": "
             "\"population\""),
     "latency[0].percentile", "three decimals"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 99, \"below_ms\": 0, \"scope\": "
             "\"population\""),
     "latency[0].below_ms", "above 0"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 99, \"below_ms\": 1e-9, \"scope\": "
             "\"population\""),
     "latency[0].below_ms", "1 ns"},
    {LATENCY("\"interval\": \"e2e\", \"percentile\": 99, \"below_ms\": 1e300, \"scope\": "
             "\"population\""),
     "latency[0].below_ms", "9007199254"},
    {LATENCY(P99_E2E "}, {" P99_E2E), "latency[1]", "the same as latency[0]"},
    {HEAD ", \"throughput\": {\"min_rps\": -1}}", "throughput.min_rps", "above 0"},
    {HEAD ", \"throughput\": {\"min_tps\": 1}}", "throughput.min_tps",
     "nearest one is \"min_rps\""},
    {HEAD ", \"reliability\": {\"max_failure_rate\": 1.5}}", "reliability.max_failure_rate",
     "from 0 to 1"},
    {HEAD ", \"reliability\": {\"failures\": \"rejected\"}}", "reliability.failures", "list"},
    {HEAD ", \"reliability\": {\"failures\": [\"delivered\"]}}", "reliability.failures[0]",
     "nearest one is \"not_delivered\""},
    {HEAD ", \"reliability\": {\"failures\": [\"rejected\", \"reject\"]}}",
     "reliability.failures[1]", "nearest one is \"rejected\""},
    {HEAD ", \"reliability\": {\"failures\": [\"rejected\", \"rejected\"]}}",
     "reliability.failures[1]", "twice"},
    {HEAD ", \"reliability\": {\"failures\": [1]}}", "reliability.failures[0]", "text"},
    {HEAD ", \"resource\": {\"primary\": \"eur\"}}", "resource.primary", "nearest one is \"usd\""},
    {HEAD ", \"resource\": {\"reserve_fraction\": 1}}", "resource.reserve_fraction", "below 1"},
    {HEAD ", \"resource\": {\"reserve_fraction\": 35}}", "resource.reserve_fraction", "below 1"},
    {HEAD ", \"resource\": {\"accelerators\": 0}}", "resource.accelerators", "above 0"},
    {HEAD ", \"resource\": {\"usd_per_accelerator_hour\": 0}}", "resource.usd_per_accelerator_hour",
     "above 0"},
    {HEAD ", \"hard_limits\": {\"gpu_memory_gb\": 80}}", "hard_limits.gpu_memory_gb",
     "nearest one is \"gpu_memory_gib\""},
    {HEAD ", \"workload\": []}", "workload", "object"},
    {"{\"schema\": \"servelab.objective.v1\", \"name\": \"n\", \"kind\": \"training\"}",
     "quality.min_pass_rate", "training"},
    {"{\"schema\": \"servelab.objective.v1\", \"name\": \"n\", \"kind\": \"training\", "
     "\"quality\": {\"check\": \"c\", \"min_pass_rate\": 1}}",
     "resource.primary", "training"},
};

START_TEST(what_is_wrong_is_named) {
    struct objective o;
    struct err e = {0};
    ck_assert_int_eq(read_text(&o, refused[_i].json, &e), -1);
    ck_assert_str_eq(e.field, refused[_i].field);
    ck_assert_msg(strstr(e.text, refused[_i].says) != NULL, "%s doesn't say: %s", e.text,
                  refused[_i].says);
    ck_assert_ptr_null(o.workload);
}
END_TEST

START_TEST(seventeen_limits_are_one_too_many) {
    char text[4096] = HEAD ", \"latency\": [";
    struct objective o;
    struct err e;
    for (int i = 1; i <= OBJECTIVE_MAX_LIMITS + 1; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n,
                 "%s{\"interval\": \"e2e\", \"percentile\": %d, \"below_ms\": 5, \"scope\": "
                 "\"population\"}]}",
                 i > 1 ? ", " : "", i);
        ck_assert_int_eq(read_text(&o, text, &e), i <= OBJECTIVE_MAX_LIMITS ? 0 : -1);
        if (i <= OBJECTIVE_MAX_LIMITS) objective_release(&o);
        text[strlen(text) - 2] = '\0';
    }
    ck_assert_str_eq(e.field, "latency[16]");
}
END_TEST

START_TEST(every_percentile_of_three_decimals_is_exact) {
    struct objective o;
    struct err e;
    for (int milli = 1; milli <= 100000; milli += 7) {
        char text[512];
        snprintf(text, sizeof text,
                 LATENCY("\"interval\": \"e2e\", \"percentile\": %d.%03d, \"below_ms\": 5, "
                         "\"scope\": \"population\""),
                 milli / 1000, milli % 1000);
        ck_assert_int_eq(read_text(&o, text, &e), 0);
        ck_assert_int_eq(o.latency[0].percentile_milli, milli);
        objective_release(&o);
    }
}
END_TEST

/* ---- files ---- */

static void write_file(char *path, const char *text) {
    strcpy(path, "/tmp/servelab-objective-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

START_TEST(a_file_is_read_plain_or_inside_an_answer) {
    char path[64];
    struct objective o;
    struct err e;
    write_file(path, HEAD "}");
    ck_assert_int_eq(objective_read(&o, path, &e), 0);
    objective_release(&o);
    unlink(path);
    write_file(path, "{\"schema\": \"servelab.objective-answer.v1\", \"objective\": " HEAD "}, "
                     "\"verdict\": {\"anything\": 1}}");
    ck_assert_int_eq(objective_read(&o, path, &e), 0);
    ck_assert_str_eq(o.name, "n");
    objective_release(&o);
    unlink(path);
}
END_TEST

START_TEST(errors_in_a_file_have_lines) {
    char path[64];
    struct objective o;
    struct err e;
    write_file(path, HEAD ",\n\n \"quality\": {\"check\": \"c\",\n \"min_pass_rate\": 2}}");
    ck_assert_int_eq(objective_read(&o, path, &e), -1);
    ck_assert_str_eq(e.field, "quality.min_pass_rate");
    ck_assert_int_eq(e.line, 4);
    unlink(path);
    write_file(path, "{\"schema\": \"servelab.objective-answer.v1\",\n\"objective\": " HEAD
                     ",\n\"oops\": 1}}");
    ck_assert_int_eq(objective_read(&o, path, &e), -1);
    ck_assert_str_eq(e.field, "objective.oops");
    ck_assert_int_eq(e.line, 3);
    unlink(path);
    write_file(path, "{\"schema\": \"servelab.objective-answer.v1\"}");
    ck_assert_int_eq(objective_read(&o, path, &e), -1);
    ck_assert_str_eq(e.field, "objective");
    unlink(path);
    ck_assert_int_eq(objective_read(&o, path, &e), -1);
    write_file(path, "{\"schema\": \"servelab.objective.v1\", \"schema\": 1}");
    ck_assert_int_eq(objective_read(&o, path, &e), -1);
    unlink(path);
}
END_TEST

int main(void) {
    Suite *s = suite_create("objective");
    TCase *t = tcase_create("objective");
    tcase_add_test(t, the_whole_example_is_read);
    tcase_add_test(t, what_is_left_out_is_not_required);
    tcase_add_test(t, null_says_the_same_as_leaving_out);
    tcase_add_loop_test(t, what_is_wrong_is_named, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_test(t, seventeen_limits_are_one_too_many);
    tcase_add_test(t, every_percentile_of_three_decimals_is_exact);
    tcase_add_test(t, a_file_is_read_plain_or_inside_an_answer);
    tcase_add_test(t, errors_in_a_file_have_lines);
    suite_add_tcase(s, t);
    return check_main(s);
}
