/* check_place.c: which memory an address belongs to, and the findings of bad addresses. */
#include "check.h"
#include "hooks.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- shadows ----------------------------------------------------------------------------------
 */
static void *zeroed(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED)
        simt_trap("no address space for the checks' shadow memory: free memory, or raise the limit "
                  "(ulimit "
                  "-v)",
                  "simt", 0);
    return p;
}

static size_t words(size_t bytes) {
    return (bytes + 3) / 4 + 4;
} /* room for a 16-byte access */
static size_t sectors(size_t bytes) {
    return bytes / 32 + 2;
}

void hook_malloc(void *p, size_t bytes) {
    struct allocation *a = memory_find((uintptr_t)p);
    if (a->shadow) { /* its place is used again */
        memset(a->known, 0, bytes / 8 + 1);
        memset(a->shadow, 0, words(bytes) * sizeof(struct cell));
        if (a->split) memset(a->split, 0, bytes * sizeof(struct cell));
    } else {
        size_t room = bytes + GRANULE_BYTES; /* what it may hold when it is used again */
        a->shadow = zeroed(words(room) * sizeof(struct cell));
        a->known = zeroed(room / 8 + 1);
        a->touched = zeroed(sectors(room) * 2 * sizeof *a->touched);
    }
    memset(p, 0xff, bytes); /* NaN, so that an unwritten value also shows in the result */
}

/* Made at the first access to a part of a word; room as for what may use the place again. */
struct cell *place_split(const struct region *r) {
    size_t room = (r->bytes + GRANULE_BYTES - 1) / GRANULE_BYTES * GRANULE_BYTES;
    if (!*r->split) *r->split = zeroed((room + 16) * sizeof(struct cell));
    return *r->split;
}

void hook_free(void *p) {
    (void)p;
}

void hook_written(void *p, size_t bytes) {
    struct allocation *a = memory_find((uintptr_t)p);
    if (!a) return;
    size_t at = (uintptr_t)p - (uintptr_t)a->start, end = at + bytes;
    for (; at < end && at % 8; at++) a->known[at / 8] |= (uint8_t)(1 << at % 8);
    if (at < end) memset(a->known + at / 8, 0xff, (end - at) / 8);
    for (at = end & ~(size_t)7; at < end && at >= end - bytes; at++)
        a->known[at / 8] |= (uint8_t)(1 << at % 8);
}

/* ---- device variables -------------------------------------------------------------------------
 */
static struct region *symbols;
static const struct simt_symbol **symbol_info;
static int symbol_count;

static void symbols_add(const struct simt_symbol *s) {
    symbols = realloc(symbols, (size_t)(symbol_count + 1) * sizeof *symbols);
    symbol_info = realloc(symbol_info, (size_t)(symbol_count + 1) * sizeof *symbol_info);
    if (!symbols || !symbol_info) simt_trap("out of memory", "simt", 0);
    symbols[symbol_count] = (struct region){.start = (uintptr_t)s->address,
                                            .bytes = s->bytes,
                                            .cells = zeroed(words(s->bytes) * sizeof(struct cell)),
                                            .split = zeroed(sizeof(struct cell *)),
                                            .touched = zeroed(sectors(s->bytes) * 2 * 8)};
    symbol_info[symbol_count++] = s;
}

static int symbol_index(uintptr_t a) {
    static int last;
    if (last < symbol_count && a - symbols[last].start < symbols[last].bytes) return last;
    for (int i = 0; i < symbol_count; i++)
        if (a - symbols[i].start < symbols[i].bytes) return last = i;
    const struct simt_symbol *s = symbol_find((const void *)a);
    if (!s) return -1;
    symbols_add(s);
    return last = symbol_count - 1;
}

/* Constants have a separate cache without sectors: they are accepted and not counted. */
const struct region *place_symbol(uintptr_t a) {
    int i = symbol_index(a);
    return i < 0 || symbol_info[i]->kind == SIMT_SYMBOL_CONSTANT ? NULL : &symbols[i];
}

