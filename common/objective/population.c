/* population.c: groups attempts into user requests. See population.h. */
#include "objective/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define NO_INTERVAL INT64_MIN

struct request {
    uint64_t id[2];         /* keyed hash of the request id */
    uint64_t attempts_seen; /* bit n - 1: attempt n was added, n <= 64 */
    int64_t ns[IV_N];       /* of the deciding attempt; NO_INTERVAL: absent or in error */
    int32_t attempts;       /* how many were added */
    int32_t deciding;       /* the highest attempt number so far */
    uint8_t reason, quality, structure;
    bool useful : 1, good : 1;
    bool by_server : 1; /* finished_by_server */
};
_Static_assert(sizeof(struct request) == 88, "population.h states the size");

struct population {
    const struct objective *o;
    uint64_t key[2];
    struct request *requests;
    size_t n, cap;
    uint32_t *slots; /* open addressing: 1 + index into requests, 0 when free */
    size_t n_slots;  /* a power of two, at least 4/3 of n */
    int64_t records, repeated;
    int64_t *sorted; /* observations of one interval, ascending */
    size_t n_sorted;
    int sorted_id; /* its enum interval_id, -1: none; n_failed belongs to it too */
    size_t n_failed;
};

/* ---- ids ------------------------------------------------------------------------------------- */

static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two lanes of multiply-and-fold under a secret key: fast, and collisions can't be provoked. */
static void hash_id(const struct population *p, const char *id, uint64_t out[2]) {
    size_t left = strlen(id);
    uint64_t a = p->key[0] ^ left, b = p->key[1] + left;
    for (; left > 0; left -= left < 8 ? left : 8, id += 8) {
        uint64_t word = 0;
        memcpy(&word, id, left < 8 ? left : 8);
        a = fold(a ^ word, 0x9e3779b97f4a7c15u ^ p->key[1]);
        b = fold(b + word, 0xd1342543de82ef95u ^ p->key[0]);
        if (left < 8) break;
    }
    out[0] = fold(a ^ b, 0xaf251af3b0f025b5u);
    out[1] = fold(b ^ (a << 32 | a >> 32), 0xb564ef22ec7aece5u);
}

/* The slot of the id, or the free slot where it belongs. */
static uint32_t *find_slot(const struct population *p, const uint64_t id[2]) {
    size_t mask = p->n_slots - 1;
    for (size_t i = id[0] & mask;; i = (i + 1) & mask) {
        uint32_t at = p->slots[i];
        if (!at || !memcmp(p->requests[at - 1].id, id, sizeof p->requests->id)) return &p->slots[i];
    }
}

/* Makes room for one more request. */
static int make_room(struct population *p, struct err *e) {
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 64;
        struct request *wider = cap < UINT32_MAX ? realloc(p->requests, cap * sizeof *wider) : NULL;
        if (!wider) return err_set(e, "memory is out for %zu user requests", cap);
        p->requests = wider;
        p->cap = cap;
    }
    if ((p->n + 1) * 4 <= p->n_slots * 3) return 0;
    size_t n_slots = p->n_slots ? p->n_slots * 2 : 128;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots) return err_set(e, "memory is out for %zu user requests", p->n);
    free(p->slots);
    p->slots = slots;
    p->n_slots = n_slots;
    for (size_t i = 0; i < p->n; i++) *find_slot(p, p->requests[i].id) = (uint32_t)i + 1;
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

struct population *population_create(const struct objective *o) {
    struct population *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->o = o;
    p->sorted_id = -1;
    if (getrandom(p->key, sizeof p->key, GRND_NONBLOCK) != sizeof p->key) {
        p->key[0] = (uint64_t)time(
            NULL); /* without random numbers collisions can be provoked; results stay right */
        p->key[1] = (uint64_t)(uintptr_t)p;
    }
    return p;
}

void population_free(struct population *p) {
    if (!p) return;
    free(p->requests);
    free(p->slots);
    free(p->sorted);
    free(p);
}

