/* check_graph.c: the control-flow graph of the steps that a warp's lanes took in a stretch: its
 * loops, and where diverged lanes meet again.
 *
 * Built from the traces alone, so it holds only steps that were taken. Loops are found in one walk
 * (Wei, Mao, Zou and Chen, "A New Algorithm for Identifying Loops in Decompilation", 2007). Then
 * each loop gets a node for the end of a round: steps to the loop's head and steps out of the loop
 * lead there; from there steps lead to where the steps out led. That removes the cycles, and lanes
 * meet at the immediate postdominator (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm", 2001). A trace's end counts as a way out only if no other step leaves the node: a
 * lane that returns early doesn't keep the others apart.
 */
#include "check_graph.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT = GRAPH_NO_NODE, ENTRY = GRAPH_ENTRY, FIRST, NONE = -1 };

struct node {
    uint32_t pc;
    int successors, predecessors; /* first edges */
    int cursor;                   /* of a walk: the next edge to look at */
    int depth;                    /* on the walk's path, from 1; 0: not on it */
    bool seen, is_head;
    int around; /* head of the innermost loop around it; of a head: around the whole loop */
    int end;    /* of a head: the end of its rounds; of such an end: the head */
    int join;   /* the immediate postdominator */
    int order;  /* in the post order from EXIT backward */
};
struct edge {
    int from, to, next_successor, next_predecessor;
};
static struct graph {
    struct node *node;
    struct edge *edge;
    int *slot;                                      /* hash table of nodes by pc; 0: free */
    int *by_order;                                  /* nodes in post order */
    int *path;                                      /* of a walk */
    int nodes, places, node_room, edges, edge_room; /* places: nodes that aren't ends of rounds */
} g;

static void *grown(void *old, int room, size_t each) {
    void *p = realloc(old, (size_t)room * each);
    if (!p) simt_trap("out of memory", "simt", 0);
    return p;
}

static int *slot_of(uint32_t pc) {
    uint32_t mask = (uint32_t)(2 * g.node_room - 1), at = (pc * 0x9e3779b1u >> 8) & mask;
    while (g.slot[at] && g.node[g.slot[at]].pc != pc) at = (at + 1) & mask;
    return &g.slot[at];
}

static int add_node(uint32_t pc) {
    if (g.nodes == g.node_room) {
        g.node_room = g.node_room ? 2 * g.node_room : 256;
        g.node = grown(g.node, g.node_room, sizeof *g.node);
        g.by_order = grown(g.by_order, g.node_room, sizeof *g.by_order);
        g.path = grown(g.path, g.node_room, sizeof *g.path);
        g.slot = grown(g.slot, 2 * g.node_room, sizeof *g.slot);
        memset(g.slot, 0, 2 * (size_t)g.node_room * sizeof *g.slot);
        for (int i = FIRST; i < g.places; i++) *slot_of(g.node[i].pc) = i;
    }
    g.node[g.nodes] =
        (struct node){.pc = pc, .successors = NONE, .predecessors = NONE, .around = NONE};
    g.node[g.nodes].end = NONE;
    return g.nodes++;
}

int graph_node(uint32_t pc) {
    return *slot_of(pc);
}

static int place_node(uint32_t pc) {
    int known = graph_node(pc);
    if (known) return known;
    int n = add_node(pc);
    g.places = g.nodes;
    return *slot_of(pc) = n;
}

static void add_edge(int from, int to) {
    if (g.edges == g.edge_room) {
        g.edge_room = g.edge_room ? 2 * g.edge_room : 512;
        g.edge = grown(g.edge, g.edge_room, sizeof *g.edge);
    }
    struct node *a = &g.node[from], *b = &g.node[to];
    g.edge[g.edges] = (struct edge){from, to, a->successors, b->predecessors};
    a->successors = b->predecessors = g.edges++;
}

/* Up to the last access: the steps after it don't matter for the counts. */
static void add_trace(const struct record *r, uint32_t count) {
    int at = ENTRY;
    while (count && !r[count - 1].address) count--;
    for (uint32_t i = 0; i < count; i++) {
        int e = g.node[at].successors;
        while (e >= 0 && g.node[g.edge[e].to].pc != r[i].pc) e = g.edge[e].next_successor;
        int next = e >= 0 ? g.edge[e].to : place_node(r[i].pc);
        if (e < 0) add_edge(at, next);
        at = next;
    }
}

/* ---- loops -------------------------------------------------------------------------------------
 */
/* Node b is in the loop with this head: inserts the loop into the list of b's loops, innermost (the
 * deepest on the path) first. */
static void put_in_loop(int b, int head) {
    if (head == NONE) return;
    while (b != head && g.node[b].around != head) {
        int outer = g.node[b].around;
        if (outer == NONE || g.node[outer].depth < g.node[head].depth) {
            g.node[b].around = head;
            b = head;
            head = outer;
            if (head == NONE) return;
        } else {
            b = outer;
        }
    }
}

/* A step from the path's last node to a node that the walk has already visited. */
static void known_step(int from, int to) {
    if (g.node[to].depth) {
        g.node[to].is_head = true;
        put_in_loop(from, to);
        return;
    }
    int head = g.node[to].around; /* a loop that is not on the path is entered at its side */
    while (head != NONE && !g.node[head].depth) head = g.node[head].around;
    put_in_loop(from, head);
}

