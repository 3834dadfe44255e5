/* fuzz_lab02.c: any bytes, as a case of lab 02 on the channel, as findings.json and as
 * protocol.json: refused, the files with a message that names the fault, or read within the bounds
 * of their headers. testing/fuzz.h names the two ways to run it. */
#include "lab02/cases.h"
#include "lab02/evidence_findings.h"
#include "lab02/evidence_protocol.h"

#include "base/json.h"
#include "testing/fuzz.h"

#include <math.h>

static void check_findings(const struct findings *f) {
    INVARIANT(f->n_arrivals >= 2 && f->n_arrivals <= FINDINGS_MAX_ARRIVALS);
    INVARIANT(f->n_runs >= FINDINGS_MIN_RUNS && f->n_runs <= FINDINGS_MAX_RUNS);
    for (int i = 0; i < f->n_runs; i++) {
        INVARIANT(f->runs[i].setup_ms >= 0 && f->runs[i].setup_ms <= 1000);
        INVARIANT(isfinite(f->runs[i].single.throughput_rps));
    }
    INVARIANT(memchr(f->conclusion, '\0', sizeof f->conclusion) != NULL);
}

static void check_protocol(const struct protocol *p) {
    struct err e = {0};
    INVARIANT(p->n_values >= 2 && p->n_values <= PROTOCOL_MAX_VALUES);
    INVARIANT(p->load.n_concurrency >= -1 && p->load.n_concurrency <= PROTOCOL_MAX_LEVELS);
    INVARIANT(p->load.n_offered >= -1 && p->load.n_offered <= PROTOCOL_MAX_LEVELS);
    INVARIANT(p->repeats.n_seeds >= 1 && p->repeats.n_seeds <= PROTOCOL_MAX_REPEATS);
    INVARIANT(p->n_percentiles >= 1 && p->n_percentiles <= PROTOCOL_MAX_PERCENTILES);
    if (lab02_protocol_gaps(p, &e) > 0) INVARIANT(e.text[0] && e.field[0]);
    if (lab02_protocol_contradictions(p, &e) > 0) INVARIANT(e.text[0] && e.field[0]);
}

static void check_case(const uint8_t *data, size_t size) {
    static unsigned char again[WIRE_MAX_PAYLOAD];
    static struct lab02_case c;
    struct wire r = wire_reader(data, size), w = wire_writer(again, sizeof again);
    if (lab02_case_codec(&r, &c)) return;
    INVARIANT(lab02_case_slots(&c) >= 1 && lab02_case_slots(&c) <= 4096);
    INVARIANT(lab02_case_codec(&w, &c) == 0);
    lab02_case_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct findings f;
    static struct protocol p;
    struct err e = {0};
    check_case(data, size);
    cJSON *doc = json_parse((const char *)data, size, 1, &e);
    if (!doc) return 0;
    if (lab02_findings_read(&f, doc, &e) == 0)
        check_findings(&f);
    else
        INVARIANT(e.text[0]);
    if (lab02_protocol_read(&p, doc, &e) == 0)
        check_protocol(&p);
    else
        INVARIANT(e.text[0]);
    cJSON_Delete(doc);
    return 0;
}
