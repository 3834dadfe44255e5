/* record_numbers.c: one record's intervals and classification as JSON. See record_numbers.h. */
#include "objective/record_numbers.h"

#include <inttypes.h>

static const char *yes_or_no(bool yes) {
    return yes ? "true" : "false";
}

void record_numbers_json(struct buffer *b, const struct record *r, const struct intervals *iv,
                         const struct classification *c, const bool *good) {
    static const char *const boundaries[] = {[TPOT_NONE] = "null",
                                             [TPOT_TOKEN_SENT] = "\"token_sent\"",
                                             [TPOT_BROWSER_BYTES] = "\"browser_bytes\""};
    buffer_puts(b, "{\"request_id\":");
    buffer_json_puts(b, r->request_id);
    for (enum interval_id id = IV_CLIENT_TTFT; id <= IV_TPOT; id++) {
        const struct interval *i = interval_get(iv, id);
        buffer_printf(b, ",\"%s_ns\":", interval_name(id));
        if (i->status == INTERVAL_OK)
            buffer_printf(b, "%" PRId64, i->ns);
        else
            buffer_puts(b, "null");
    }
    buffer_printf(b, ",\"tpot_boundary\":%s", boundaries[iv->tpot_boundary]);
    buffer_printf(b, ",\"completion\":\"%s\",\"completion_reason\":\"%s\"",
                  c->completed ? "completed" : "incomplete", attempt_reason_name(r, c->reason));
    buffer_printf(b, ",\"quality\":\"%s\",\"structure\":\"%s\",\"useful\":%s",
                  verdict_name(c->quality), verdict_name(c->structure), yes_or_no(c->useful));
    if (good) buffer_printf(b, ",\"good\":%s", yes_or_no(*good));
    buffer_puts(b, "}");
}
