/* A step that does not come back.
 * examined: lost; says: endless loop
 * trusted: nothing
 */
#include "serve/engine.h"

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    (void)g, (void)wake_ns, (void)e;
    for (volatile int i = 0;; i = 1 - i) {
    }
}
