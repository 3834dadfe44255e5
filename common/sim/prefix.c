/* prefix.c: an LRU list of prefix units with a hash table over it. See prefix.h.
 *
 * Units are in one array and refer to each other by index, because the array moves when it grows.
 * The table uses open addressing with linear probing; deletion closes the gap (Knuth, volume 3,
 * section 6.4, algorithm R), so that there are no tombstones. */
#include "sim/prefix.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, FIRST_SLOTS = 64 };

struct unit {
    uint64_t hash;
    int32_t tokens;
    int32_t newer, older; /* neighbours in order of use; `older` also links the free ones */
};

struct prefix_store {
    int64_t capacity_tokens, tokens;
    struct unit *units; /* (cap_units), of which n_units have ever been used */
    int32_t cap_units, n_units, free_unit;
    int32_t newest, oldest;
    int32_t *slots; /* (n_slots) indices of units; a power of two, at most half full */
    int64_t n_slots, n_stored;
};

/* Spreads the hashes of a trace, which may be 0, 1, 2, ... (the finaliser of splitmix64). */
static uint64_t spread(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int64_t home_slot(const struct prefix_store *s, uint64_t hash) {
    return (int64_t)(spread(hash) & (uint64_t)(s->n_slots - 1));
}

/* The slot of the hash, or the free slot where it belongs. */
static int64_t find_slot(const struct prefix_store *s, uint64_t hash) {
    int64_t at = home_slot(s, hash);
    while (s->slots[at] != NONE && s->units[s->slots[at]].hash != hash)
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

static void new_slots(struct prefix_store *s, int64_t n) {
    int32_t *old = s->slots;
    int64_t n_old = s->n_slots;
    s->n_slots = n;
    s->slots = malloc((size_t)n * sizeof *s->slots);
    INVARIANT(s->slots);
    for (int64_t i = 0; i < n; i++) s->slots[i] = NONE;
    for (int64_t i = 0; i < n_old; i++)
        if (old[i] != NONE) s->slots[find_slot(s, s->units[old[i]].hash)] = old[i];
    free(old);
}

struct prefix_store *prefix_store_create(int64_t capacity_tokens) {
    INVARIANT(capacity_tokens >= 0);
    struct prefix_store *s = calloc(1, sizeof *s);
    INVARIANT(s);
    s->capacity_tokens = capacity_tokens;
    s->newest = s->oldest = s->free_unit = NONE;
    new_slots(s, FIRST_SLOTS);
    return s;
}

void prefix_store_free(struct prefix_store *s) {
    if (!s) return;
    free(s->units);
    free(s->slots);
    free(s);
}

int64_t prefix_store_tokens(const struct prefix_store *s) {
    return s->tokens;
}

/* ---- the list in order of use ---- */

static void unlink_unit(struct prefix_store *s, int32_t i) {
    struct unit *u = &s->units[i];
    *(u->newer == NONE ? &s->newest : &s->units[u->newer].older) = u->older;
    *(u->older == NONE ? &s->oldest : &s->units[u->older].newer) = u->newer;
}

static void link_newest(struct prefix_store *s, int32_t i) {
    struct unit *u = &s->units[i];
    u->newer = NONE;
    u->older = s->newest;
    *(s->newest == NONE ? &s->oldest : &s->units[s->newest].newer) = i;
    s->newest = i;
}

static void use_now(struct prefix_store *s, int32_t i) {
    if (s->newest == i) return;
    unlink_unit(s, i);
    link_newest(s, i);
}

/* ---- adding and removing units ---- */

static int32_t new_unit(struct prefix_store *s) {
    int32_t i = s->free_unit;
    if (i != NONE) {
        s->free_unit = s->units[i].older;
        return i;
    }
    if (s->n_units == s->cap_units) {
        INVARIANT(s->cap_units < INT32_MAX / 2);
        s->cap_units = s->cap_units ? s->cap_units * 2 : FIRST_SLOTS / 2;
        s->units = realloc(s->units, (size_t)s->cap_units * sizeof *s->units);
        INVARIANT(s->units);
    }
    return s->n_units++;
}

static void insert(struct prefix_store *s, int64_t slot, uint64_t hash, int32_t tokens) {
    int32_t i = new_unit(s);
    s->units[i] = (struct unit){.hash = hash, .tokens = tokens};
    s->slots[slot] = i;
    link_newest(s, i);
    s->tokens += tokens;
    if (++s->n_stored * 2 > s->n_slots) new_slots(s, s->n_slots * 2);
}

/* Empties a slot and moves up the entries that it had displaced. */
static void close_gap(struct prefix_store *s, int64_t gap) {
    int64_t mask = s->n_slots - 1;
    for (int64_t at = (gap + 1) & mask; s->slots[at] != NONE; at = (at + 1) & mask) {
        int64_t home = home_slot(s, s->units[s->slots[at]].hash);
        if (((at - home) & mask) < ((at - gap) & mask))
            continue; /* its home slot is after the gap */
        s->slots[gap] = s->slots[at];
        gap = at;
    }
    s->slots[gap] = NONE;
}

static void drop_oldest(struct prefix_store *s) {
    int32_t i = s->oldest;
    struct unit *u = &s->units[i];
    close_gap(s, find_slot(s, u->hash));
    unlink_unit(s, i);
    s->tokens -= u->tokens;
    s->n_stored--;
    u->older = s->free_unit;
    s->free_unit = i;
}

/* ---- find and add ---- */

int32_t prefix_store_find(struct prefix_store *s, const uint64_t *hashes, int32_t n,
                          int32_t unit_tokens) {
    int32_t found = 0;
    while (found < n && unit_tokens <= INT32_MAX / (found + 1)) {
        int32_t i = s->slots[find_slot(s, hashes[found])];
        if (i == NONE || s->units[i].tokens != unit_tokens) break;
        found++;
    }
    for (int32_t k = found; k-- > 0;) use_now(s, s->slots[find_slot(s, hashes[k])]);
    return found * unit_tokens;
}

void prefix_store_add(struct prefix_store *s, const uint64_t *hashes, int32_t n,
                      int32_t unit_tokens) {
    INVARIANT(unit_tokens >= 1);
    if (n > s->capacity_tokens / unit_tokens) n = (int32_t)(s->capacity_tokens / unit_tokens);
    for (int32_t k = n; k-- > 0;) { /* the first unit is marked last, to be evicted last */
        int64_t slot = find_slot(s, hashes[k]);
        int32_t i = s->slots[slot];
        if (i == NONE) {
            insert(s, slot, hashes[k], unit_tokens);
        } else {
            s->tokens += unit_tokens - s->units[i].tokens;
            s->units[i].tokens = unit_tokens;
            use_now(s, i);
        }
    }
    while (s->tokens > s->capacity_tokens) drop_oldest(s);
}
