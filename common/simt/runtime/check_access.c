/* check_access.c: the functions that the compiler calls before each access; they check and record
 * it.
 *
 * They replace the runtime of -fsanitize=thread. A bad access ends the launch before the processor
 * makes it.
 */
#include "check_race.h"
#include "hooks.h"

#include <string.h>

struct check check = {.interval = INTERVAL_HOST};

/* where threadIdx, blockIdx ... lie: the linker defines a section's ends */
extern const char __start_simt_built_in[] __attribute__((visibility("hidden")));
extern const char __stop_simt_built_in[] __attribute__((visibility("hidden")));

#define CALLER ((uintptr_t)__builtin_return_address(0))

static inline __attribute__((always_inline)) void note(uintptr_t a, unsigned n, int access,
                                                       bool shared, uint32_t site) {
    struct trace *t = &count_traces[check.worker->thread % WARP];
    if (__builtin_expect(t->count == t->room, 0)) count_grow(t);
    t->list[t->count++] = (struct record){a, site, (uint8_t)n, (uint8_t)access, shared, 0};
}

/* The words that n bytes at offset `at` of a region cover. */
static inline __attribute__((always_inline)) void
touch(const struct region *r, size_t at, unsigned n, int access, bool shared, uint32_t site) {
    if (__builtin_expect((at | n) & 3, 0)) {
        race_touch_parts(r, at, n, access, shared, site);
        return;
    }
    for (size_t i = at / 4; i < (at + n) / 4; i++) {
        struct cell *c = &r->cells[i];
        uint32_t split = c->write_at & CELL_SPLIT;
        race_touch(c, access, shared, site);
        if (__builtin_expect(split, 0)) {
            c->write_at |= CELL_SPLIT;
            race_check_parts(r, i, access, shared, site);
        }
    }
}

/* Whether the quick test can't show that every word of the access was written. since: the first
 * interval whose writes count. */
static inline __attribute__((always_inline)) bool fresh(const struct cell *cells, size_t at,
                                                        unsigned n, uint32_t since) {
    for (size_t i = at / 4; i <= (at + n - 1) / 4; i++)
        if (cells[i].write_interval < since) return true;
    return false;
}

static inline __attribute__((always_inline)) void
access_region(const struct region *r, uintptr_t a, unsigned n, int access, uint32_t site) {
    size_t at = a - r->start;
    if (access & ACCESS_VOLATILE) {
        if (access & ACCESS_WRITE)
            fence_release(a, false);
        else
            fence_acquire(a, false);
    }
    if (__builtin_expect(!(access & ACCESS_WRITE) && fresh(r->cells, at, n, 1), 0) &&
        !race_known(r, at, n, access, 1))
        race_uninitialised(false, a, site);
    touch(r, at, n, access, false, site);
    note(a, n, access, false, site);
}

static inline __attribute__((always_inline)) void access_global(uintptr_t a, unsigned n, int access,
                                                                uintptr_t pc, uint32_t site) {
    const struct allocation *al = memory_find(a);
    if (__builtin_expect(!al || !al->live || a + n > (uintptr_t)al->start + al->bytes, 0))
        place_bad_global(a, n, access, pc);
    struct region r = place_allocation(al);
    access_region(&r, a, n, access, site);
}

static inline __attribute__((always_inline)) void access_shared(uintptr_t a, unsigned n, int access,
                                                                uintptr_t pc, uint32_t site) {
    size_t at = a - (uintptr_t)check.worker->arena;
    int owner = check.owner[at / 4];
    if (__builtin_expect(!owner || at + n > check.ends[owner], 0))
        place_bad_shared(a, n, access, pc);
    const struct region r = {
        .bytes = ARENA_BYTES, .cells = check.shared_cells, .split = &check.shared_split};
    if (!(access & ACCESS_WRITE) && fresh(r.cells, at, n, check.block_first) &&
        !race_known(&r, at, n, access, check.block_first))
        race_uninitialised(true, a, site);
    touch(&r, at, n, access, true, site);
    note(a, n, access, true, site);
}

