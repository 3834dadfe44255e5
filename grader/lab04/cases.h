/* cases.h: one case of lab 04, as it crosses the channel. Shared by the grader and the child.
 *
 * A case calls one function of report.c with structures, or is a script of numbers: calls of
 * stamps.c, operations on a KV pool, or a workload for the engine. The answer's length is part of
 * the case (n_slots).
 */
#ifndef SERVELAB_GRADER_LAB04_CASES_H
#define SERVELAB_GRADER_LAB04_CASES_H

#include "core/wire.h"
#include "lab04/machine.h"

#include "objective/report.h"

enum lab04_fn {
    FN_STAMPS, /* script: api, start_ns, n, for each: function, argument, tick_ns */
    FN_KV,     /* script: see judge_kv.c */
    FN_ENGINE, /* script: a machine_config */
    FN_ATTEMPT,
    FN_GROUP,
    FN_MEASURE,
    FN_VERDICT, /* of points[0] */
    FN_REGIONS,
    FN_N
};

enum {
    CASE_MAX_ATTEMPTS = 200,
    CASE_MAX_EVENTS = 24,
    CASE_MAX_POINTS = 8,
    CASE_MAX_SCRIPT = MACHINE_CONFIG_NUMBERS,
    CASE_MAX_SLOTS = 4096,
    CASE_POISON = 0xa5 /* each byte of an output before the call */
};

enum lab04_memory {
    MEMORY_PLAIN,
    MEMORY_READ_ONLY, /* inputs can't be written */
    MEMORY_REPEAT,    /* many calls; the growth of the heap is one more slot */
    MEMORY_LONG       /* FN_ENGINE: 10,000 requests of one engine; the same */
};

struct lab04_case {
    enum lab04_fn fn;
    enum lab04_memory memory;
    size_t n_slots; /* without the heap's */
    int64_t v[CASE_MAX_SCRIPT];
    size_t n;
    struct record rec; /* FN_ATTEMPT; events below */
    struct event events[CASE_MAX_EVENTS];
    int64_t scheduled_ns;
    enum truncation_rule truncation;
    struct objective o; /* FN_GROUP and later */
    struct report_attempt attempts[CASE_MAX_ATTEMPTS];
    struct report_request requests[CASE_MAX_ATTEMPTS]; /* FN_MEASURE: requests[i].deciding is
                                                          attempts[i] */
    size_t n_attempts;
    struct report_window window;
    struct report_point points[CASE_MAX_POINTS];
    size_t n_points;
};

/* Writes or reads the parts that c->fn uses. -1 when the bytes are not a case. A case owns no
 * memory; pointers inside it point into it. */
int lab04_case_codec(struct wire *w, struct lab04_case *c);

/* FN_ENGINE's answer. */
enum { ENGINE_FREE, ENGINE_FAULTS, ENGINE_HEAD };
enum { REQ_STATE, REQ_FINISH, REQ_OUTPUT, REQ_EVENTS, REQ_EVENT };
enum { REQ_MAX_EVENTS = 14, REQ_SLOTS = REQ_EVENT + 4 * REQ_MAX_EVENTS };

/* FN_KV's operations, and its answer: for each operation rc, free blocks, n_blocks, blocks. */
enum { KV_RESERVE, KV_RELEASE, KV_SHARE, KV_PUBLISH, KV_OPS };
enum { KV_TABLES = 6, KV_MAX_OPS = 150, KV_MAX_TABLE = 10, KV_SLOTS = 3 + KV_MAX_TABLE };

/* FN_STAMPS' answer: events, prompt_tokens, reads of the clock, changes before the clock was read;
 * then for each event six. */
enum { STAMP_HEAD = 4, STAMP_EACH = 6, STAMP_MAX = 20 };

#endif
