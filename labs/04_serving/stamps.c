/* stamps.c: the server's own events, stamped where they happen (serve/stamps.h has the rules).
 *
 * One idea: read the clock first, then do everything else. Work between the event and the reading
 * of the clock would be measured as part of the interval. Not here: whether an event happened; the
 * caller calls these functions where it does.
 */
#include "serve/stamps.h"
#include "base/lab_todo.h"

void stamp_accepted(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_accepted");
}

void stamp_tokenized(struct record *r, const struct clock *c, int32_t prompt_tokens) {
    LAB_TODO("stamp_tokenized");
}

void stamp_admitted(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_admitted");
}

void stamp_preempted(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_preempted");
}

void stamp_first_token(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_first_token");
}

void stamp_token_sent(struct record *r, const struct clock *c, int32_t tokens) {
    LAB_TODO("stamp_token_sent");
}

void stamp_finished(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_finished");
}

void stamp_rejected(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_rejected");
}

void stamp_cancelled(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_cancelled");
}

void stamp_failed(struct record *r, const struct clock *c) {
    LAB_TODO("stamp_failed");
}
