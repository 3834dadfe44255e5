/* http_records.c: the record routes: the client's half in, joined records and their numbers out.
 * See http.h and records.h.
 */
#include "serve/http_reply.h"

#include "base/json.h"
#include "objective/record_numbers.h"

#include <stdio.h>
#include <string.h>

enum { LIST_DEFAULT = 50 };

/* 404; with ?if_known=1 an empty 204, for a client that has sent its request and doesn't know
 * whether the server has read it. */
static enum MHD_Result unknown(struct exchange *x, int32_t attempt) {
    const char *if_known = request_query(x, "if_known");
    struct buffer nothing = {0};
    if (if_known && !strcmp(if_known, "1") && records_valid_id(x->id)) {
        buffer_puts(&nothing, "");
        return reply_bytes(x, 204, "application/json", &nothing);
    }
    char which[32] = "";
    if (attempt > 0) snprintf(which, sizeof which, "attempt %d of ", attempt);
    return reply_error(x, 404, NULL, "record_not_found",
                       "there is no record of %s%.63s (the last %d are kept)", which, x->id,
                       RECORDS_KEPT);
}

/* ?attempt=N, or 0 for the latest. */
static bool asked_attempt(struct exchange *x, int32_t *attempt) {
    const char *text = request_query(x, "attempt");
    *attempt = 0;
    return !text || read_attempt(text, attempt);
}

static enum MHD_Result bad_attempt(struct exchange *x, const char *field) {
    return reply_error(x, 400, field, NULL, "%s: must be a whole number from 1 to 1000000", field);
}

enum MHD_Result records_route_list(struct exchange *x) {
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "object", "list");
    cJSON_AddItemToObject(tree, "data", records_list(x->h->o.records, LIST_DEFAULT));
    return reply_tree(x, 200, tree);
}

enum MHD_Result records_route_get(struct exchange *x) {
    int32_t attempt;
    if (!asked_attempt(x, &attempt)) return bad_attempt(x, "attempt");
    struct record r;
    if (!records_get(x->h->o.records, x->id, attempt, &r)) return unknown(x, attempt);
    cJSON *tree = record_to_json(&r);
    record_release(&r);
    return reply_tree(x, 200, tree);
}

enum MHD_Result records_route_intervals(struct exchange *x) {
    int32_t attempt;
    if (!asked_attempt(x, &attempt)) return bad_attempt(x, "attempt");
    struct record r;
    if (!records_get(x->h->o.records, x->id, attempt, &r)) return unknown(x, attempt);
    const struct record *attempts = &r;
    struct intervals iv;
    struct classification c;
    struct buffer b = {0};
    intervals_compute(&r, &iv);
    classify_request(&attempts, 1, TRUNCATION_REJECT, &c);
    record_numbers_json(&b, &r, &iv, &c, NULL);
    buffer_puts(&b, "\n");
    record_release(&r);
    return reply_bytes(x, 200, "application/json", &b);
}

/* Which attempt the client's half belongs to: the body says it, or X-Attempt, or it is the latest.
 */
static int posted_attempt(struct exchange *x, const cJSON *half, int32_t *attempt, struct err *e) {
    const char *header = request_header(x, "X-Attempt");
    *attempt = 0;
    if (header && !read_attempt(header, attempt))
        return err_at(e, 0, "X-Attempt", "must be a whole number from 1 to 1000000");
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(half, "attempt");
    if (!member || cJSON_IsNull(member)) return 0;
    int64_t n;
    if (json_get_int(half, "", "attempt", 1, 1000000, &n, e)) return -1;
    *attempt = (int32_t)n;
    return 0;
}

static bool claims_quality(const cJSON *half) {
    const cJSON *q = cJSON_GetObjectItemCaseSensitive(half, "quality");
    const char *v = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(q, "verdict"));
    return v && strcmp(v, verdict_name(VERDICT_NOT_EVALUATED)) != 0;
}

enum MHD_Result records_route_post(struct exchange *x) {
    struct err e;
    int32_t attempt = 0;
    bool logged_without = false;
    cJSON *half = json_parse(x->body.bytes ? x->body.bytes : "", x->body.n, 1, &e);
    if (!half) return reply_err(x, 400, &e);
    enum records_post rc = POST_INVALID;
    if (x->h->o.synthetic && claims_quality(half)) {
        err_at(&e, 0, "quality",
               "the model's weights are made up, so its answers are not evaluated");
        rc = POST_CONFLICT;
    } else if (!posted_attempt(x, half, &attempt, &e))
        rc = records_join(x->h->o.records, x->id, attempt, half, &logged_without, &e);
    cJSON_Delete(half);
    if (rc == POST_UNKNOWN) return unknown(x, attempt);
    if (rc == POST_INVALID) return reply_err(x, 400, &e);
    if (rc == POST_CONFLICT) return reply_err(x, 409, &e);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "request_id", x->id);
    cJSON_AddBoolToObject(tree, "joined", true);
    /* true: this half came after the grace period, and the log's line lacks it */
    cJSON_AddBoolToObject(tree, "log_lacks_it", logged_without);
    return reply_tree(x, 200, tree);
}