/* ---- words ------------------------------------------------------------------------------------
 */
static const char *verb(int access) {
    return access & ACCESS_ATOMIC  ? "atomically changes"
           : access & ACCESS_WRITE ? "writes"
                                   : "reads";
}

static void give_up(void) __attribute__((noreturn));
static void give_up(void) {
    launch_fail(check.job, cudaErrorIllegalAddress);
    schedule_abandon(check.worker);
}

static struct finding finding_here(const char *kind, uintptr_t pc) {
    return (struct finding){.kind = kind, .site = site_of(pc), .thread = check.worker->thread};
}

/* The allocation that holds an address or lies before it. */
static const struct allocation *nearest(uintptr_t a) {
    const struct allocation *found = memory_find(a);
    size_t at = (a - memory_start) / GRANULE_BYTES;
    for (size_t back = 0; !found && back < 4096 && back <= at; back++) {
        uint32_t n = memory_granules[at - back];
        if (n) found = &memory_allocations[n - 1];
    }
    return found;
}

void place_bad_global(uintptr_t a, size_t n, int access, uintptr_t pc) {
    const struct allocation *al = nearest(a);
    char me[96];
    report_thread(check.worker->thread, me, sizeof me);
    if (al && !al->live && a - (uintptr_t)al->start < al->bytes) {
        struct finding f = finding_here("use-after-free", pc);
        report_add(&f, "%s %s %zu bytes at byte %zu of a %zu-byte allocation after cudaFree", me,
                   verb(access), n, a - (uintptr_t)al->start, al->bytes);
    } else {
        struct finding f = finding_here("out-of-bounds", pc);
        if (al)
            report_add(&f,
                       "%s %s %zu bytes at byte %zu of an allocation of %zu bytes: compare the "
                       "index with the size first",
                       me, verb(access), n, a - (uintptr_t)al->start, al->bytes);
        else
            report_add(&f, "%s %s %zu bytes at a device address before the first allocation", me,
                       verb(access), n);
    }
    give_up();
}

void place_bad_shared(uintptr_t a, size_t n, int access, uintptr_t pc) {
    size_t at = a - (uintptr_t)check.worker->arena, back = at < ARENA_BYTES ? at / 4 : 0;
    int owner = 0;
    while (back > 0 && !check.owner[back]) back--;
    if (at < ARENA_BYTES) owner = check.owner[back];
    char me[96];
    report_thread(check.worker->thread, me, sizeof me);
    struct finding f = finding_here("out-of-bounds", pc);
    if (owner && at < check.ends[owner])
        report_add(&f, "%s %s %zu bytes of shared memory of which %s has only %zu", me,
                   verb(access), n, check.names[owner], check.ends[owner] - at);
    else if (owner)
        report_add(&f, "%s %s %zu bytes of shared memory, %zu bytes past the end of %s", me,
                   verb(access), n, at - check.ends[owner], check.names[owner]);
    else
        report_add(&f, "%s %s %zu bytes of shared memory before the first shared array%s", me,
                   verb(access), n,
                   check.job->l.dynamic_bytes
                       ? ""
                       : ": the launch gives no dynamic shared memory (its third number)");
    give_up();
}

/* The permissions of the program's segment that holds an address. */
struct segment_query {
    uintptr_t a;
    bool found, writable;
};
static int segment_visit(struct dl_phdr_info *info, size_t size, void *arg) {
    struct segment_query *q = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || q->a - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz) continue;
        q->found = true, q->writable = p->p_flags & PF_W;
        return 1;
    }
    return 0;
}

static bool on_any_stack(uintptr_t a) {
    uintptr_t low = (uintptr_t)check.worker->stacks;
    return a - low < (size_t)MAX_THREADS * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES);
}

/* The device variable that ends closest before an address, within a page. */
static const struct simt_symbol *symbol_before(uintptr_t a) {
    const struct simt_symbol *best = NULL;
    for (size_t back = 0; back < 4096 && !best; back++)
        best = symbol_find((const void *)(a - back));
    return best;
}

