/* check_graph.h: finds where lanes of a warp that diverged meet again. */
#ifndef SIMT_CHECK_GRAPH_H
#define SIMT_CHECK_GRAPH_H

#include "check_count.h"

enum { GRAPH_NO_NODE = 0, GRAPH_ENTRY = 1 /* before the first records */ };

/* A place to wait at. */
struct meeting {
    enum { MEET_NEVER, MEET_AT, MEET_ROUND, MEET_LEFT } how;
    int node;    /* where one comes from after it */
    uint32_t pc; /* AT: the place itself; ROUND and LEFT: the head of the loop */
};

/* Kept until the next call. */
void graph_build(const struct trace *traces, int lanes);
/* GRAPH_NO_NODE: no lane passes there before an access. */
int graph_node(uint32_t pc);
/* Where lanes that diverge after this node meet again: at a place; at the end of a round of the
 * loop that they are in, which is its head or any place outside of it; or nowhere. */
struct meeting graph_meeting(int node);
/* Whether a lane at this place has reached that meeting. */
bool graph_met(struct meeting m, uint32_t pc);

#endif
