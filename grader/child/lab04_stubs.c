/* child/lab04_stubs.c: supplies functions of a file that is missing or was refused, so that the
 * other files are graded. Weak symbols: a submission's own function always replaces them. */
#include "base/lab_todo.h"
#include "objective/report.h"
#include "serve/engine.h"
#include "serve/kv_blocks.h"
#include "serve/stamps.h"

#define STUB __attribute__((weak))

STUB struct kv_pool *kv_pool_create(int32_t n_blocks, struct err *e) {
    LAB_TODO("kv_pool_create");
}
STUB void kv_pool_free(struct kv_pool *p) {
    LAB_TODO("kv_pool_free");
}
STUB int32_t kv_pool_free_blocks(const struct kv_pool *p) {
    LAB_TODO("kv_pool_free_blocks");
}
STUB int32_t kv_pool_total_blocks(const struct kv_pool *p) {
    LAB_TODO("kv_pool_total_blocks");
}
STUB int kv_table_reserve(struct kv_pool *p, struct kv_table *t, int32_t tokens, struct err *e) {
    LAB_TODO("kv_table_reserve");
}
STUB void kv_table_release(struct kv_pool *p, struct kv_table *t) {
    LAB_TODO("kv_table_release");
}
STUB int32_t kv_table_share(struct kv_pool *p, struct kv_table *t, const int32_t *tokens,
                            int32_t most) {
    LAB_TODO("kv_table_share");
}
STUB void kv_table_publish(struct kv_pool *p, struct kv_table *t, const int32_t *tokens,
                           int32_t computed) {
    LAB_TODO("kv_table_publish");
}
STUB enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    LAB_TODO("engine_step");
}
STUB void stamp_accepted(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_accepted");
}
STUB void stamp_tokenized(struct record *r, const struct clock *c, int32_t prompt_tokens) {
    LAB_TODO("stamp_tokenized");
}
STUB void stamp_admitted(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_admitted");
}
STUB void stamp_preempted(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_preempted");
}
STUB void stamp_first_token(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_first_token");
}
STUB void stamp_token_sent(struct record *r, const struct clock *c, int32_t tokens) {
    LAB_TODO("stamp_token_sent");
}
STUB void stamp_finished(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_finished");
}
STUB void stamp_rejected(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_rejected");
}
STUB void stamp_cancelled(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_cancelled");
}
STUB void stamp_failed(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_failed");
}
STUB int report_attempt(const struct record *r, int64_t scheduled_ns,
                        enum truncation_rule truncation, struct report_attempt *out,
                        struct err *e) {
    LAB_TODO("report_attempt");
}
STUB int report_group(const struct objective *o, const struct report_attempt *attempts, size_t n,
                      struct report_request *out, size_t *n_out, struct err *e) {
    LAB_TODO("report_group");
}
STUB int report_measure(const struct objective *o, const struct report_request *requests, size_t n,
                        const struct report_window *window, struct report_point *out,
                        struct err *e) {
    LAB_TODO("report_measure");
}
STUB enum slo_answer report_verdict(const struct objective *o, const struct report_point *p) {
    LAB_TODO("report_verdict");
}
STUB int report_regions(const struct objective *o, const struct report_point *points, size_t n,
                        struct report_regions *out, struct err *e) {
    LAB_TODO("report_regions");
}