static inline __attribute__((always_inline)) void access_any(uintptr_t a, unsigned n, int access,
                                                             uintptr_t pc) {
    if (__builtin_expect(!check.active, 0)) {
        if (a - memory_start < memory_bytes) place_host_touch(a, n, access, pc);
        return;
    }
    const struct worker *w = check.worker;
    if (a - memory_start < memory_bytes) {
        access_global(a, n, access, pc, site_of(pc));
    } else if (a - (uintptr_t)w->arena < ARENA_BYTES) {
        access_shared(a, n, access, pc, site_of(pc));
    } else if (a - (uintptr_t)w->current->low >= FIBER_STACK_BYTES &&
               (a < (uintptr_t)__start_simt_built_in || a >= (uintptr_t)__stop_simt_built_in)) {
        const struct region *r = place_symbol(a);
        if (r && a + n <= r->start + r->bytes)
            access_region(r, a, n, access, site_of(pc));
        else
            place_unusual(a, n, access, pc);
    }
}

/* ---- atomics ----------------------------------------------------------------------------------
 */
/* One OS thread runs, and nothing runs between the halves but arithmetic on values. */
static struct {
    const void *begun; /* by simt_atomic_load */
    const void *noted; /* by simt_ir_atomic, which comes before it where the instrumenter was */
    size_t n;
} atomic;

static void note_atomic(uintptr_t a, size_t n, uintptr_t pc) {
    fence_atomic(a, a - (uintptr_t)check.worker->arena < ARENA_BYTES);
    access_any(a, (unsigned)n, ACCESS_ATOMIC, pc);
}

uint64_t simt_atomic_load(const void *p, size_t n) {
    uint64_t value = 0;
    if (n > sizeof value) simt_trap("an atomic of more than 8 bytes", "simt", 0);
    if (check.active && atomic.noted != p) note_atomic((uintptr_t)p, n, CALLER);
    atomic.noted = NULL, atomic.begun = p, atomic.n = n;
    memcpy(&value, p, n);
    return value;
}

void simt_atomic_store(void *p, size_t n, uint64_t value) {
    if (atomic.begun != p || atomic.n != n)
        simt_trap("an atomic's second half without its first", "simt", 0);
    atomic.begun = NULL;
    memcpy(p, &value, n);
}

/* ---- the compiler's hooks -------------------------------------------------------------------- */
/* The compilers know these functions; the prototypes are for -Wmissing-prototypes. */
#define HOOK(name, n, access)                                                                      \
    void name(void *a);                                                                            \
    void name(void *a) {                                                                           \
        access_any((uintptr_t)a, n, access, CALLER);                                               \
    }
