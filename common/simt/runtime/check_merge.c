/* check_merge.c: merges the traces of a warp's lanes into requests: accesses made at the same time.
 *
 * Between two barriers or full warp operations (a stretch) each lane leaves a trace of its accesses
 * and basic blocks. Lanes proceed together as long as they are at one place in the code. Where they
 * diverge, each way is followed to where the ways meet again (check_graph.h), and there the lanes
 * wait for each other, as in a GPU's code: after an if; at the head of a loop for its next round;
 * after a loop for the lanes that are still in it. No lane waits for a lane that has ended.
 */
#include "check_graph.h"

struct merge {
    const struct trace *t;
    int lanes;
    bool known;        /* the graph is this stretch's */
    uint32_t at[WARP]; /* next record of each lane */
};

static uint32_t place(const struct merge *m, int l) {
    return m->t[l].list[m->at[l]].pc;
}

/* The common case: all 32 lanes, as long as they are at one place. Returns the last such place, 0:
 * none. */
static uint32_t steps_of_all(struct merge *m) {
    uint32_t before = 0;
    for (;;) {
        uint64_t address[WARP];
        const struct record *first = &m->t[0].list[m->at[0]];
        uint32_t differ = 0, over = 0;
        for (int l = 0; l < WARP; l++) {
            const struct record *r = &m->t[l].list[m->at[l]];
            address[l] = r->address;
            differ |= r->pc ^ first->pc;
        }
        if (differ) return before;
        for (int l = 0; l < WARP; l++) over |= (uint32_t)(++m->at[l] == m->t[l].count) << l;
        before = first->pc;
        if (first->address) request_account(first, address, WARP);
        if (over) return before;
    }
}

/* One record of these lanes, which are at one place. Not inlined: go() recurses and must use little
 * stack. */
static __attribute__((noinline)) void step(struct merge *m, uint32_t set) {
    uint64_t address[WARP];
    const struct record *first = NULL;
    int n = 0;
    for (; set; set &= set - 1) {
        int l = __builtin_ctz(set);
        const struct record *r = &m->t[l].list[m->at[l]++];
        if (!first) first = r;
        address[n++] = r->address;
    }
    if (first && first->address) request_account(first, address, n);
}

/* The lanes that have records left and haven't reached that meeting. *where: the place of the first
 * of them; *there: those of them at this place. */
static uint32_t going_on(const struct merge *m, uint32_t lanes, struct meeting stop,
                         uint32_t *where, uint32_t *there) {
    uint32_t going = 0, met_at = 0, on_at = 0; /* the last answers of graph_met */
    *there = 0;
    for (uint32_t set = lanes; set; set &= set - 1) {
        int l = __builtin_ctz(set);
        if (m->at[l] == m->t[l].count) continue;
        uint32_t pc = place(m, l);
        if (pc != met_at && pc != on_at) {
            if (graph_met(stop, pc))
                met_at = pc;
            else
                on_at = pc;
        }
        if (pc == met_at) continue;
        if (!going) *where = pc;
        if (pc == *where) *there |= 1u << l;
        going |= 1u << l;
    }
    return going;
}

static void go(struct merge *m, uint32_t lanes, uint32_t before, struct meeting stop);

/* The lanes diverged after this node. Advances them to where they meet. */
static struct meeting part(struct merge *m, uint32_t lanes, int node) {
    struct meeting meeting = graph_meeting(node);
    uint32_t where, there;
    while (going_on(m, lanes, meeting, &where, &there)) go(m, there, 0, meeting);
    return meeting;
}

/* Advances the lanes to `stop`, or to their ends; lanes at one place go together. They all come
 * from `before` (0: unknown). Recurses at most once a lane: each way has fewer lanes. */
static void go(struct merge *m, uint32_t lanes, uint32_t before, struct meeting stop) {
    struct meeting last = {.how = MEET_NEVER, .node = GRAPH_ENTRY};
    for (;;) {
        uint32_t where = 0, there, going = going_on(m, lanes, stop, &where, &there);
        if (before && going && (going != lanes || there != going))
            count_site(before, COUNT_KINDS, false)->divergent++;
        if (!going) return;
        lanes = going;
        if (there == going) {
            before = where;
            step(m, lanes);
            continue;
        }
        if (!m->known) graph_build(m->t, m->lanes);
        m->known = true;
        if (before) last = (struct meeting){.node = graph_node(before)};
        before = 0;
        if (last.how == MEET_ROUND) { /* some have left the loop: the others stay in it */
            uint32_t inside = 0;
            for (uint32_t set = lanes; set; set &= set - 1)
                if (place(m, __builtin_ctz(set)) == last.pc) inside |= 1u << __builtin_ctz(set);
            if (inside) go(m, inside, 0, (struct meeting){.how = MEET_LEFT, .pc = last.pc});
            last.how = MEET_LEFT;
            continue;
        }
        last = part(m, lanes, last.node);
    }
}

void count_flush(struct worker *w, int warp) {
    struct merge m = {.t = count_traces, .lanes = w->threads - warp * WARP};
    uint32_t set = 0, before = 0;
    if (m.lanes > WARP) m.lanes = WARP;
    count_trace(w, warp, m.lanes);
    for (int l = 0; l < m.lanes; l++)
        if (m.t[l].count) set |= 1u << l;
    if (set == ~0u) before = steps_of_all(&m);
    go(&m, set, before, (struct meeting){.how = MEET_NEVER});
    for (int l = 0; l < m.lanes; l++) {
        count_lane_worked(warp * WARP + l);
        count_traces[l].count = 0;
    }
}
