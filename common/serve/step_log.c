/* step_log.c: see step_log.h. */
#include "serve/step_log.h"

#include "backend/paced.h"
#include "base/json.h"
#include "base/regular.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "servelab.step-log.v1"

struct step_log {
    FILE *file;
    int error; /* errno of the first write that failed */
};

static void note_error(struct step_log *l) {
    if (ferror(l->file) && !l->error) l->error = errno;
}

static bool write_head(FILE *f, const struct backend *b, const struct clock *c,
                       int32_t draft_tokens) {
    cJSON *o = cJSON_CreateObject();
    const char *paced = paced_label(b);
    cJSON_AddStringToObject(o, "schema", SCHEMA);
    cJSON_AddStringToObject(o, "clock_api", c->api);
    cJSON_AddStringToObject(o, "backend", b->info.name);
    if (b->info.precision) cJSON_AddStringToObject(o, "precision", b->info.precision);
    if (b->info.kv_type) cJSON_AddStringToObject(o, "kv_type", b->info.kv_type);
    if (paced)
        cJSON_AddStringToObject(o, "paced", paced);
    else
        cJSON_AddNullToObject(o, "paced");
    cJSON_AddNumberToObject(o, "kv_blocks", b->info.kv_blocks);
    cJSON_AddNumberToObject(o, "token_budget", b->info.max_step_tokens);
    cJSON_AddNumberToObject(o, "max_batch", b->info.max_seqs);
    if (draft_tokens) cJSON_AddNumberToObject(o, "draft_tokens", draft_tokens);
    char *text = json_print(o);
    bool ok = text && fprintf(f, "%s\n", text) > 0 && !fflush(f);
    cJSON_free(text);
    cJSON_Delete(o);
    return ok;
}

struct step_log *step_log_open(const char *path, const struct backend *b, const struct clock *c,
                               int32_t draft_tokens, struct err *e) {
    struct step_log *l = calloc(1, sizeof *l);
    if (l && (l->file = fopen(path, "we")) && write_head(l->file, b, c, draft_tokens)) return l;
    err_at(e, 0, "--step-log", "%.200s can't be written: %s", path, strerror(errno));
    if (l && l->file) fclose(l->file);
    free(l);
    return NULL;
}

/* A ratio with three decimals, or null without a divisor. */
static void put_ratio(FILE *f, const char *name, int32_t a, int32_t b) {
    if (b > 0)
        fprintf(f, ",\"%s\":%.3f", name, (double)a / b);
    else
        fprintf(f, ",\"%s\":null", name);
}

static void put_drafts(FILE *f, const struct step *s) {
    fprintf(f, ",\"draft_tokens\":%d,\"accepted_draft_tokens\":%d", s->draft_tokens,
            s->accepted_draft_tokens);
    put_ratio(f, "acceptance_rate", s->accepted_draft_tokens, s->draft_tokens);
    put_ratio(f, "tokens_per_pass", s->decode_tokens + s->accepted_draft_tokens, s->decode_tokens);
}

void step_log_add(struct step_log *l, const struct step *s) {
    if (!l) return;
    fprintf(l->file,
            "{\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64
            ",\"prefill_tokens\":%d,\"decode_tokens\":%d,\"sequences\":%d,"
            "\"context_tokens\":%" PRId64 ",\"attended_tokens\":%" PRId64
            ",\"waiting\":%d,\"kv_blocks_used\":%d",
            s->start_ns, s->end_ns, s->prefill_tokens, s->decode_tokens, s->sequences,
            s->context_tokens, s->attended_tokens, s->waiting, s->kv_blocks_used);
    if (s->speculates) put_drafts(l->file, s);
    fputs("}\n", l->file);
    note_error(l);
}

int step_log_close(struct step_log *l, struct err *e) {
    if (!l) return 0;
    if (fclose(l->file) && !l->error) l->error = errno;
    int error = l->error;
    free(l);
    return error ? err_at(e, 0, "--step-log", "steps could not be logged: %s", strerror(error)) : 0;
}

int step_log_parse(const char *text, int n, struct step *s, struct err *e) {
    cJSON *o = json_parse(text, strlen(text), n, e);
    if (!o) return -1;
    int rc = 1;
    const char *schema = NULL;
    if (cJSON_GetObjectItemCaseSensitive(o, "schema")) {
        rc = json_get_string(o, "", "schema", &schema, e);
        if (!rc && strcmp(schema, SCHEMA) != 0)
            rc = err_at(e, n, "schema", "'%.60s' is unknown; a step log has " SCHEMA, schema);
        goto done;
    }
    *s = (struct step){0};
    int64_t prefill, decode, sequences, drafted = 0, accepted = 0;
    bool found;
    if (json_get_int(o, "", "start_ns", 0, JSON_MAX_INT, &s->start_ns, e) ||
        json_get_int(o, "", "end_ns", s->start_ns, JSON_MAX_INT, &s->end_ns, e) ||
        json_get_int(o, "", "prefill_tokens", 0, INT32_MAX, &prefill, e) ||
        json_get_int(o, "", "decode_tokens", 0, INT32_MAX, &decode, e) ||
        json_get_int(o, "", "sequences", 1, INT32_MAX, &sequences, e) ||
        json_get_int(o, "", "context_tokens", 0, JSON_MAX_INT, &s->context_tokens, e) ||
        json_get_int(o, "", "attended_tokens", 0, JSON_MAX_INT, &s->attended_tokens, e) ||
        json_get_int_opt(o, "", "draft_tokens", 0, INT32_MAX, &drafted, &s->speculates, e) ||
        json_get_int_opt(o, "", "accepted_draft_tokens", 0, INT32_MAX, &accepted, &found, e)) {
        e->line = n;
        rc = -1;
        goto done;
    }
    s->prefill_tokens = (int32_t)prefill;
    s->decode_tokens = (int32_t)decode;
    s->sequences = (int32_t)sequences;
    s->draft_tokens = (int32_t)drafted;
    s->accepted_draft_tokens = (int32_t)accepted;
done:
    cJSON_Delete(o);
    return rc;
}

/* A server writes one head, and its steps one after the other. */
static int check_order(int kind, const struct step *s, int n, int64_t *last_end_ns, struct err *e) {
    if (kind == 0 && n > 1)
        return err_at(e, n, "schema", "is there twice: these are the logs of two runs; give one");
    if (kind == 1 && s->start_ns < *last_end_ns)
        return err_at(e, n, "start_ns",
                      "is before the end of the step above: the log has steps twice, or of two "
                      "clocks");
    if (kind == 1) *last_end_ns = s->end_ns;
    return kind;
}

int step_log_each(const char *path, step_log_fn *each, void *ctx, struct err *e) {
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    FILE *f = regular_open(path, e);
    if (!f) return -1;
    int rc = 0;
    int64_t last_end_ns = 0;
    for (int n = 1; rc >= 0 && (len = regular_line(&line, &room, f, n, e)) != 0; n++) {
        struct step s;
        if (len < 0) {
            rc = -1;
            break;
        }
        bool whole = line[len - 1] == '\n';
        if (whole) line[--len] = '\0';
        if (strlen(line) != (size_t)len)
            rc = err_at(e, n, "", "holds a byte 0, so it isn't text");
        else
            rc = check_order(step_log_parse(line, n, &s, e), &s, n, &last_end_ns, e);
        if (rc == 1) each(ctx, &s, line);
        if (rc < 0 && !whole && n > 1) rc = 0;
    }
    free(line);
    fclose(f);
    return rc < 0 ? -1 : 0;
}
