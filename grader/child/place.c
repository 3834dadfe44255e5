/* child/place.c: see child/place.h. */
#include "child/place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_PLACED = 32 };

struct placed {
    void *base; /* for munmap or free */
    size_t mapped;
    const void *at, *from; /* (n) place_at_end: to compare */
    size_t n;
};

static struct placed placed[MAX_PLACED];
static size_t n_placed;

/* Right-aligned at the end of a mapping whose next page can't be accessed. */
void *place_at_end(bool read_only, const void *from, size_t n) {
    if (n == 0) return NULL;
    if (n_placed == MAX_PLACED) abort();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (n + page - 1) / page * page;
    unsigned char *base =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) abort();
    unsigned char *at = base + room - (n + 7) / 8 * 8; /* the inputs' types need 8-byte alignment */
    memcpy(at, from, n);
    if (read_only && mprotect(base, room, PROT_READ)) abort();
    if (mprotect(base + room, page, PROT_NONE)) abort();
    placed[n_placed++] = (struct placed){base, room + page, at, from, n};
    return at;
}

bool place_unchanged(void) {
    for (size_t i = 0; i < n_placed; i++)
        if (placed[i].from && memcmp(placed[i].at, placed[i].from, placed[i].n) != 0) return false;
    return true;
}

void *place(bool read_only, const void *from, size_t n) {
    if (read_only) return place_at_end(true, from, n);
    if (n == 0) return NULL;
    if (n_placed == MAX_PLACED) abort();
    void *at = malloc(n);
    if (!at) abort();
    memcpy(at, from, n);
    placed[n_placed++] = (struct placed){.base = at};
    return at;
}

void place_release(void) {
    while (n_placed > 0) {
        struct placed *p = &placed[--n_placed];
        if (p->mapped)
            munmap(p->base, p->mapped);
        else
            free(p->base);
    }
}
