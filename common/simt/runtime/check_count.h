/* check_count.h: the counts of each kernel by call site, in Nsight Compute's terms. */
#ifndef SIMT_CHECK_COUNT_H
#define SIMT_CHECK_COUNT_H

#include "check.h"

enum count_kind { COUNT_LOAD, COUNT_STORE, COUNT_ATOMIC, COUNT_KINDS };

/* One kind of access at one call site of one kernel; or a branch, or a barrier. */
struct count_site {
    uint32_t pc;
    int line;     /* barriers: known from the text */
    uint8_t kind; /* enum count_kind; COUNT_KINDS: a basic block or a barrier */
    bool shared, used;
    uint8_t bytes; /* of one lane's access */
    uint64_t requests, lanes, sectors, ideal_sectors, waves, ideal_waves;
    uint64_t barriers, divergent;
};
struct count_kernel {
    const char *name, *file;
    int line;
    uint64_t launches, threads;
    uint32_t last_launch;                     /* its number */
    uint64_t read_footprint, write_footprint; /* sectors, each once a launch */
    struct count_site *sites;                 /* a hash table */
    uint32_t room, filled;
    uint64_t dropped; /* records that found no memory: counts are then too low */
};
extern struct count_kernel *count_kernels;
extern int count_kernel_count;

/* The site's entry in the running kernel's table. */
struct count_site *count_site(uint32_t pc, enum count_kind kind, bool shared);

/* check_trace.c: the warp's traces as they are, where SIMT_TRACE asks for them. */
void count_trace(const struct worker *w, int warp, int lanes);

/* check_request.c: one request: n lanes, one call site. */
void request_account(const struct record *first, const uint64_t *address, int n);
extern struct count_kernel *count_now;

#endif
