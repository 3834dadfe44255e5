/* Leaks so large a block that the C library maps it, and does not count it as heap.
 * file: analysis.c
 * watch: safety.no_leak
 * examined: lost; says: in analysis.c doesn't give back
 * trusted: nothing
 */
//reference point_stable right_answer
#include <stdlib.h>

bool point_stable(const struct point_request *requests, size_t n, int64_t from_ns, int64_t to_ns) {
    volatile char *lost = malloc(160 * 1024);
    if (lost) lost[0] = 1;
    return right_answer(requests, n, from_ns, to_ns);
}
