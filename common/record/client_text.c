/* client_text.c: TPOT of a record that holds the client's half alone. See intervals.h. */
#include "record/intervals.h"
#include "record/record_internal.h"

#include <math.h>

static const cJSON *of_client(const struct record *r, const char *key) {
    const cJSON *client = cJSON_GetObjectItemCaseSensitive(r->extra, "client");
    return cJSON_GetObjectItemCaseSensitive(client, key);
}

/* First to last chunk with text. -1: the record doesn't state it, or what it states can't be. */
static double text_span_ns(const struct record *r) {
    const cJSON *gaps = of_client(r, "chunk_gaps_ns"), *gap;
    double sum = 0;
    if (!cJSON_IsArray(gaps) || !gaps->child) return -1;
    cJSON_ArrayForEach(gap, gaps) {
        double ns = cJSON_IsNumber(gap) ? gap->valuedouble : -1;
        if (!(ns >= 0) || ns != floor(ns)) return -1;
        sum += ns;
    }
    return sum;
}

bool record_counts_too_many(const struct record *r) {
    int32_t most = r->workload.max_output_tokens;
    return record_client_only(r) && most >= 0 && r->workload.output_tokens > most;
}

bool record_in_one_piece(const struct record *r) {
    const cJSON *answer = of_client(r, "answer_chunks");
    const cJSON *reasoning = of_client(r, "reasoning_chunks");
    if (!record_client_only(r) || r->workload.output_tokens < 2) return false;
    double chunks =
        cJSON_GetNumberValue(answer) + (reasoning ? cJSON_GetNumberValue(reasoning) : 0);
    return chunks == 1 || text_span_ns(r) == 0;
}

void intervals_of_client(const struct record *r, struct intervals *iv) {
    if (!record_client_only(r) || iv->tpot.status != INTERVAL_OK) return;
    double span_ns = text_span_ns(r);
    int64_t steps = (int64_t)r->workload.output_tokens - 1;
    if (record_in_one_piece(r) || record_counts_too_many(r)) {
        iv->tpot = (struct interval){.status = INTERVAL_ABSENT};
        iv->tpot_boundary = TPOT_NONE;
    } else if (span_ns > 0 && span_ns <= (double)(iv->tpot.ns + 1) * (double)steps) {
        iv->tpot.ns = ((int64_t)span_ns + steps / 2) / steps; /* as interval_divide does */
    }
}
