/* http_models.c: GET /v1/models, /v1/models/{id}, /health and /version. See http.h. */
#include "serve/http_reply.h"

#include "backend/paced.h"

#include <string.h>

static struct openai_model describe(const struct http *h) {
    const struct backend *b = h->o.engine->backend;
    return (struct openai_model){.name = h->o.model_name,
                                 .created_s = h->started_s,
                                 .context_length = b->info.max_seq_tokens,
                                 .vocab_size = tokenizer_vocab_size(h->o.tokenizer),
                                 .paced = paced_label(b)};
}

enum MHD_Result models_route_list(struct exchange *x) {
    struct buffer b = {0};
    const struct openai_model m = describe(x->h);
    openai_models(&b, &m);
    return reply_bytes(x, 200, "application/json", &b);
}

enum MHD_Result models_route_get(struct exchange *x) {
    struct buffer b = {0};
    const struct openai_model m = describe(x->h);
    if (strcmp(x->id, m.name))
        return reply_error(x, 404, "model", "model_not_found", "this server has \"%s\", not \"%s\"",
                           m.name, x->id);
    openai_model(&b, &m);
    return reply_bytes(x, 200, "application/json", &b);
}

enum MHD_Result health_route(struct exchange *x) {
    struct engine_load load = engine_load_of(x->h->o.engine);
    pthread_mutex_lock(&x->h->lock);
    bool draining = x->h->draining;
    pthread_mutex_unlock(&x->h->lock);
    struct buffer b = {0};
    const struct backend *backend = x->h->o.engine->backend;
    const char *paced = paced_label(backend);
    struct pace_counts pace = paced_counts(backend);
    buffer_printf(&b, "{\"status\":\"%s\",\"waiting\":%d,\"running\":%d,\"backend\":\"%s\"",
                  draining    ? "draining"
                  : load.lost ? "failed"
                              : "ok",
                  load.waiting, load.running, backend->info.name);
    if (x->h->o.synthetic) {
        buffer_puts(&b, ",\"synthetic_weights\":");
        buffer_json_puts(&b, x->h->o.synthetic);
    }
    if (backend->info.precision)
        buffer_printf(&b, ",\"precision\":\"%s\"", backend->info.precision);
    if (backend->info.kv_type) buffer_printf(&b, ",\"kv_type\":\"%s\"", backend->info.kv_type);
    buffer_printf(&b, ",\"kv_blocks\":%d,\"kv_blocks_free\":%d", load.kv_blocks,
                  load.free_kv_blocks);
    if (paced)
        buffer_printf(
            &b, ",\"pace\":{\"label\":\"%s\",\"simulated\":true,\"steps\":%lld,\"late\":%lld}",
            paced, (long long)pace.steps, (long long)pace.late);
    if (load.lost) {
        buffer_puts(&b, ",\"fault\":");
        buffer_json_puts(&b, load.lost);
    }
    buffer_puts(&b, "}\n");
    return reply_bytes(x, draining || load.lost ? 503 : 200, "application/json", &b);
}

enum MHD_Result version_route(struct exchange *x) {
    struct buffer b = {0};
    buffer_puts(&b, "{\"version\":\"" SERVELAB_VERSION "\"}\n");
    return reply_bytes(x, 200, "application/json", &b);
}
