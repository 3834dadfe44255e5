/* test_record.c: records in memory: reading and writing without loss, the rules, the join of
 * halves, plausibility. */
#include "base/json.h"
#include "record/intervals.h"
#include "null_members.h"
#include "sample.h"
#include "testing/check_main.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static char *printed(const struct record *r) {
    cJSON *tree = record_to_json(r);
    char *text = json_print(tree);
    cJSON_Delete(tree);
    return text;
}

/* ---- reading and writing --------------------------------------------------------------------- */

static const char everything[] =
    "{\"schema\":\"servelab.request-record.v1\",\"request_id\":\"r \\\"1\\\" "
    "\xe2\x82\xac\",\"attempt\":7,"
    "\"workload\":{\"model\":\"m\",\"prompt_tokens\":0,\"max_output_tokens\":null,"
    "\"output_tokens\":2147483647,\"decoding\":null,\"seed\":18446744073709551615},"
    "\"events\":[{\"event\":\"request_accepted\",\"clock\":\"server\",\"t_ns\":1000000000000000,"
    "\"source\":\"server_log\",\"clock_api\":\"CLOCK_MONOTONIC\",\"cpu\":3,\"x\":{\"y\":[]}},"
    "{\"event\":\"token_sent\",\"clock\":\"server\",\"t_ns\":1234567890123450,"
    "\"source\":\"server_log\",\"clock_api\":\"CLOCK_MONOTONIC\",\"tokens\":0},"
    "{\"event\":\"gpu_start\",\"clock\":\"gpu\",\"t_ns\":0,\"source\":\"cuda_event\","
    "\"clock_api\":\"cudaEventElapsedTime\",\"range\":\"decode\"}],"
    "\"clock_offsets\":[{\"a\":\"browser\",\"b\":\"server\",\"offset_ns\":-9007199254740992,"
    "\"uncertainty_ns\":5},{\"a\":\"gpu\",\"b\":\"server\",\"offset_ns\":1,\"uncertainty_ns\":0,"
    "\"how\":\"sync\"}],"
    "\"outcome\":{\"delivered\":false,\"http_status\":499,\"finish_reason\":null,"
    "\"error\":\"a\\nb\",\"retry\":true},"
    "\"quality\":{\"check\":\"answer-nll/1\",\"verdict\":\"failed\",\"tolerance\":0.05},"
    "\"structure\":{\"check\":\"tool-call/1\",\"verdict\":\"passed\"},"
    "\"resources\":{\"gpu_seconds\":0.125,\"joules\":1e-07,\"watts\":[1,2]},"
    "\"statement\":\"e2e\",\"trace\":{\"id\":9007199254740993,\"parts\":[1.5,null,true,\"\"]}}";

START_TEST(everything_comes_back) {
    struct record r;
    struct err e;
    ck_assert_msg(!record_parse(&r, everything, strlen(everything), 1, &e), "%s: %s", e.field,
                  e.text);
    char *text = printed(&r);
    ck_assert_str_eq(text, everything);
    cJSON_free(text);
    ck_assert_int_eq(r.attempt, 7);
    ck_assert_int_eq(r.workload.prompt_tokens, 0);
    ck_assert_int_eq(r.workload.max_output_tokens, -1);
    ck_assert_int_eq(r.events[1].t_ns, 1234567890123450);
    ck_assert_int_eq(r.offsets[0].offset_ns, -JSON_MAX_INT);
    ck_assert(r.resources.gpu_seconds == 0.125 && r.resources.joules == 1e-7);
    record_release(&r);
}
END_TEST

