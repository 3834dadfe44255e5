/* intervals.c: computes intervals from timestamps. record/intervals.h defines each of them.
 *
 * An interval has both of its ends on one clock; if an end is missing, there is no interval.
 * Nothing is guessed, clamped or printed here.
 */
#include "record/intervals.h"
#include "base/lab_todo.h"

struct interval interval_between(const struct record *r, const struct event *start,
                                 const struct event *end) {
    LAB_TODO("interval_between");
}

int64_t interval_divide(int64_t n, int64_t d) {
    LAB_TODO("interval_divide");
}

void intervals_compute(const struct record *r, struct intervals *out) {
    LAB_TODO("intervals_compute");
}

size_t intervals_itl(const struct record *r, int64_t *out_ns, size_t cap) {
    LAB_TODO("intervals_itl");
}