static void find_loops(void) {
    int depth = 0;
    for (int i = 0; i < g.nodes; i++) g.node[i].cursor = g.node[i].successors;
    g.path[depth++] = ENTRY;
    g.node[ENTRY].seen = true, g.node[ENTRY].depth = depth;
    while (depth) {
        int at = g.path[depth - 1], e = g.node[at].cursor;
        if (e < 0) {
            g.node[at].depth = 0;
            if (--depth) put_in_loop(g.path[depth - 1], g.node[at].around);
            continue;
        }
        g.node[at].cursor = g.edge[e].next_successor;
        int to = g.edge[e].to;
        if (g.node[to].seen) {
            known_step(at, to);
            continue;
        }
        g.path[depth++] = to;
        g.node[to].seen = true, g.node[to].depth = depth;
    }
}

static int innermost(int node) {
    return g.node[node].is_head ? node : g.node[node].around;
}

static bool is_in_loop(int node, int head) {
    int h = innermost(node);
    while (h != head && h != NONE) h = g.node[h].around;
    return h == head;
}

/* ---- without cycles: rounds with ends ----------------------------------------------------------
 */
static void lead_on(int from, int to) {
    int loop = innermost(from);
    while (loop != NONE) {
        if (to != loop && is_in_loop(to, loop)) break;
        add_edge(from, g.node[loop].end);
        if (to == loop) return;
        from = g.node[loop].end;
        loop = g.node[loop].around;
    }
    add_edge(from, to);
}

static void end_rounds(void) {
    int steps = g.edges;
    for (int i = 0; i < g.places; i++) {
        if (!g.node[i].is_head) continue;
        int end = add_node(g.node[i].pc);
        g.node[end].end = i;
        g.node[i].end = end;
    }
    for (int i = 0; i < g.nodes; i++) g.node[i].successors = g.node[i].predecessors = NONE;
    for (int e = 0; e < steps; e++) lead_on(g.edge[e].from, g.edge[e].to);
    for (int i = ENTRY; i < g.nodes; i++)
        if (g.node[i].successors < 0) add_edge(i, EXIT);
}

/* ---- where ways meet ---------------------------------------------------------------------------
 */
/* Numbers the nodes in post order of a walk from EXIT against the steps; how many it met. */
static int walk_back(void) {
    int numbered = 0, depth = 0;
    for (int i = 0; i < g.nodes; i++)
        g.node[i].seen = false, g.node[i].cursor = g.node[i].predecessors;
    g.path[depth++] = EXIT;
    g.node[EXIT].seen = true;
    while (depth) {
        int at = g.path[depth - 1], e = g.node[at].cursor;
        if (e < 0) {
            g.node[at].order = numbered;
            g.by_order[numbered++] = at;
            depth--;
            continue;
        }
        g.node[at].cursor = g.edge[e].next_predecessor;
        int from = g.edge[e].from;
        if (g.node[from].seen) continue;
        g.node[from].seen = true;
        g.path[depth++] = from;
    }
    return numbered;
}

static int common_join(int a, int b) {
    while (a != b)
        if (g.node[a].order < g.node[b].order)
            a = g.node[a].join;
        else
            b = g.node[b].join;
    return a;
}

static void find_joins(int numbered) {
    for (int i = 0; i < g.nodes; i++) g.node[i].join = NONE;
    g.node[EXIT].join = EXIT;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = numbered - 2; i >= 0; i--) { /* EXIT is the last */
            struct node *n = &g.node[g.by_order[i]];
            int join = NONE;
            for (int e = n->successors; e >= 0; e = g.edge[e].next_successor) {
                int to = g.edge[e].to;
                if (g.node[to].join >= 0) join = join < 0 ? to : common_join(to, join);
            }
            changed |= join != n->join;
            n->join = join;
        }
    }
}

void graph_build(const struct trace *traces, int lanes) {
    if (g.node_room) memset(g.slot, 0, 2 * (size_t)g.node_room * sizeof *g.slot);
    g.nodes = g.places = g.edges = 0;
    add_node(UINT32_MAX), add_node(UINT32_MAX); /* EXIT, ENTRY: call sites have 24 bits */
    g.places = g.nodes;
    for (int l = 0; l < lanes; l++) add_trace(traces[l].list, traces[l].count);
    find_loops();
    end_rounds();
    find_joins(walk_back());
}

struct meeting graph_meeting(int node) {
    int join = g.node[node].join;
    if (join <= EXIT) return (struct meeting){.how = MEET_NEVER, .node = EXIT};
    return (struct meeting){join < g.places ? MEET_AT : MEET_ROUND, join, g.node[join].pc};
}

bool graph_met(struct meeting m, uint32_t pc) {
    switch (m.how) {
    case MEET_NEVER:
        return false;
    case MEET_AT:
        return pc == m.pc;
    case MEET_ROUND:
        return pc == m.pc || !is_in_loop(graph_node(pc), graph_node(m.pc));
    case MEET_LEFT:
        return !is_in_loop(graph_node(pc), graph_node(m.pc));
    }
    return false;
}