START_TEST(a_copy_is_independent) {
    struct record r, copy;
    struct err e;
    ck_assert_int_eq(record_parse(&r, everything, strlen(everything), 1, &e), 0);
    ck_assert_int_eq(record_copy(&copy, &r, &e), 0);
    struct event more = {.kind = EV_TOKEN_SENT, .clock = CLOCK_SERVER};
    ck_assert_int_eq(record_add_event(&r, &more, &e), 0);
    ck_assert_uint_eq(copy.n_events, 3);
    record_release(&r);
    char *text = printed(&copy);
    ck_assert_str_eq(text, everything);
    cJSON_free(text);
    record_init(&r); /* a record without events has a copy, too */
    record_release(&copy);
    ck_assert_int_eq(record_copy(&copy, &r, &e), 0);
    ck_assert_uint_eq(copy.n_events, 0);
    ck_assert_int_eq(record_add_event(&copy, &more, &e), 0);
    record_release(&copy);
}
END_TEST

START_TEST(from_tree_and_from_text_agree) {
    struct record a, b;
    struct err e;
    cJSON *tree = json_parse(everything, strlen(everything), 1, &e);
    ck_assert_int_eq(record_from_json(&a, tree, 1, &e), 0);
    cJSON_Delete(tree);
    cJSON *own = record_to_json(&a);
    ck_assert_int_eq(record_from_json(&b, own, 1, &e), 0); /* our own tree, not printed */
    cJSON_Delete(own);
    char *x = printed(&a), *y = printed(&b);
    ck_assert_str_eq(x, y);
    cJSON_free(x);
    cJSON_free(y);
    record_release(&a);
    record_release(&b);
}
END_TEST

static void remove_members(cJSON *at, const char *name) {
    if (cJSON_IsObject(at)) cJSON_DeleteItemFromObjectCaseSensitive(at, name);
    for (cJSON *c = at->child; c; c = c->next) remove_members(c, name);
}

static void null_is_absent(const char *with_null, const char *without, const char *name) {
    struct record a, b;
    struct err x = {0}, y = {0};
    int rc = record_parse(&a, with_null, strlen(with_null), 1, &x);
    ck_assert_msg(rc == record_parse(&b, without, strlen(without), 1, &y), "%s: %s", name, x.text);
    ck_assert_str_eq(x.field, y.field);
    if (rc) return;
    char *one = printed(&a), *other = printed(&b);
    ck_assert_str_eq(one, other);
    cJSON_free(one);
    cJSON_free(other);
    record_release(&a);
    record_release(&b);
}

START_TEST(null_says_the_same_as_leaving_out) {
    cJSON *tree = json_parse(everything, strlen(everything), 1, NULL);
    const char *unknown[] = {"seed", "cpu", "x", "how", "retry", "tolerance", "watts", "trace"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) /* these are kept as they are */
        remove_members(tree, unknown[i]);
    ck_assert_int_eq(each_null_member(tree, tree, "", null_is_absent), 51);
    cJSON_Delete(tree);
}
END_TEST

START_TEST(names_go_both_ways) {
    for (enum event_kind k = 0; k < EV_N; k++)
        ck_assert_int_eq(event_from_name(event_name(k)), (int)k);
    for (enum clock_id c = 0; c < CLOCK_N; c++)
        ck_assert_int_eq(clock_from_name(clock_name(c)), (int)c);
    for (enum event_source s = 0; s < SRC_N; s++)
        ck_assert_int_eq(source_from_name(source_name(s)), (int)s);
    for (enum verdict v = 0; v <= VERDICT_NOT_REQUIRED; v++)
        ck_assert_int_eq(verdict_from_name(verdict_name(v)), (int)v);
    ck_assert_int_eq(event_from_name(""), -1);
    ck_assert_int_eq(event_from_name("first_toke"), -1);
    ck_assert_int_eq(event_from_name("first_tokens"), -1);
    ck_assert_int_eq(event_from_name("First_token"), -1);
}
END_TEST