#define HOOKS(prefix, access)                                                                      \
    HOOK(prefix##1, 1, access)                                                                     \
    HOOK(prefix##2, 2, access)                                                                     \
    HOOK(prefix##4, 4, access)                                                                     \
    HOOK(prefix##8, 8, access)                                                                     \
    HOOK(prefix##16, 16, access)
HOOKS(__tsan_read, ACCESS_READ)
HOOKS(__tsan_write, ACCESS_WRITE)
HOOKS(__tsan_unaligned_read, ACCESS_READ)
HOOKS(__tsan_unaligned_write, ACCESS_WRITE)
HOOKS(__tsan_volatile_read, ACCESS_READ | ACCESS_VOLATILE)
HOOKS(__tsan_volatile_write, ACCESS_WRITE | ACCESS_VOLATILE)
HOOKS(__tsan_unaligned_volatile_read, ACCESS_READ | ACCESS_VOLATILE)
HOOKS(__tsan_unaligned_volatile_write, ACCESS_WRITE | ACCESS_VOLATILE)

#define HOOK_BOTH(name, n)                                                                         \
    void name(void *a);                                                                            \
    void name(void *a) {                                                                           \
        access_any((uintptr_t)a, n, ACCESS_READ, CALLER);                                          \
        access_any((uintptr_t)a, n, ACCESS_WRITE, CALLER);                                         \
    }
HOOK_BOTH(__tsan_read_write1, 1)
HOOK_BOTH(__tsan_read_write2, 2)
HOOK_BOTH(__tsan_read_write4, 4)
HOOK_BOTH(__tsan_read_write8, 8)
HOOK_BOTH(__tsan_read_write16, 16)
HOOK_BOTH(__tsan_unaligned_read_write1, 1)
HOOK_BOTH(__tsan_unaligned_read_write2, 2)
HOOK_BOTH(__tsan_unaligned_read_write4, 4)
HOOK_BOTH(__tsan_unaligned_read_write8, 8)
HOOK_BOTH(__tsan_unaligned_read_write16, 16)

/* A copy of a structure: word by word, as the GPU would move it. */
static void range(uintptr_t a, size_t n, int access, uintptr_t pc) {
    while (n) {
        unsigned k = n >= 4 && a % 4 == 0 ? 4 : 1;
        access_any(a, k, access | ACCESS_COPY, pc);
        a += k, n -= k;
    }
}
void __tsan_read_range(void *a, size_t n);
void __tsan_read_range(void *a, size_t n) {
    range((uintptr_t)a, n, ACCESS_READ, CALLER);
}
void __tsan_write_range(void *a, size_t n);
void __tsan_write_range(void *a, size_t n) {
    range((uintptr_t)a, n, ACCESS_WRITE, CALLER);
}

void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memcpy(void *to, const void *from, size_t n) {
    range((uintptr_t)from, n, ACCESS_READ, CALLER);
    range((uintptr_t)to, n, ACCESS_WRITE, CALLER);
    return memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n) {
    range((uintptr_t)from, n, ACCESS_READ, CALLER);
    range((uintptr_t)to, n, ACCESS_WRITE, CALLER);
    return memmove(to, from, n);
}
void *__tsan_memset(void *to, int value, size_t n);
void *__tsan_memset(void *to, int value, size_t n) {
    range((uintptr_t)to, n, ACCESS_WRITE, CALLER);
    return memset(to, value, n);
}

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc) {
    (void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **a, void *b);
void __tsan_vptr_update(void **a, void *b) {
    (void)a;
    (void)b;
}
void __tsan_vptr_read(void **a);
void __tsan_vptr_read(void **a) {
    (void)a;
}

/* The start of a basic block. check_merge.c needs them to bring diverged lanes together. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    if (check.active) note(0, 0, 0, false, site_of(CALLER));
}

/* ---- the calls of simtcc --hooks=ir -----------------------------------------------------------
 */
/* `site` is the place's record (struct simt_site); its address serves as the address of a call
 * does. Every local variable that may be met here is known (check_local.c). */
static inline __attribute__((always_inline)) void ir_access(uintptr_t a, unsigned n, int access,
                                                            const struct simt_site *site) {
    uintptr_t pc = (uintptr_t)site;
    if (!check.active) {
        access_any(a, n, access, pc);
    } else if (a - (uintptr_t)check.worker->current->low < FIBER_STACK_BYTES) {
        local_touch(a, n, access, pc);
    } else if (access & (ACCESS_WRITE | ACCESS_ATOMIC) && a >= (uintptr_t)__start_simt_built_in &&
               a < (uintptr_t)__stop_simt_built_in) {
        place_unusual(a, n, access, pc);
    } else {
        access_any(a, n, access, pc);
    }
}

/* Local variables that are more than a thread's registers lie in global memory on a GPU, the lanes'
 * words side by side. Here they get addresses that nothing else has. */
static bool local_in_memory;
void simt_ir_locals_in_memory(void);
void simt_ir_locals_in_memory(void) {
    local_in_memory = true;
}

static void note_local(uintptr_t at, size_t n, int access, uintptr_t pc) {
    const uintptr_t away = (uintptr_t)1 << 44, lane = (uintptr_t)check.worker->thread % WARP;
    for (size_t piece; n; n -= piece, at += piece) {
        piece = n >= 16 && at % 16 == 0 ? 16 : n >= 8 && at % 8 == 0 ? 8 : n >= 4 ? 4 : n;
        note(away + at / piece * piece * WARP + lane * piece, (unsigned)piece, access, false,
             site_of(pc));
    }
}

void access_local(uintptr_t a, size_t n, uintptr_t pc) {
    uintptr_t at = a - (uintptr_t)check.worker->current->low;
    if (local_in_memory && at < FIBER_STACK_BYTES) note_local(at, n, ACCESS_READ, pc);
}

/* A value for which a thread has no register (ir/registers.c): its place in memory. */
void simt_ir_spill(size_t at, size_t n, size_t write, const struct simt_site *site);
void simt_ir_spill(size_t at, size_t n, size_t write, const struct simt_site *site) {
    if (check.active)
        note_local(FIBER_STACK_BYTES + at, n, write ? ACCESS_WRITE : ACCESS_READ, (uintptr_t)site);
}

#define IR_HOOK(name, n, access)                                                                   \
    void name(void *a, const struct simt_site *site);                                              \
    void name(void *a, const struct simt_site *site) {                                             \
        ir_access((uintptr_t)a, n, access, site);                                                  \
    }
#define IR_HOOKS(prefix, access)                                                                   \
    IR_HOOK(prefix##1, 1, access)                                                                  \
    IR_HOOK(prefix##2, 2, access)                                                                  \
    IR_HOOK(prefix##4, 4, access)                                                                  \
    IR_HOOK(prefix##8, 8, access)                                                                  \
    IR_HOOK(prefix##16, 16, access)
IR_HOOKS(simt_ir_read, ACCESS_READ)
IR_HOOKS(simt_ir_write, ACCESS_WRITE)
IR_HOOKS(simt_ir_volatile_read, ACCESS_READ | ACCESS_VOLATILE)
IR_HOOKS(simt_ir_volatile_write, ACCESS_WRITE | ACCESS_VOLATILE)

/* In pieces of 1, 2 or 4 bytes, as far as the address allows. */
static void ir_range(uintptr_t a, size_t n, size_t piece, int access,
                     const struct simt_site *site) {
    while (n) {
        unsigned k = n >= piece && a % piece == 0 ? (unsigned)piece : 1;
        ir_access(a, k, access | ACCESS_COPY, site);
        a += k, n -= k;
    }
}
void simt_ir_read_range(void *a, size_t n, size_t piece, const struct simt_site *site);
void simt_ir_read_range(void *a, size_t n, size_t piece, const struct simt_site *site) {
    ir_range((uintptr_t)a, n, piece, ACCESS_READ, site);
}
void simt_ir_write_range(void *a, size_t n, size_t piece, const struct simt_site *site);
void simt_ir_write_range(void *a, size_t n, size_t piece, const struct simt_site *site) {
    ir_range((uintptr_t)a, n, piece, ACCESS_WRITE, site);
}

/* Comes before simt_atomic_load. */
void simt_ir_atomic(void *p, size_t n, const struct simt_site *site);
void simt_ir_atomic(void *p, size_t n, const struct simt_site *site) {
    uintptr_t a = (uintptr_t)p;
    if (!check.active) return;
    fence_atomic(a, a - (uintptr_t)check.worker->arena < ARENA_BYTES);
    ir_access(a, (unsigned)n, ACCESS_ATOMIC, site);
    atomic.noted = p;
}

void simt_ir_block(const struct simt_site *site);
void simt_ir_block(const struct simt_site *site) {
    if (check.active) note(0, 0, 0, false, site_of((uintptr_t)site));
}
