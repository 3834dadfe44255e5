/* test_fuzz_record.c: some ten thousand fixed mutations of records, for `make test`: the proof that
 * the fast reader is the strict one, only faster. */
#include "fuzz_record.c"

#include "testing/check_main.h"

#define HEAD                                                                                       \
    "{\"schema\":\"servelab.request-record.v1\",\"request_id\":\"r-1\",\"attempt\":1,"             \
    "\"workload\":{\"model\":\"m\",\"prompt_tokens\":2048,\"max_output_tokens\":256,"              \
    "\"output_tokens\":3,\"decoding\":\"greedy\"},"
#define EVENT(name, clock, t, source, api)                                                         \
    "{\"event\":\"" name "\",\"clock\":\"" clock "\",\"t_ns\":" t ",\"source\":\"" source          \
    "\",\"clock_api\":\"" api "\""
#define BROWSER(name, t) EVENT(name, "browser", t, "browser", "performance.now") "}"
#define SERVER(name, t)  EVENT(name, "server", t, "server_log", "CLOCK_MONOTONIC") "}"
#define SENT(t, n)                                                                                 \
    EVENT("token_sent", "server", t, "server_log", "CLOCK_MONOTONIC") ",\"tokens\":" n "}"
#define GPU(name, t)                                                                               \
    EVENT(name, "gpu", t, "cuda_event", "cudaEventElapsedTime") ",\"range\":\"prefill\"}"
#define TAIL(delivered)                                                                            \
    "\"outcome\":{\"delivered\":" delivered ",\"http_status\":200,\"finish_reason\":\"stop\","     \
    "\"error\":null},\"quality\":{\"check\":\"key-recall/1\",\"verdict\":\"passed\"},"             \
    "\"structure\":{\"check\":null,\"verdict\":\"not_required\"},\"resources\":{"                  \
    "\"gpu_seconds\":0.25,\"joules\":null},\"statement\":\"felt \xe2\x82\xac\"}"

static const char *const seeds[] = {
    HEAD
    "\"events\":[" BROWSER("request_submitted", "1") "," SERVER("request_accepted", "71") "," SERVER("tokenization_finished", "72") "," SERVER(
        "request_admitted",
        "75") "," SERVER("first_token",
                         "1200000000000000") "," SENT("1200000000000001",
                                                      "1") "," SENT("9007199254740992",
                                                                    "2") "," BROWSER("first_byte_"
                                                                                     "received",
                                                                                     "50") "," BROWSER("final_byte_received",
                                                                                                       "500") "]," TAIL("true"),
    HEAD
    "\"events\":[" SERVER("request_accepted", "71") "," SERVER("request_admitted", "75") "," SERVER(
        "request_preempted",
        "80") "," SERVER("request_resumed",
                         "90") "," GPU("gpu_start",
                                       "1") "," GPU("gpu_end",
                                                    "5") "," SERVER("request_cancelled",
                                                                    "95") "]," TAIL("false"),
    " {  \"statement\" : null , \"events\" : [ ] , \"workload\" : { } ,\r\n \"outcome\" : "
    "{ \"delivered\" : false } , \"attempt\" : 2 , \"request_id\" : \"\xf0\x9f\x98\x80\" , "
    "\"schema\" : \"servelab.request-record.v1\" } ",
    HEAD "\"clock_offsets\":[{\"a\":\"browser\",\"b\":\"server\",\"offset_ns\":-5,"
         "\"uncertainty_ns\":2,\"how\":\"ping\"}],\"x\":{\"y\":[1,null]},\"events\":[" EVENT(
             "first_byte_received", "server", "9", "client",
             "CLOCK_MONOTONIC") ",\"why\":1}]," TAIL("false"),
    HEAD
    "\"events\":[" EVENT("first_token", "sim", "5", "simulator", "simulated") "}]," TAIL("false"),
};

START_TEST(both_readers_agree_on_any_bytes) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 11);
    ck_assert_uint_gt(fuzz_strict_accepted, 1000);
    ck_assert_uint_gt(fuzz_fast_accepted, 250);
    ck_assert_uint_gt(fuzz_strict_accepted, fuzz_fast_accepted);
}
END_TEST

/* ---- records made up from pieces, most of them acceptable ------------------------------------ */

struct maker {
    char text[8192];
    size_t n;
    struct rng rng;
};

static void add(struct maker *m, const char *piece) {
    size_t length = strlen(piece);
    INVARIANT(m->n + length < sizeof m->text);
    memcpy(m->text + m->n, piece, length);
    m->n += length;
}

static bool rarely(struct maker *m, uint64_t one_in) {
    return rng_below(&m->rng, one_in) == 0;
}

#define PICK(m, list) (list)[rng_below(&(m)->rng, sizeof(list) / sizeof *(list))]

static void add_space(struct maker *m) {
    static const char *const spaces[] = {" ", "\n", "\t", "\r\n  "};
    if (rarely(m, 12)) add(m, PICK(m, spaces));
}

/* `"key":value`, with the slips and the freedoms that JSON has. */
static void add_member(struct maker *m, bool *first, const char *key, const char *value) {
    static const char *const unknown[] = {"\"new\":1", "\"new\":{\"deep\":[null]}", "\"\":\"\\n\""};
    if (rarely(m, 60)) return; /* left out */
    int times = rarely(m, 150) ? 2 : 1;
    while (times--) {
        if (!*first) add(m, ",");
        *first = false;
        add_space(m);
        if (rarely(m, 100)) {
            add(m, PICK(m, unknown));
            add(m, ",");
        }
        add(m, "\"");
        add(m, key);
        add(m, "\"");
        add_space(m);
        add(m, ":");
        add_space(m);
        add(m, rarely(m, 60) ? "null" : value);
        add_space(m);
    }
}