START_TEST(events_are_found_and_bounded) {
    struct record r;
    struct err e;
    record_init(&r);
    ck_assert_ptr_null(record_event(&r, EV_TOKEN_SENT));
    for (int i = 0; i < RECORD_MAX_EVENTS; i++) sample_add(&r, EV_TOKEN_SENT, CLOCK_SERVER, i, 1);
    ck_assert_int_eq(record_event(&r, EV_TOKEN_SENT)->t_ns, 0);
    ck_assert_int_eq(record_last_event(&r, EV_TOKEN_SENT)->t_ns, RECORD_MAX_EVENTS - 1);
    ck_assert_int_eq(record_add_event(&r, &r.events[0], &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "200000"));
    record_release(&r);
    ck_assert_uint_eq(r.n_events, 0);
    ck_assert_int_eq(r.attempt, 1);
}
END_TEST

/* ---- rules ----------------------------------------------------------------------------------- */

static void set_sim(struct record *r) {
    for (size_t i = 0; i < r->n_events; i++) {
        r->events[i].clock = CLOCK_SIM;
        strcpy(r->events[i].clock_api, "simulated");
        r->events[i].t_ns = (int64_t)i * 10;
    }
}

/* Each changes a good record; `field` is where the fault is, NULL when there is none. */
struct rule {
    const char *name, *field;
    void (*change)(struct record *r);
};

