/* classify.c: classifies a user request (objective/classify.h has the rules).
 *
 * In this order: did the whole answer arrive, did a named check pass it, and only then, was it
 * within the limits?
 */
#include "objective/classify.h"
#include "base/lab_todo.h"

enum completion_reason classify_attempt(const struct record *r, enum truncation_rule truncation) {
    LAB_TODO("classify_attempt");
}

void classify_request(const struct record *const *attempts, size_t n,
                      enum truncation_rule truncation, struct classification *out) {
    LAB_TODO("classify_request");
}

bool classify_good(const struct classification *c, const struct intervals *iv,
                   const struct objective *o) {
    LAB_TODO("classify_good");
}
