/* http_metrics.c: GET /metrics. See metrics.h. */
#include "serve/http_reply.h"

#include "backend/paced.h"
#include "serve/metrics.h"

enum MHD_Result metrics_route(struct exchange *x) {
    struct metrics m;
    struct buffer b = {0};
    struct engine_load load = engine_load_of(x->h->o.engine);
    const struct metrics_now now = {.model_name = x->h->o.model_name,
                                    .paced = paced_label(x->h->o.engine->backend),
                                    .running = load.running,
                                    .waiting = load.waiting,
                                    .kv_blocks = load.kv_blocks,
                                    .free_kv_blocks = load.free_kv_blocks,
                                    .speculates = x->h->o.engine->speculation != NULL};
    records_metrics(x->h->o.records, &m);
    metrics_print(&b, &m, &now);
    return reply_bytes(x, 200, METRICS_TYPE, &b);
}