/* Accesses that are allowed although the memory has no shadow. */
static bool fine_unseen(uintptr_t a, size_t n, bool write, int symbol) {
    static uintptr_t last =
        ~(uintptr_t)0; /* a page of constants, seen before: the search below is slow */
    const struct simt_launch *l = &check.job->l;
    if (symbol >= 0) return !write && a + n <= symbols[symbol].start + symbols[symbol].bytes;
    if (a - (uintptr_t)l->arg < l->arg_bytes) return true; /* the kernel's parameters */
    if (memory_is_pinned((const void *)a, n)) return true;
    if (write) return false;
    if (last == a / 4096) return true;
    struct segment_query q = {.a = a};
    dl_iterate_phdr(segment_visit, &q);
    if (q.found && !q.writable) last = a / 4096;
    return q.found && !q.writable; /* string literals and tables of constants */
}

bool place_unusual(uintptr_t a, size_t n, int access, uintptr_t pc) {
    enum { NEAR_BYTES = 1 << 14 }; /* an index a little below 0 of the first shared array */
    if ((uintptr_t)check.worker->arena - a <= NEAR_BYTES) place_bad_shared(a, n, access, pc);
    int i = symbol_index(a);
    bool write = access & (ACCESS_WRITE | ACCESS_ATOMIC);
    if (fine_unseen(a, n, write, i)) return true;
    char me[96];
    report_thread(check.worker->thread, me, sizeof me);
    struct segment_query q = {.a = a};
    dl_iterate_phdr(segment_visit, &q);
    if (i >= 0 && a + n <= symbols[i].start + symbols[i].bytes) {
        struct finding f = finding_here("out-of-bounds", pc);
        report_add(&f, "%s %s __constant__ %s: kernels can only read it", me, verb(access),
                   symbol_info[i]->name);
    } else if (a < 65536) {
        struct finding f = finding_here("out-of-bounds", pc);
        report_add(&f, "%s %s %zu bytes through a null pointer (address %zu)", me, verb(access), n,
                   (size_t)a);
    } else if (q.found) {
        const struct simt_symbol *near = symbol_before(a);
        struct finding f = finding_here(near ? "out-of-bounds" : "host-pointer", pc);
        if (near)
            report_add(&f, "%s %s %zu bytes at byte %zu of %s, which has %zu", me, verb(access), n,
                       a - (uintptr_t)near->address, near->name, near->bytes);
        else
            report_add(&f,
                       "%s %s a variable of the host: mark it __device__ or pass it as a parameter",
                       me, verb(access));
    } else if (on_any_stack(a)) {
        struct finding f = finding_here("out-of-bounds", pc);
        report_add(&f, "%s %s a local variable of another thread: each thread has its own", me,
                   verb(access));
    } else {
        struct finding f = finding_here("host-pointer", pc);
        report_add(&f,
                   "%s %s %zu bytes through a pointer to host memory: a kernel can only follow "
                   "pointers from cudaMalloc. Copy the data to the device first",
                   me, verb(access), n);
    }
    give_up();
}

void place_bad_local(size_t n, int access, uintptr_t pc) {
    char me[96];
    report_thread(check.worker->thread, me, sizeof me);
    struct finding f = finding_here("out-of-bounds", pc);
    report_add(&f,
               "%s %s %zu bytes of its stack that are in no local variable: compare the index with "
               "the array's size first",
               me, verb(access), n);
    give_up();
}

void place_host_touch(uintptr_t a, size_t n, int access, uintptr_t pc) {
    const struct allocation *al = memory_find(a);
    if (al && al->managed) {
        if (access & ACCESS_WRITE) hook_written((void *)a, n);
        return;
    }
    struct finding f = {.kind = "host-pointer", .site = site_of(pc), .thread = -1};
    report_add(&f,
               "host code %s device memory: copy it with cudaMemcpy. A GPU's program would "
               "crash here",
               verb(access));
}
