/* make_stamps.c: scripts of calls of stamps.c over a clock that moves by a hidden step at each
 * reading, and the events that must be in the record. */
#include "lab04/lab04.h"

enum { FIRST_PLAIN = 0, TOKENIZED = 8, TOKEN_SENT = 9, FUNCTIONS = 10 };

static const char *const names[] = {"stamp_accepted",    "stamp_admitted", "stamp_preempted",
                                    "stamp_first_token", "stamp_finished", "stamp_rejected",
                                    "stamp_cancelled",   "stamp_failed",   "stamp_tokenized",
                                    "stamp_token_sent"};
static const enum event_kind kinds[] = {
    EV_REQUEST_ACCEPTED,      EV_REQUEST_ADMITTED, EV_REQUEST_PREEMPTED, EV_FIRST_TOKEN,
    EV_RESPONSE_FINISHED,     EV_REQUEST_REJECTED, EV_REQUEST_CANCELLED, EV_REQUEST_FAILED,
    EV_TOKENIZATION_FINISHED, EV_TOKEN_SENT};

static int choose(struct lab04_making *m, enum lab04_maker which, int i) {
    static const int once[] = {1, 3, 2, 1, 3, 2, 1, 3};
    if (which == MAKE_STAMP_KINDS && i == 0) return m->k % FUNCTIONS;
    if (which == MAKE_STAMP_ONCE && lab04_chance(&m->rng, 70)) return once[rng_below(&m->rng, 8)];
    return (int)rng_below(&m->rng, FUNCTIONS);
}

void lab04_make_stamps(struct lab04_making *m, enum lab04_maker which) {
    static const char *const what[] = {"event kind", "event clock",  "event source",
                                       "event t_ns", "event tokens", "event clock_api"};
    int n = (int)lab04_between(&m->rng, 1, STAMP_MAX - 2), events = 0, i;
    int64_t now = lab04_between(&m->rng, 0, INT64_C(1) << 40), prompt = -1, *v = m->c->v;
    bool admitted = false, first = false;
    int64_t want[STAMP_MAX][STAMP_EACH] = {{0}};
    m->c->fn = FN_STAMPS;
    v[0] = lab04_between(&m->rng, 0, 2);
    v[1] = now;
    v[2] = n;
    for (i = 0; i < n; i++) {
        int f = choose(m, which, i);
        int64_t arg = lab04_between(&m->rng, 0, 3000);
        int64_t tick = lab04_between(&m->rng, 1, 100000), *w = want[events];
        bool by_scheduler = kinds[f] == EV_REQUEST_ADMITTED || kinds[f] == EV_REQUEST_PREEMPTED;
        v[3 + 3 * i] = f;
        v[4 + 3 * i] = arg;
        v[5 + 3 * i] = tick;
        if (i == 0) lab04_kind(m, "%d calls, the first of %s", n, names[f]);
        if (kinds[f] == EV_FIRST_TOKEN && first) { /* the clock is read all the same */
            now += tick;
            continue;
        }
        w[0] = kinds[f] == EV_REQUEST_ADMITTED && admitted ? EV_REQUEST_RESUMED : (int)kinds[f];
        w[1] = CLOCK_SERVER;
        w[2] = by_scheduler ? SRC_SCHEDULER_LOG : SRC_SERVER_LOG;
        w[3] = now;
        w[4] = f == TOKEN_SENT ? arg : 0;
        admitted |= kinds[f] == EV_REQUEST_ADMITTED;
        first |= kinds[f] == EV_FIRST_TOKEN;
        if (f == TOKENIZED) prompt = arg;
        now += tick;
        events++;
    }
    m->c->n = 3 + 3 * (size_t)n;
    lab04_want(m, "events", events);
    lab04_want(m, "prompt_tokens", prompt);
    lab04_want(m, "readings of the clock", n);
    lab04_want(m, "changes before the clock was read", 0);
    for (i = 0; i < STAMP_MAX; i++)
        for (int j = 0; j < STAMP_EACH; j++) lab04_want(m, what[j], j == 5 ? 1 : want[i][j]);
    if (which == MAKE_STAMP_KINDS)
        m->focus = "events|prompt_tokens|event kind|event clock|event source|event tokens";
    if (which == MAKE_STAMP_TIMES) m->focus = "events|readings|changes|event t_ns|event clock_api";
}
