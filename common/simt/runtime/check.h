/* check.h: the state of check mode and the interfaces between the check_*.c files.
 *
 * Check mode runs kernels on one OS thread, so nothing here is locked. The compiler calls a __tsan_
 * function before every access of a kernel (check_access.c). It checks the address (check_place.c),
 * looks for a race (check_race.h) and records the access for the counts (check_count.c).
 */
#ifndef SIMT_CHECK_H
#define SIMT_CHECK_H

#include "block.h"
#include "memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last write and reads of one 4-byte word, as a whole; or of one byte of a word that is also
 * accessed in parts. An interval is the time between two barriers of a block. Interval numbers grow
 * through the whole program, so an old cell needs no clearing. */
struct cell {
    uint32_t write_interval, read_interval; /* 0: never; INTERVAL_HOST: by the host */
    uint32_t write_at, read_at;             /* call site << 8 | flags */
    uint16_t writer, reader;                /* thread in its block */
    uint16_t write_clock, read_clock;       /* of its warp */
};
enum { INTERVAL_HOST = 1 };
enum {
    CELL_SPLIT = 1,        /* a word: its bytes have cells too */
    CELL_MANY_ATOMICS = 2, /* writes: of several threads in this interval */
    CELL_ATOMIC = 16,      /* by an atomic or a volatile access to global memory */
    CELL_MANY = 32,        /* reads: of several threads */
    CELL_MANY_WARPS = 64,  /* reads: of several warps */
    CELL_OTHER_BLOCK = 128 /* reads: of an earlier block of this launch too */
};

enum access {
    ACCESS_READ = 0,
    ACCESS_WRITE = 1,
    ACCESS_ATOMIC = 2, /* a read-modify-write */
    ACCESS_VOLATILE = 4,
    ACCESS_COPY = 8 /* a piece of a structure copied whole, holes included */
};

/* Memory with a shadow: an allocation, or a device variable. */
struct region {
    uintptr_t start;
    size_t bytes;
    struct cell *cells;
    struct cell **split; /* where the cells of its bytes are kept; NULL there: none yet */
    uint8_t *known;      /* a bit a byte that the host wrote; NULL: all of it */
    uint64_t *touched; /* two a sector, for what was counted as read and as written: the launch that
                          was the last to do so, and below 32 bits, one for each of its bytes */
};

struct check {
    bool active; /* a kernel's code is running */
    struct worker *worker;
    struct job *job;
    uint32_t interval, launch_first, block_first;
    /* shared memory: which array a word belongs to, 0: none; ends[] in arena offsets */
    uint16_t owner[ARENA_BYTES / 4];
    uint32_t ends[1024];
    const char *names[1024];
    int owners;
    struct cell *shared_cells, *shared_split;
};
extern struct check check;

/* check_place.c */
const struct region *place_symbol(uintptr_t a);
static inline struct region place_allocation(const struct allocation *a) {
    return (struct region){(uintptr_t)a->start,
                           a->bytes,
                           (struct cell *)a->shadow,
                           (struct cell **)(uintptr_t)&a->split,
                           a->known,
                           a->touched};
}
struct cell *place_split(const struct region *r);
/* For an access that fails the quick test of addresses. True: the access is allowed and not
 * counted. Otherwise reports it and ends the launch. */
bool place_unusual(uintptr_t a, size_t n, int access, uintptr_t pc);
void place_bad_global(uintptr_t a, size_t n, int access, uintptr_t pc) __attribute__((noreturn));
void place_bad_shared(uintptr_t a, size_t n, int access, uintptr_t pc) __attribute__((noreturn));
void place_host_touch(uintptr_t a, size_t n, int access, uintptr_t pc);

/* check_sync.c */
void sync_new_interval(void);

/* check_fence.c: whether an earlier access is ordered before this one by a fence and atomics */
void fence_launch(void);
void fence_block(void);
uint32_t fence_block_number(void); /* of this launch, from 1 */
void fence_barrier(void);
void fence_lanes_meet(int warp, uint32_t lanes);
void fence_atomic(uintptr_t a, bool shared);
void fence_release(uintptr_t a, bool shared); /* an atomic or a volatile write */
void fence_acquire(uintptr_t a, bool shared); /* an atomic or a volatile read */
bool fence_orders_block(uint32_t interval, int thread, uint32_t clock); /* an earlier block's */
bool fence_orders_thread(int thread, uint32_t clock); /* of this block, in this interval */
/* For reads of which not all are known: whether any released value was acquired. */
bool fence_orders_some_block(void);
bool fence_orders_some_thread(void);

/* check_count.c */
struct record {
    uint64_t address; /* 0: a basic block */
    uint32_t pc;
    uint8_t bytes, access, shared, unused;
};
struct trace {
    struct record *list;
    uint32_t count, room;
};
extern struct trace count_traces[WARP]; /* of the warp that runs; it is flushed before the next */
void count_grow(struct trace *t);
void count_flush(struct worker *w, int warp);
bool count_lane_worked(int thread); /* whether it has accessed memory in this block */
void count_block(void);
void count_launch(const struct job *j);
void count_barrier(uint32_t site, int line);
void count_launch_end(const struct job *j);
void count_json(void *file); /* FILE *; "kernels": [...] */

/* check_local.c: an access to the stack of code that simtcc --hooks=ir has instrumented. Ends the
 * launch unless a local variable that is alive holds all of it. */
void local_touch(uintptr_t a, size_t n, int access, uintptr_t pc);
void access_local(uintptr_t a, size_t n, uintptr_t pc); /* counts it where it lies in memory */
void place_bad_local(size_t n, int access, uintptr_t pc) __attribute__((noreturn));

/* check_site.c: a return address in the checked code, as an offset of 24 bits */
extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* the linker's */
static inline uint32_t site_of(uintptr_t pc) {
    return (uint32_t)(pc - (uintptr_t)__ehdr_start) & 0xffffff;
}
/* Code of simtcc --hooks=ir brings its lines along: the address of such a record, in the section
 * simt_sites, takes the place of a return address. */
struct simt_site {
    const char *file; /* NULL: unknown */
    uint64_t line;
};
struct site_line {
    const char *file; /* as the user named it; "?" where the compiler left no line */
    int line;
};
struct site_line site_line(uint32_t site);
void site_prepare(const uint32_t *sites, int n); /* resolves many at once */

/* check_report.c */
enum { PLACE_MISSING = -1 };
struct finding {
    const char *kind;
    uint32_t site; /* of the access; 0: file and line below */
    const char *file;
    int line;       /* known better than by the site; 0: not */
    uint32_t other; /* of the earlier access; 0: none. "%s" in the text is its line */
    int thread;     /* -1: the launch as a whole */
};
/* A thread's call of a barrier or of a warp operation: the file by its return address, the line by
 * the text, as the compiler may merge two calls into one. */
static inline int sync_line(unsigned site) {
    return (int)(site & 0xffff);
}
static inline struct finding sync_finding(const char *kind, const struct worker *w, int thread,
                                          unsigned site) {
    return (struct finding){.kind = kind,
                            .site = site_of(w->called_from[thread]),
                            .line = sync_line(site),
                            .thread = thread};
}
void report_add(const struct finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool report_is_new(const char *kind, uint32_t site); /* cheap: ask before making a message */
void report_launch_end(void);
void report_put_string(void *file, const char *s);      /* FILE *; as JSON, with its quotes */
char *report_thread(int thread, char *buf, size_t cap); /* "thread (3,0,0) of block (1,0,0)" */

#endif
