/* Ends the process in the fifth step.
 * examined: lost; says: ended the program
 * trusted: nothing
 */
//reference engine_step right_step
#include <stdlib.h>

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    static int n;
    if (++n == 5) exit(0);
    return right_step(g, wake_ns, e);
}