#define CHANGE(name) static void name(struct record *r)
CHANGE(nothing) {
    (void)r;
}
CHANGE(simulated) {
    set_sim(r);
}
CHANGE(simulated_out_of_order) {
    set_sim(r);
    r->events[4].t_ns = 5; /* first byte before first token */
}
CHANGE(half_simulated) {
    set_sim(r);
    r->events[3].clock = CLOCK_SERVER;
}
CHANGE(shuffled_file) {
    struct event first = r->events[0];
    r->events[0] = r->events[5];
    r->events[5] = first;
}
CHANGE(equal_times) {
    r->events[2].t_ns = r->events[1].t_ns;
}
CHANGE(no_id) {
    r->request_id[0] = '\0';
}
CHANGE(attempt_zero) {
    r->attempt = 0;
}
CHANGE(negative_time) {
    r->events[0].t_ns = -1;
}
CHANGE(late_time) {
    r->events[5].t_ns = JSON_MAX_INT + 1;
}
CHANGE(impossible_kind) {
    r->events[5].kind = EV_N;
}
CHANGE(tokens_elsewhere) {
    r->events[0].tokens = 1;
}
CHANGE(range_elsewhere) {
    strcpy(r->events[0].range, "x");
}
CHANGE(no_range) {
    sample_add(r, EV_GPU_START, CLOCK_GPU, 1, 0);
    r->events[6].range[0] = '\0';
}
CHANGE(gpu_backwards) {
    sample_add(r, EV_GPU_START, CLOCK_GPU, 5, 0);
    sample_add(r, EV_GPU_END, CLOCK_GPU, 4, 0);
}
CHANGE(gpu_ranges_interleave) {
    sample_add(r, EV_GPU_START, CLOCK_GPU, 5, 0);
    sample_add(r, EV_GPU_START, CLOCK_GPU, 1, 0);
    strcpy(r->events[7].range, "other");
    sample_add(r, EV_GPU_END, CLOCK_GPU, 6, 0);
    sample_add(r, EV_GPU_END, CLOCK_GPU, 2, 0);
    strcpy(r->events[9].range, "other");
}
CHANGE(gpu_on_server) {
    sample_add(r, EV_GPU_START, CLOCK_SERVER, 1, 0);
}
CHANGE(no_api) {
    r->events[1].clock_api[0] = '\0';
}
CHANGE(wall) {
    strcpy(r->events[1].clock_api, "CLOCK_REALTIME");
}
CHANGE(two_apis) {
    strcpy(r->events[2].clock_api, "CLOCK_BOOTTIME");
}
CHANGE(sent_backwards) {
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 6000000, 1);
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 5900000, 1);
}
CHANGE(sent_before_first_token) {
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 5699999, 1);
}
CHANGE(empty_piece_before_first_token) {
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 710000, 0);
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 5700000, 1);
}
CHANGE(empty_piece_before_acceptance) {
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 699999, 0);
}
CHANGE(finished_before_sent) {
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 6000000, 1);
    sample_add(r, EV_RESPONSE_FINISHED, CLOCK_SERVER, 5999999, 0);
}
CHANGE(finished_before_empty_piece) {
    sample_add(r, EV_RESPONSE_FINISHED, CLOCK_SERVER, 5999999, 0);
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 6000000, 0);
}
CHANGE(tokenized_late) {
    sample_add(r, EV_TOKENIZATION_FINISHED, CLOCK_SERVER, 750001, 0);
}
CHANGE(finished_first) {
    sample_add(r, EV_RESPONSE_FINISHED, CLOCK_SERVER, 699999, 0);
}
CHANGE(rejected_early) {
    sample_add(r, EV_REQUEST_REJECTED, CLOCK_SERVER, 699999, 0);
}
CHANGE(cancelled_early) {
    sample_add(r, EV_REQUEST_CANCELLED, CLOCK_SERVER, 1, 0);
}
CHANGE(failed_early) {
    sample_add(r, EV_REQUEST_FAILED, CLOCK_SERVER, 1, 0);
}
CHANGE(preempted_and_resumed) {
    sample_add(r, EV_REQUEST_PREEMPTED, CLOCK_SERVER, 760000, 0);
    sample_add(r, EV_REQUEST_RESUMED, CLOCK_SERVER, 770000, 0);
    sample_add(r, EV_REQUEST_PREEMPTED, CLOCK_SERVER, 770000, 0);
}
CHANGE(preempted_twice) {
    sample_add(r, EV_REQUEST_PREEMPTED, CLOCK_SERVER, 760000, 0);
    sample_add(r, EV_REQUEST_PREEMPTED, CLOCK_SERVER, 770000, 0);
}
CHANGE(resumed_before_preempted) {
    sample_add(r, EV_REQUEST_PREEMPTED, CLOCK_SERVER, 760000, 0);
    sample_add(r, EV_REQUEST_RESUMED, CLOCK_SERVER, 759999, 0);
}
CHANGE(preempted_before_admitted) {
    sample_add(r, EV_REQUEST_PREEMPTED, CLOCK_SERVER, 749999, 0);
}
CHANGE(twice) {
    sample_add(r, EV_REQUEST_SUBMITTED, CLOCK_BROWSER, 1000, 0);
}
CHANGE(offset_to_itself) {
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = 1, .b = 1};
}
CHANGE(offset_twice) {
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = 0, .b = 1};
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = 1, .b = 0};
}
CHANGE(offset_negative) {
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = 0, .b = 1, .uncertainty_ns = -1};
}
CHANGE(other_clock) {
    r->events[3].clock = CLOCK_GPU;
    strcpy(r->events[3].clock_api, "cudaEventElapsedTime");
}
CHANGE(other_clock_with_offset) {
    other_clock(r);
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = CLOCK_GPU, .b = CLOCK_SERVER};
}
CHANGE(other_clock_with_another_offset) {
    other_clock(r);
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = CLOCK_GPU, .b = CLOCK_BROWSER};
}
CHANGE(one_kind_two_clocks) {
    r->offsets[r->n_offsets++] = (struct clock_offset){.a = CLOCK_GPU, .b = CLOCK_SERVER};
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 6000000, 1);
    sample_add(r, EV_TOKEN_SENT, CLOCK_GPU, 6000000, 1);
}
CHANGE(unnamed_check) {
    r->quality.check[0] = '\0';
}
CHANGE(structure_unnamed) {
    r->structure.verdict = VERDICT_FAILED;
}
CHANGE(structure_not_evaluated) {
    r->structure.verdict = VERDICT_NOT_EVALUATED;
}
CHANGE(quality_not_required) {
    r->quality.verdict = VERDICT_NOT_REQUIRED;
}
CHANGE(negative_joules) {
    r->resources.joules = -1;
}
CHANGE(infinite_gpu) {
    r->resources.gpu_seconds = INFINITY;
}
CHANGE(five_events) {
    r->n_events = 5;
}
CHANGE(five_events_not_delivered) {
    r->n_events = 5;
    r->outcome.delivered = false;
}
CHANGE(a_clients_half) {
    r->events[1] = r->events[4];
    r->events[2] = r->events[5];
    r->n_events = 3;
}
CHANGE(a_clients_half_without_its_end) {
    a_clients_half(r);
    r->n_events = 2;
}
CHANGE(a_clients_half_and_an_event_of_the_server) {
    a_clients_half(r);
    sample_add(r, EV_REQUEST_ACCEPTED, CLOCK_SERVER, 700000, 0);
}
CHANGE(no_events) {
    r->n_events = 0;
    r->outcome.delivered = false;
}

