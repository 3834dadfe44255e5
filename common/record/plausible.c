/* plausible.c: could the events of a record have happened? See record_plausible in intervals.h.
 */
#include "record/intervals.h"
#include "record/record_internal.h"

#include <inttypes.h>
#include <stdio.h>

static bool present(const struct interval *i, const char *name, char *why, size_t cap) {
    if (i->status == INTERVAL_OK) return true;
    snprintf(why, cap, "%s is %s", name, i->status == INTERVAL_ABSENT ? "absent" : "in error");
    return false;
}

bool record_plausible(const struct record *r, const struct intervals *iv, char *why, size_t cap) {
    struct err e;
    if (record_validate_parts(r, &e)) {
        snprintf(why, cap, "%s: %s", e.field, e.text);
        return false;
    }
    if (!present(&iv->client_ttft, "client_ttft", why, cap) ||
        (!record_client_only(r) && !present(&iv->server_ttft, "server_ttft", why, cap)) ||
        !present(&iv->e2e, "e2e", why, cap))
        return false;
    int64_t client = iv->client_ttft.ns, server = iv->server_ttft.ns, e2e = iv->e2e.ns;
    if (client < server)
        snprintf(why, cap,
                 "client_ttft (%" PRId64 " ns) is shorter than server_ttft (%" PRId64
                 " ns): the browser can't see text before the server has a token; check the units",
                 client, server);
    else if (e2e < client)
        snprintf(why, cap, "e2e (%" PRId64 " ns) is shorter than client_ttft (%" PRId64 " ns)", e2e,
                 client);
    else
        snprintf(why, cap, "each clock's events are in causal order, %se2e >= client_ttft",
                 record_client_only(r) ? "" : "client_ttft >= server_ttft, ");
    return client >= server && e2e >= client;
}
