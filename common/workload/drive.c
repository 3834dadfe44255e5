/* drive.c: see drive.h. */
#include "workload/drive.h"

int workload_drive(struct workload *w, struct sim *s, struct err *e) {
    while (!workload_over(w)) { /* a server that knows of the end doesn't hold back a short group */
        int64_t at = workload_peek_ns(w);
        int rc = sim_run_to_end(s, at, e);
        if (rc < 0) return -1;
        if (rc > 0) continue; /* something ended: the next arrival may be an earlier one now */
        struct sim_request r;
        int got = workload_next(w, &r, e);
        if (got < 0) return -1;
        if (got == WORKLOAD_WAIT)
            return err_set(e, "all clients wait, but the server's policy runs none of their "
                              "requests; choose one that doesn't wait for more");
        if (sim_push(s, &r, e)) return -1;
    }
    return sim_finish(s, e);
}