/* Takes the verdicts and intervals of the deciding attempt. */
static void take_over(struct request *q, const struct record *r, const struct intervals *iv,
                      const struct classification *c, bool good) {
    q->deciding = r->attempt;
    q->reason = (uint8_t)c->reason;
    q->quality = (uint8_t)c->quality;
    q->structure = (uint8_t)c->structure;
    q->by_server = finished_by_server(r, c->reason);
    q->useful = c->useful;
    q->good = good;
    for (enum interval_id id = 0; id < IV_N; id++) {
        const struct interval *i = interval_get(iv, id);
        q->ns[id] = i->status == INTERVAL_OK ? i->ns : NO_INTERVAL;
    }
}

int population_add(struct population *p, const struct record *r, const struct intervals *iv,
                   const struct classification *c, bool good, struct err *e) {
    uint64_t id[2];
    if (make_room(p, e)) return -1;
    hash_id(p, r->request_id, id);
    uint32_t *slot = find_slot(p, id);
    if (!*slot) {
        p->requests[p->n] = (struct request){.id = {id[0], id[1]}};
        *slot = (uint32_t)++p->n;
    }
    struct request *q = &p->requests[*slot - 1];
    uint64_t bit = r->attempt <= 64 ? UINT64_C(1) << (r->attempt - 1) : 0;
    p->records++;
    if (q->attempts_seen & bit) {
        p->repeated++;
        return 0;
    }
    q->attempts_seen |= bit;
    q->attempts++;
    p->sorted_id = -1;
    if (r->attempt > q->deciding) take_over(q, r, iv, c, good);
    return 0;
}

static bool is_failure(const struct objective *o, enum completion_reason reason) {
    if (!o) return reason != REASON_DELIVERED;
    for (int32_t i = 0; i < o->reliability.n_failures; i++)
        if (!strcmp(o->reliability.failures[i], completion_reason_name(reason))) return true;
    return false;
}

void population_summarize(const struct population *p, struct population_summary *out) {
    *out = (struct population_summary){
        .records = p->records, .repeated = p->repeated, .requests = (int64_t)p->n};
    for (size_t i = 0; i < p->n; i++) {
        const struct request *q = &p->requests[i];
        out->retried += q->attempts > 1;
        out->completed += q->reason == REASON_DELIVERED;
        out->useful += q->useful;
        out->good += q->good;
        out->finished_by_server += q->by_server;
        out->by_reason[q->reason] += !q->by_server;
        out->quality[q->quality]++;
        out->structure[q->structure]++;
        out->counts.failed += !q->by_server && is_failure(p->o, q->reason);
    }
    out->counts.requests = out->requests;
    out->counts.useful = out->useful;
    out->counts.quality_passed = out->quality[VERDICT_PASSED];
    out->counts.quality_evaluated = out->quality[VERDICT_PASSED] + out->quality[VERDICT_FAILED];
    out->counts.interval_s = NAN;
}

/* ---- percentiles ----------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Collects the observations of an interval, sorted: the next percentile of the same interval then
 * sorts in a fraction of the time. */
static void gather(struct population *p, enum interval_id id) {
    if (p->sorted_id == (int)id) return;
    int64_t *wider = realloc(p->sorted, (p->n ? p->n : 1) * sizeof *wider);
    INVARIANT(wider != NULL);
    p->sorted = wider;
    p->n_sorted = p->n_failed = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct request *q = &p->requests[i];
        if (q->reason != REASON_DELIVERED && !q->by_server)
            p->n_failed++;
        else if (q->ns[id] != NO_INTERVAL)
            p->sorted[p->n_sorted++] = q->ns[id];
    }
    qsort(p->sorted, p->n_sorted, sizeof *p->sorted, ascending);
    p->sorted_id = (int)id;
}

struct percentile population_percentile(struct population *p, enum interval_id id,
                                        enum population_part part, int32_t percentile_milli) {
    gather(p, id);
    return percentile_nearest_rank(p->sorted, p->n_sorted, part == POPULATION_ALL ? p->n_failed : 0,
                                   percentile_milli);
}

struct percentile population_limit(struct population *p, const struct latency_limit *limit,
                                   int64_t *unmeasured) {
    bool clients = limit->interval == IV_CLIENT_TTFT || limit->interval == IV_E2E;
    *unmeasured = 0;
    for (size_t i = 0; clients && i < p->n; i++) *unmeasured += p->requests[i].by_server;
    struct percentile out =
        population_percentile(p, limit->interval, POPULATION_ALL, limit->percentile_milli);
    if (*unmeasured > 0) out.present = false;
    return out;
}