static const char *number(struct maker *m) {
    static const char *const odd[] = {"0",
                                      "-0",
                                      "-1",
                                      "1.0",
                                      "1.5",
                                      "1e2",
                                      "00",
                                      "01",
                                      "9007199254740992",
                                      "9007199254740993",
                                      "2147483647",
                                      "2147483648",
                                      "99999999999999999",
                                      "0.0",
                                      "5.",
                                      "123456789012345",
                                      "1234567890123456",
                                      "\"7\"",
                                      "true",
                                      "",
                                      "99",
                                      "100",
                                      "599",
                                      "600"};
    static const char *const usual[] = {"1", "2", "3", "200", "256", "71000000"};
    return rarely(m, 12) ? PICK(m, odd) : PICK(m, usual);
}

static const char *text(struct maker *m) {
    static const char *const odd[] = {
        "\"\"",
        "\"\\u0041\"",
        "\"\xc3\xa9\"",
        "\"\xc3\"",
        "\"a\\\\b\"",
        "\"\x7f\"",
        "7",
        "\"0123456789012345678901234567890\"",  /* 31: fits clock_api */
        "\"01234567890123456789012345678901\"", /* 32: doesn't */
        "\"012345678901234\"",
        "\"0123456789012345\""};
    static const char *const usual[] = {"\"stop\"", "\"x\"", "\"key-recall/1\""};
    return rarely(m, 8) ? PICK(m, odd) : PICK(m, usual);
}

static void add_event(struct maker *m, int64_t t) {
    char digits[24], name[40];
    bool first = true;
    enum event_kind kind = rng_below(&m->rng, EV_N);
    bool client = kind == EV_REQUEST_SUBMITTED || kind == EV_FIRST_BYTE_RECEIVED ||
                  kind == EV_FINAL_BYTE_RECEIVED;
    bool gpu = kind == EV_GPU_START || kind == EV_GPU_END;
    snprintf(digits, sizeof digits, "%lld", (long long)t);
    snprintf(name, sizeof name, "\"%s\"", event_name(kind));
    add(m, "{");
    add_member(m, &first, "event", name);
    add_member(m, &first, "clock", client ? "\"browser\"" : gpu ? "\"gpu\"" : "\"server\"");
    add_member(m, &first, "t_ns", rarely(m, 40) ? number(m) : digits);
    add_member(m, &first, "source", "\"authored\"");
    add_member(m, &first, "clock_api", rarely(m, 60) ? text(m) : "\"CLOCK_MONOTONIC\"");
    if (kind == EV_TOKEN_SENT || rarely(m, 60)) add_member(m, &first, "tokens", number(m));
    if (gpu || rarely(m, 60)) add_member(m, &first, "range", gpu ? "\"r\"" : text(m));
    add(m, "}");
}

static void make_record(struct maker *m) {
    bool first = true, inner = true;
    m->n = 0;
    add(m, "{");
    add_member(m, &first, "schema", "\"" RECORD_SCHEMA "\"");
    add_member(m, &first, "request_id", text(m));
    add_member(m, &first, "attempt", number(m));
    add(m, ",\"workload\":{");
    add_member(m, &inner, "model", text(m));
    add_member(m, &inner, "prompt_tokens", number(m));
    add_member(m, &inner, "max_output_tokens", number(m));
    add_member(m, &inner, "output_tokens", number(m));
    add_member(m, &inner, "decoding", text(m));
    add(m, "},\"events\":[");
    for (uint64_t i = rng_below(&m->rng, 4), t = 1000; i > 0; i--, t += rng_below(&m->rng, 50)) {
        add_event(m, (int64_t)t);
        if (i > 1) add(m, ",");
    }
    add(m, "],\"outcome\":{");
    inner = true;
    add_member(m, &inner, "delivered", rarely(m, 30) ? "true" : "false");
    add_member(m, &inner, "http_status", rarely(m, 4) ? number(m) : "200");
    add_member(m, &inner, "finish_reason", text(m));
    add_member(m, &inner, "error", text(m));
    add(m, "}");
    add_member(m, &first, "quality", "{\"check\":\"c\",\"verdict\":\"passed\"}");
    add_member(m, &first, "structure", "{\"check\":null, \"verdict\":\"not_required\"}");
    add(m, ",\"resources\":{");
    inner = true;
    add_member(m, &inner, "gpu_seconds", number(m));
    add_member(m, &inner, "joules", number(m));
    add(m, "}");
    add_member(m, &first, "statement", text(m));
    add(m, "}");
}

START_TEST(both_readers_agree_on_made_up_records) {
    static struct maker m;
    rng_seed(&m.rng, 23);
    for (int i = 0; i < 20000; i++) {
        make_record(&m);
        LLVMFuzzerTestOneInput((const uint8_t *)m.text, m.n);
    }
    ck_assert_uint_gt(fuzz_fast_accepted, 2000);
    ck_assert_uint_gt(fuzz_strict_accepted, fuzz_fast_accepted + 1000);
}
END_TEST

/* The usual line must really be read by the fast reader. */
START_TEST(the_usual_line_is_read_fast) {
    struct record r;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        record_init(&r);
        ck_assert_int_eq(record_fill_fast(&r, seeds[i], strlen(seeds[i])), i != 3);
        record_release(&r);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_record");
    TCase *t = tcase_create("fuzz_record");
    tcase_add_test(t, both_readers_agree_on_any_bytes);
    tcase_add_test(t, both_readers_agree_on_made_up_records);
    tcase_add_test(t, the_usual_line_is_read_fast);
    suite_add_tcase(s, t);
    return check_main(s);
}
