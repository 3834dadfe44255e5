/* Says "worked" for ever and does nothing.
 * examined: lost; says: instead of complete|endless
 * trusted: nothing
 */
#include "serve/engine.h"

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    (void)g, (void)wake_ns, (void)e;
    return ENGINE_WORKED;
}
