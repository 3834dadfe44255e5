/* check_request.c: counts one request of a warp: its sectors, or its wavefronts.
 *
 * Global memory moves in sectors of 32 bytes: a request costs as many as its lanes' bytes touch.
 * Shared memory has 32 banks of 4 bytes: a request costs as many wavefronts as the fullest bank has
 * different words; 8-byte accesses go in half warps, 16-byte ones in quarters. Two atomics on one
 * word conflict even with each other.
 */
#include "check_count.h"

enum { SECTOR_BYTES = 32, BANKS = 32 };

static void footprint(uint64_t sector, bool write) {
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
    uint32_t *mark = &r->touched[2 * (sector - first) + write];
    if (*mark == check.job->id) return;
    *mark = check.job->id;
    if (write)
        count_now->write_footprint++;
    else
        count_now->read_footprint++;
}

static void mark(uint64_t sector, enum count_kind kind) {
    if (kind != COUNT_STORE) footprint(sector, false);
    if (kind != COUNT_LOAD) footprint(sector, true);
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
        for (int i = 0; i < n; i++) mark(a[i] / SECTOR_BYTES, s->kind);
        s->sectors += (uint64_t)n;
        s->ideal_sectors += ceil_div((uint64_t)n * size, SECTOR_BYTES);
        return true;
    } else
        return false;
    for (uint64_t q = low / SECTOR_BYTES; q <= high / SECTOR_BYTES; q++) mark(q, s->kind);
    s->sectors += high / SECTOR_BYTES - low / SECTOR_BYTES + 1;
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
        for (uint64_t q = a[i] / SECTOR_BYTES; q <= (a[i] + size - 1) / SECTOR_BYTES; q++) {
            for (k = sectors - 1; k >= 0 && sector[k] != q; k--) continue;
            if (k >= 0) continue;
            sector[sectors++] = q;
            mark(q, s->kind);
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
