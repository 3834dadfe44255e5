/* child/place.c: see child/place.h. An input has a mapping of its own: a second copy of it, to
 * compare with, then the input, right-aligned at the end of its pages, then a page that can't be
 * accessed. */
#include "child/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n)   ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

enum {
    MAX_PLACED = 32,
    ALIGNMENT = 8, /* of the inputs' types */
    GONE = 64,     /* inputs of earlier calls whose addresses nothing can be at */
    GONE_BYTES = 64 << 20
};

struct placed {
    unsigned char *base, *at;
    size_t n, mapped;
};

static struct placed placed[MAX_PLACED];
static size_t n_placed;
static struct placed gone[GONE];
static size_t oldest, n_gone, gone_bytes;

void *place(bool read_only, const void *from, size_t n) {
    if (n == 0) return NULL;
    if (n_placed == MAX_PLACED) abort();
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n + page - 1) / page * page;
    struct placed p = {.n = n, .mapped = 2 * room + page};
    p.base = mmap(NULL, p.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p.base == MAP_FAILED) abort();
    unsigned char *input = p.base + room, *end = input + room;
    p.at = end - (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memcpy(p.base, from, n);
    memcpy(p.at, from, n);
    if (read_only && mprotect(input, room, PROT_READ)) abort();
    if (mprotect(end, page, PROT_NONE)) abort();
    ASAN_POISON_MEMORY_REGION(input, (size_t)(p.at - input));
    ASAN_POISON_MEMORY_REGION(p.at + n, (size_t)(end - p.at) - n + page);
    placed[n_placed++] = p;
    return p.at;
}

/* Keeps the addresses of an input that is gone, without memory: who kept a pointer to it is ended
 * there, and doesn't find the next call's input. */
static void keep_away(const struct placed *p) {
    if (mmap(p->base, p->mapped, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0) == MAP_FAILED)
        abort();
    while (n_gone == GONE || (n_gone > 0 && gone_bytes + p->mapped > GONE_BYTES)) {
        munmap(gone[oldest].base, gone[oldest].mapped);
        gone_bytes -= gone[oldest].mapped;
        oldest = (oldest + 1) % GONE;
        n_gone--;
    }
    gone[(oldest + n_gone++) % GONE] = *p;
    gone_bytes += p->mapped;
}

/* After every second call the addresses are free again, and the next call's inputs are likely to be
 * there: what was kept for an address is then wrong. */
void place_release(void) {
    static bool away = true;
    bool changed = false;
    away = !away;
    while (n_placed > 0) {
        struct placed *p = &placed[--n_placed];
        changed |= memcmp(p->at, p->base, p->n) != 0;
        ASAN_UNPOISON_MEMORY_REGION(p->base, p->mapped);
        if (away)
            keep_away(p);
        else
            munmap(p->base, p->mapped);
    }
    if (!changed) return;
    fprintf(stderr, "an input was changed\n");
    abort();
}