#define RULE(change, field)                                                                        \
    { #change, field, change }
static const struct rule rules[] = {
    RULE(nothing, NULL),
    RULE(simulated, NULL),
    RULE(simulated_out_of_order, "events[4].t_ns"),
    RULE(half_simulated, "events[3].clock"),
    RULE(shuffled_file, NULL),
    RULE(equal_times, NULL),
    RULE(no_id, "request_id"),
    RULE(attempt_zero, "attempt"),
    RULE(negative_time, "events[0].t_ns"),
    RULE(late_time, "events[5].t_ns"),
    RULE(impossible_kind, "events[5].event"),
    RULE(tokens_elsewhere, "events[0].tokens"),
    RULE(range_elsewhere, "events[0].range"),
    RULE(no_range, "events[6].range"),
    RULE(gpu_backwards, "events[7].t_ns"),
    RULE(gpu_ranges_interleave, NULL),
    RULE(gpu_on_server, "events[6].clock"),
    RULE(no_api, "events[1].clock_api"),
    RULE(wall, "events[1].clock_api"),
    RULE(two_apis, "events[2].clock_api"),
    RULE(sent_backwards, "events[7].t_ns"),
    RULE(sent_before_first_token, "events[6].t_ns"),
    RULE(empty_piece_before_first_token, NULL),
    RULE(empty_piece_before_acceptance, "events[6].t_ns"),
    RULE(finished_before_sent, "events[7].t_ns"),
    RULE(finished_before_empty_piece, "events[6].t_ns"),
    RULE(tokenized_late, "events[2].t_ns"),
    RULE(finished_first, "events[6].t_ns"),
    RULE(rejected_early, "events[6].t_ns"),
    RULE(cancelled_early, "events[6].t_ns"),
    RULE(failed_early, "events[6].t_ns"),
    RULE(preempted_and_resumed, NULL),
    RULE(preempted_twice, "events[7].event"),
    RULE(resumed_before_preempted, "events[7].t_ns"),
    RULE(preempted_before_admitted, "events[6].t_ns"),
    RULE(twice, "events[6].event"),
    RULE(offset_to_itself, "clock_offsets[0]"),
    RULE(offset_twice, "clock_offsets[1]"),
    RULE(offset_negative, "clock_offsets[0]"),
    RULE(other_clock, "events[3].clock"),
    RULE(other_clock_with_offset, NULL),
    RULE(other_clock_with_another_offset, "events[3].clock"),
    RULE(one_kind_two_clocks, "events[7].clock"),
    RULE(unnamed_check, "quality.check"),
    RULE(structure_unnamed, "structure.check"),
    RULE(structure_not_evaluated, "structure.verdict"),
    RULE(quality_not_required, "quality.verdict"),
    RULE(negative_joules, "resources.joules"),
    RULE(infinite_gpu, "resources.gpu_seconds"),
    RULE(five_events, "events"),
    RULE(five_events_not_delivered, NULL),
    RULE(a_clients_half, NULL),
    RULE(a_clients_half_without_its_end, "events"),
    RULE(a_clients_half_and_an_event_of_the_server, "events"),
    RULE(no_events, NULL),
};

START_TEST(each_rule_has_its_field) {
    const struct rule *rule = &rules[_i];
    struct record r;
    struct err e = {0};
    sample_record(&r, "r-1", 1);
    rule->change(&r);
    int status = record_validate(&r, &e);
    ck_assert_msg((status == -1) == (rule->field != NULL), "%s: %s: %s", rule->name, e.field,
                  e.text);
    if (rule->field)
        ck_assert_msg(!strcmp(e.field, rule->field), "%s: %s, expected %s", rule->name, e.field,
                      rule->field);
    record_release(&r);
}
END_TEST

START_TEST(many_gpu_ranges_in_good_time) {
    struct record r;
    struct err e;
    record_init(&r);
    strcpy(r.request_id, "r");
    for (int i = 0; i < RECORD_MAX_EVENTS; i++) {
        sample_add(&r, i % 2 ? EV_GPU_END : EV_GPU_START, CLOCK_GPU, i, 0);
        snprintf(r.events[i].range, sizeof r.events[i].range, "range %d", i / 2);
    }
    ck_assert_int_eq(record_validate(&r, &e), 0);
    record_release(&r);
}
END_TEST

/* ---- join ------------------------------------------------------------------------------------ */

static void halves(struct record *server, struct record *browser) {
    sample_record(server, "r-1", 1);
    sample_record(browser, "r-1", 1);
    struct event keep[3] = {browser->events[0], browser->events[4], browser->events[5]};
    memcpy(browser->events, keep, sizeof keep);
    browser->n_events = 3;
    server->n_events = 0;
    sample_add(server, EV_REQUEST_ACCEPTED, CLOCK_SERVER, 700000, 0);
    sample_add(server, EV_REQUEST_ADMITTED, CLOCK_SERVER, 750000, 0);
    sample_add(server, EV_FIRST_TOKEN, CLOCK_SERVER, 5700000, 0);
    sample_add(server, EV_TOKEN_SENT, CLOCK_SERVER, 5800000, 1);
    sample_add(server, EV_TOKEN_SENT, CLOCK_SERVER, 5900000, 2);
    server->outcome.delivered = false;
    browser->workload.prompt_tokens = -1;
    browser->outcome.http_status = 0;
    browser->quality.check[0] = '\0';
    browser->quality.verdict = VERDICT_NOT_EVALUATED;
    strcpy(browser->statement, "felt");
    browser->extra = cJSON_Parse("{\"page\":{\"step_ns\":5000},\"outcome\":{\"seen\":1}}");
}

START_TEST(two_halves_become_one_record) {
    struct record server, browser;
    struct err e;
    halves(&server, &browser);
    ck_assert_msg(!record_join(&server, &browser, &e), "%s: %s", e.field, e.text);
    ck_assert_int_eq(record_validate(&server, &e), 0);
    ck_assert_uint_eq(server.n_events, 8);
    ck_assert(server.outcome.delivered);
    ck_assert_str_eq(server.statement, "felt");
    ck_assert_str_eq(server.quality.check, "key-recall/1");
    ck_assert_int_eq(server.workload.prompt_tokens, 2048);
    char *once = printed(&server);
    ck_assert_ptr_nonnull(strstr(once, "\"seen\":1"));
    ck_assert_ptr_nonnull(strstr(once, "\"step_ns\":5000"));
    ck_assert_int_eq(record_join(&server, &browser, &e),
                     0); /* the same half again changes nothing */
    char *twice = printed(&server);
    ck_assert_str_eq(once, twice);
    cJSON_free(once);
    cJSON_free(twice);
    record_release(&server);
    record_release(&browser);
}
END_TEST

struct contradiction {
    const char *field;
    void (*change)(struct record *browser);
};

CHANGE(another_id) {
    strcpy(r->request_id, "r-2");
}
CHANGE(another_attempt) {
    r->attempt = 2;
}
CHANGE(another_model) {
    strcpy(r->workload.model, "huge");
}
CHANGE(another_length) {
    r->workload.output_tokens = 9;
}
CHANGE(another_status) {
    r->outcome.http_status = 500;
}
CHANGE(another_verdict) {
    r->quality.verdict = VERDICT_FAILED;
    strcpy(r->quality.check, "key-recall/1");
}
CHANGE(another_time) {
    sample_add(r, EV_FIRST_TOKEN, CLOCK_SERVER, 5700001, 0);
}
CHANGE(fewer_pieces) {
    sample_add(r, EV_TOKEN_SENT, CLOCK_SERVER, 5800000, 1);
}
CHANGE(out_of_order) {
    r->events[2].t_ns = 10;
}
CHANGE(on_the_wrong_clock) {
    r->events[1].clock = CLOCK_SERVER;
}

static const struct contradiction contradictions[] = {
    {"request_id", another_id},
    {"attempt", another_attempt},
    {"workload.model", another_model},
    {"workload.output_tokens", another_length},
    {"outcome.http_status", another_status},
    {"quality.verdict", another_verdict},
    {"events", another_time},
    {"events", fewer_pieces},
    {"events[6].t_ns", out_of_order}, /* kinds join in causal order: first byte 6, final byte 7 */
    {"events[6].clock", on_the_wrong_clock},
};

START_TEST(a_contradiction_leaves_the_record_as_it_was) {
    struct record server, browser;
    struct err e;
    halves(&server, &browser);
    contradictions[_i].change(&browser);
    char *before = printed(&server);
    ck_assert_int_eq(record_join(&server, &browser, &e), -1);
    const char *field = contradictions[_i].field;
    ck_assert_msg(!strncmp(e.field, field, 6), "%s, expected %s: %s", e.field, field, e.text);
    char *after = printed(&server);
    ck_assert_str_eq(before, after);
    cJSON_free(before);
    cJSON_free(after);
    record_release(&server);
    record_release(&browser);
}
END_TEST

/* ---- plausible ------------------------------------------------------------------------------- */

START_TEST(plausible_by_the_definition) {
    static const struct {
        int64_t first_token, first_byte, final_byte;
        bool plausible;
        const char *why;
    } cases[] = {
        {5700000, 5101000, 50001000, true, "client_ttft >= server_ttft"},
        {5700000, 5001000, 50001000, true, "causal"},               /* equal is allowed */
        {5700001, 5001000, 50001000, false, "shorter than server"}, /* by one nanosecond */
        {5700000, 50001000, 50001000, true, "causal"},
        {5700000, 50001000, 50000999, false, "events["},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record r;
        struct intervals iv;
        char why[400];
        sample_record(&r, "r-1", 1);
        r.events[3].t_ns = cases[i].first_token;
        r.events[4].t_ns = cases[i].first_byte;
        r.events[5].t_ns = cases[i].final_byte;
        intervals_compute(&r, &iv);
        ck_assert_msg(record_plausible(&r, &iv, why, sizeof why) == cases[i].plausible, "%zu: %s",
                      i, why);
        ck_assert_msg(strstr(why, cases[i].why) != NULL, "%zu: %s", i, why);
        r.n_events = 5;
        intervals_compute(&r, &iv);
        ck_assert(!record_plausible(&r, &iv, why, sizeof why));
        record_release(&r);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("record");
    TCase *t = tcase_create("record");
    tcase_add_test(t, everything_comes_back);
    tcase_add_test(t, a_copy_is_independent);
    tcase_add_test(t, from_tree_and_from_text_agree);
    tcase_add_test(t, null_says_the_same_as_leaving_out);
    tcase_add_test(t, names_go_both_ways);
    tcase_add_test(t, events_are_found_and_bounded);
    tcase_add_loop_test(t, each_rule_has_its_field, 0, sizeof rules / sizeof *rules);
    tcase_add_test(t, many_gpu_ranges_in_good_time);
    tcase_add_test(t, two_halves_become_one_record);
    tcase_add_loop_test(t, a_contradiction_leaves_the_record_as_it_was, 0,
                        sizeof contradictions / sizeof *contradictions);
    tcase_add_test(t, plausible_by_the_definition);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
