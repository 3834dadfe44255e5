/* check_request.c: counts one request of a warp: its sectors, or its wavefronts.
 *
 * Global memory moves in sectors of 32 bytes: a request costs as many as its lanes' bytes touch.
 * Shared memory has 32 banks of 4 bytes: a request costs as many wavefronts as the fullest bank has
 * different words; 8-byte accesses go in half warps, 16-byte ones in quarters. Two atomics on one
 * word conflict even with each other.
 */
#include "check_count.h"

enum { SECTOR_BYTES = 32, BANKS = 32 };

/* Notes those bytes of a sector as read or written; the sector itself once a launch. */
static void footprint(uint64_t sector, uint32_t bytes, bool write) {
    uint64_t a = sector * SECTOR_BYTES;
    const struct allocation *al = memory_find(a);
    if (!al) al = memory_find(a + SECTOR_BYTES - 1);
    const struct region *r;
    struct region found;
    if (al)
        found = place_allocation(al), r = &found;
    else if ((r = place_symbol(a)) == NULL && (r = place_symbol(a + SECTOR_BYTES - 1)) == NULL)
        return;
    uint64_t first = r->start / SECTOR_BYTES;
    uint64_t *mark = &r->touched[2 * (sector - first) + write];
    if (*mark >> 32 == check.job->id) {
        *mark |= bytes;
        return;
    }
    *mark = (uint64_t)check.job->id << 32 | bytes;
    if (write)
        count_now->write_footprint++;
    else
        count_now->read_footprint++;
}

/* The bytes low .. high, of as many sectors as they are in. Returns how many those are. */
static uint64_t mark(uint64_t low, uint64_t high, enum count_kind kind) {
    uint64_t first = low / SECTOR_BYTES, last = high / SECTOR_BYTES;
    for (uint64_t q = first; q <= last; q++) {
        uint32_t bytes = ~0u;
        if (q == first) bytes &= ~0u << low % SECTOR_BYTES;
        if (q == last) bytes &= ~0u >> (SECTOR_BYTES - 1 - high % SECTOR_BYTES);
        if (kind != COUNT_STORE) footprint(q, bytes, false);
        if (kind != COUNT_LOAD) footprint(q, bytes, true);
    }
    return last - first + 1;
}

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* Lanes at a constant distance: sectors without a search. False: not such a case. */
static bool global_regular(struct count_site *s, const uint64_t *a, int n, unsigned size,
                           int64_t step) {
    uint64_t low = step < 0 ? a[n - 1] : a[0], high, distance = (uint64_t)(step < 0 ? -step : step);
    if (step == 0)
        high = low + size - 1, s->ideal_sectors += 1;
    else if (distance == size) {
        high = low + (uint64_t)n * size - 1;
        s->ideal_sectors += ceil_div((uint64_t)n * size, SECTOR_BYTES);
    } else if (distance % SECTOR_BYTES == 0 && low % SECTOR_BYTES + size <= SECTOR_BYTES) {
        for (int i = 0; i < n; i++) mark(a[i], a[i] + size - 1, s->kind);
        s->sectors += (uint64_t)n;
        s->ideal_sectors += ceil_div((uint64_t)n * size, SECTOR_BYTES);
        return true;
    } else
        return false;
    s->sectors += mark(low, high, s->kind);
    return true;
}

static void global_any(struct count_site *s, const uint64_t *a, int n, unsigned size) {
    uint64_t sector[2 * WARP], different[WARP];
    int sectors = 0, addresses = 0;
    for (int i = 0; i < n; i++) {
        int k = addresses - 1;
        while (k >= 0 && different[k] != a[i]) k--;
        if (k >= 0) continue;
        different[addresses++] = a[i];
        mark(a[i], a[i] + size - 1, s->kind);
        for (uint64_t q = a[i] / SECTOR_BYTES; q <= (a[i] + size - 1) / SECTOR_BYTES; q++) {
            for (k = sectors - 1; k >= 0 && sector[k] != q; k--) continue;
            if (k >= 0) continue;
            sector[sectors++] = q;
        }
    }
    s->sectors += (uint64_t)sectors;
    s->ideal_sectors += ceil_div((uint64_t)addresses * size, SECTOR_BYTES);
}

/* One pass over the banks by some of the lanes. */
static uint64_t waves(const uint64_t *a, int n, unsigned size, bool atomic) {
    uint64_t word[BANKS][WARP];
    int count[BANKS] = {0}, most = 1;
    for (int i = 0; i < n; i++)
        for (uint64_t q = a[i] / 4; q <= (a[i] + size - 1) / 4; q++) {
            int bank = (int)(q % BANKS), k = atomic ? -1 : count[bank] - 1;
            while (k >= 0 && word[bank][k] != q) k--;
            if (k >= 0 || count[bank] == WARP) continue;
            word[bank][count[bank]++] = q;
            if (count[bank] > most) most = count[bank];
        }
    return (uint64_t)most;
}

static void shared_request(struct count_site *s, const uint64_t *a, int n, unsigned size,
                           int64_t step, bool regular) {
    bool atomic = s->kind == COUNT_ATOMIC;
    if (regular && !atomic && size == 4 && step % 4 == 0 && a[0] % 4 == 0 && (n == WARP || !step)) {
        unsigned banks = (unsigned)(step / 4) % BANKS; /* lanes apart; 0: one word or one bank */
        s->waves += step == 0 ? 1 : banks ? 1u << __builtin_ctz(banks) : BANKS;
        s->ideal_waves++;
        return;
    }
    int lanes = size <= 4 ? WARP : 128 / (int)size;
    for (int i = 0; i < n; i += lanes) {
        s->waves += waves(a + i, n - i < lanes ? n - i : lanes, size, atomic);
        s->ideal_waves++;
    }
}

void request_account(const struct record *first, const uint64_t *a, int n) {
    unsigned size = first->bytes;
    enum count_kind kind = first->access & ACCESS_ATOMIC  ? COUNT_ATOMIC
                           : first->access & ACCESS_WRITE ? COUNT_STORE
                                                          : COUNT_LOAD;
    struct count_site *s = count_site(first->pc, kind, first->shared);
    s->requests++, s->lanes += (uint64_t)n, s->bytes = (uint8_t)size;
    int64_t step = n > 1 ? (int64_t)(a[1] - a[0]) : 0, differ = 0;
    for (int i = 2; i < n; i++) differ |= (int64_t)(a[i] - a[i - 1]) ^ step;
    if (s->shared)
        shared_request(s, a, n, size, step, !differ);
    else if (differ || !global_regular(s, a, n, size, step))
        global_any(s, a, n, size);
}

/* ---- which bytes were counted -----------------------------------------------------------------
 */

void simt_check_counted(const void *p, size_t bytes, int write, unsigned char *bits) {
    const struct allocation *al = memory_find((uintptr_t)p);
    if (!al || (uintptr_t)p % SECTOR_BYTES || !al->touched) return;
    size_t first = ((uintptr_t)p - (uintptr_t)al->start) / SECTOR_BYTES;
    for (size_t q = 0; q * SECTOR_BYTES < bytes; q++) {
        uint64_t mark = al->touched[2 * (first + q) + !!write];
        if (!count_now || mark >> 32 != count_now->last_launch) continue;
        for (size_t i = 0; i < SECTOR_BYTES && q * SECTOR_BYTES + i < bytes; i += 8)
            bits[q * SECTOR_BYTES / 8 + i / 8] = (unsigned char)(mark >> i);
    }
}
