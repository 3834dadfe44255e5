/* child/server_confine.c: linked into lab 04's server. The engine's creation is the first call of a
 * submission's function. What the server opens it has opened before, but for its socket. A server
 * that can't be confined goes on: the sandbox is around it. */
#include "child/child.h"

#include "serve/engine.h"

/* the linker's names, by --wrap=engine_create */
struct engine *__real_engine_create(const struct engine_options *o, struct err *e);
struct engine *__wrap_engine_create(const struct engine_options *o, struct err *e);

struct engine *__wrap_engine_create(const struct engine_options *o, struct err *e) {
    child_confine_to(CHILD_SERVES);
    return __real_engine_create(o, e);
}
