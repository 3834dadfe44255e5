/* fuzz_lab02_forms.c: any bytes as findings.json or protocol.json: refused with a message that
 * names what is wrong, or read within every bound of their headers. See testing/fuzz.h for the two
 * ways to run it. */
#include "lab02/findings.h"
#include "lab02/protocol.h"

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
    if (protocol_gaps(p, &e) > 0) INVARIANT(e.text[0] && e.field[0]);
    if (protocol_contradictions(p, &e) > 0) INVARIANT(e.text[0] && e.field[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct findings f;
    static struct protocol p;
    struct err e = {0};
    cJSON *doc = json_parse((const char *)data, size, 1, &e);
    if (!doc) return 0;
    if (findings_read(&f, doc, &e) == 0)
        check_findings(&f);
    else
        INVARIANT(e.text[0]);
    if (protocol_read(&p, doc, &e) == 0)
        check_protocol(&p);
    else
        INVARIANT(e.text[0]);
    cJSON_Delete(doc);
    return 0;
}
