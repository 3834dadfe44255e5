/* test_lab01_data.c: lab 01's data files: the reference's are valid and plausible; a starter's is
 * refused at its first blank. */
#include "base/json.h"
#include "base/lab_todo.h"
#include "objective/classify.h"
#include "objective/slo.h"
#include "testing/check_main.h"

#include <string.h>

#define LAB "solutions/01_request_record/"

static int look(const struct record *r, int line, void *ctx) {
    int *seen = ctx;
    struct intervals iv;
    struct classification c;
    ck_assert_int_eq(line, 1);
    ck_assert_int_eq(r->workload.prompt_tokens, 2048);
    intervals_compute(r, &iv);
    classify_request(&r, 1, TRUNCATION_REJECT, &c);
    for (int i = IV_CLIENT_TTFT; i <= IV_TPOT; i++)
        ck_assert_int_eq(interval_get(&iv, (enum interval_id)i)->status, INTERVAL_OK);
    ck_assert_int_ge(iv.client_ttft.ns, iv.server_ttft.ns);
    ck_assert_int_ge(iv.e2e.ns, iv.client_ttft.ns);
    ck_assert_int_ge(iv.server_ttft.ns, iv.queue_delay.ns);
    ck_assert(c.useful);
    ck_assert_ptr_nonnull(strstr(r->statement, "client_ttft"));
    ++*seen;
    return 0;
}

START_TEST(the_reference_record_is_plausible) {
    struct err e = {0};
    int seen = 0;
    ck_assert_msg(record_each(LAB "record.json", look, &seen, &e) == 0, "%s: %s", e.field, e.text);
    ck_assert_int_eq(seen, 1);
}
END_TEST

START_TEST(the_reference_objective_is_read_and_missed) {
    struct objective o;
    struct err e;
    ck_assert_int_eq(objective_read(&o, LAB "objective.json", &e), 0);
    ck_assert_int_eq(o.n_latency, 2);
    ck_assert_int_eq(o.latency[0].below_ns, 800000000);
    ck_assert_int_eq(o.latency[1].below_ns, 80000000);
    struct percentile measured[] = {{.present = true, .ns = 1400000000},
                                    {.present = true, .ns = 170000000}};
    struct slo_counts unknown = {-1, -1, -1, -1, -1, 0.0 / 0.0};
    ck_assert_int_eq(slo_verdict(&o, measured, &unknown), SLO_MISSED);
    double value;
    char reason[200];
    ck_assert_int_eq(slo_objective_value(&o, &unknown, &value, reason, sizeof reason),
                     SLO_NOT_COMPUTABLE);
    ck_assert_ptr_nonnull(strstr(reason, "useful completions"));
    ck_assert_ptr_nonnull(strstr(reason, "price"));
    objective_release(&o);
}
END_TEST

static int nothing(const struct record *r, int line, void *ctx) {
    (void)r, (void)line, (void)ctx;
    return 0;
}

START_TEST(a_starter_is_refused_at_its_first_blank) {
    struct objective o;
    struct err e = {0};
    char path[96];
    ck_assert_int_eq(record_each(LAB "record.json.starter", nothing, NULL, &e), -1);
    ck_assert_str_ne(e.text, "");
    ck_assert_int_gt(e.line, 0);
    ck_assert_int_eq(objective_read(&o, LAB "objective.json.starter", &e), -1);
    ck_assert_int_gt(e.line, 0);

    cJSON *doc = json_parse_file(LAB "record.json.starter", &e);
    ck_assert_ptr_nonnull(doc);
    ck_assert(lab_todo_find(doc, path, sizeof path));
    ck_assert_str_eq(path, "provenance");
    cJSON_Delete(doc);
    doc = json_parse_file(LAB "objective.json.starter", &e);
    ck_assert(lab_todo_find(doc, path, sizeof path));
    ck_assert_str_eq(path, "objective.name");
    cJSON_Delete(doc);
}
END_TEST

int main(void) {
    Suite *s = suite_create("lab01_data");
    TCase *t = tcase_create("lab01_data");
    tcase_add_test(t, the_reference_record_is_plausible);
    tcase_add_test(t, the_reference_objective_is_read_and_missed);
    tcase_add_test(t, a_starter_is_refused_at_its_first_blank);
    suite_add_tcase(s, t);
    return check_main(s);
}
