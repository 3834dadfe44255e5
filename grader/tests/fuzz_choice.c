/* fuzz_choice.c: any bytes as lab 04's choice.json, and as the run file of a run of three requests:
 * refused with a message, or judged. testing/fuzz.h names the two ways to run it. */
#include "lab04/evidence_schedule.h"
#include "lab04/lab04.h"

#include "base/json.h"
#include "testing/fuzz.h"

static void fuzz_form(const cJSON *doc, int n_limits) {
    struct objective o = {.n_latency = n_limits,
                          .latency = {{.scope = SCOPE_POPULATION, .below_ns = 800000000},
                                      {.scope = SCOPE_POPULATION, .below_ns = 80000000}}};
    struct evidence out[2] = {0};
    struct err e = {0};
    if (lab04_examine_choice(doc, &o, out, &e)) {
        INVARIANT(e.text[0]);
        return;
    }
    for (int i = 0; i < 2; i++)
        INVARIANT(out[i].outcome == OUTCOME_EARNED ||
                  (out[i].outcome == OUTCOME_LOST && out[i].message[0]));
}

static void fuzz_schedule(cJSON *doc) {
    static const struct report_attempt attempt[3] = {{.request_id = "load-0000002a-1"},
                                                     {.request_id = "load-0000002a-2"},
                                                     {.request_id = "load-0000002a-3"}};
    struct report_request request[3] = {{.deciding = &attempt[0], .arrival_ns = 5},
                                        {.deciding = &attempt[1], .arrival_ns = 7},
                                        {.deciding = &attempt[2], .arrival_ns = 7}};
    struct report_run run = {
        .requests = request, .n_requests = 3, .window = {0, 9}, .run_file = doc};
    struct err e = {0};
    if (lab04_check_schedule(&run, &e)) INVARIANT(e.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct err e = {0};
    cJSON *doc = json_parse((const char *)data, size, 1, &e);
    if (!doc) {
        INVARIANT(e.text[0]);
        return 0;
    }
    for (int n = 0; n <= 2; n++) fuzz_form(doc, n);
    fuzz_schedule(doc);
    cJSON_Delete(doc);
    return 0;
}
