/* fleet.c: see fleet.h.
 *
 * A tournament tree over the servers finds the one with the earliest next event. An event's rank is
 * twice its time, plus one for a decision: so at one instant effects come before decisions. */
#include "sim/fleet.h"

#include "base/nearest.h"
#include "base/rng.h"
#include "sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SERVERS = 100000 };

typedef int32_t choose_fn(struct fleet *f, const struct sim_request *r);

struct fleet {
    struct sim_config c;
    int32_t n;
    struct sim **server;  /* (n) */
    int64_t *outstanding; /* (n): requests in each */
    int64_t total;        /* their sum */
    int64_t last_arrival_ns;
    int64_t ended; /* requests that have ended, in all servers */

    choose_fn *choose; /* a server, or NO_SERVER: hold it back */
    struct rng rng;
    int32_t turn;        /* round-robin */
    int64_t most_each;   /* central */
    bool no_arrivals;    /* no request will come to the fleet */
    bool ended_arrivals; /* and the policies know */

    /* the central queue: a ring */
    struct sim_request *held;
    size_t head, n_held, cap_held;
    int64_t held_counted_ns; /* held_time is up to date until here */
    __int128 held_time, held_wait;

    /* the tournament: leaves [leaves, 2 * leaves), winner[1] has the earliest event */
    int32_t leaves, *winner; /* (2 * leaves) */
    int64_t *rank;           /* (leaves) */
};
enum { NO_SERVER = -1 };

/* ---- the tournament ---- */

static const int64_t NEVER = INT64_MAX;

static int64_t rank_of(const struct sim *s) {
    int64_t t_ns = sim_next_ns(s);
    if (t_ns == INT64_MAX) return NEVER;
    return t_ns > INT64_MAX / 2 - 1 ? NEVER - 1 : 2 * t_ns + !s->in_flight;
}

static void play(struct fleet *f, int32_t node) {
    int32_t a = f->winner[2 * node], b = f->winner[2 * node + 1];
    f->winner[node] = f->rank[b] < f->rank[a] ? b : a;
}

/* Server i has changed: updates the tournament and the count of its requests. */
static void refresh(struct fleet *f, int32_t i) {
    const struct sim *s = f->server[i];
    f->total += sim_in_system(s) - f->outstanding[i];
    f->outstanding[i] = sim_in_system(s);
    f->rank[i] = rank_of(s);
    for (int32_t node = (f->leaves + i) / 2; node > 0; node /= 2) play(f, node);
}

/* ---- routers ---- */

static int32_t round_robin(struct fleet *f, const struct sim_request *r) {
    (void)r;
    int32_t i = f->turn;
    f->turn = i + 1 < f->n ? i + 1 : 0;
    return i;
}

static int32_t at_random(struct fleet *f, const struct sim_request *r) {
    (void)r;
    return (int32_t)rng_below(&f->rng, (uint64_t)f->n);
}

static int32_t least_outstanding(struct fleet *f, const struct sim_request *r) {
    (void)r;
    int32_t best = 0;
    for (int32_t i = 1; i < f->n; i++)
        if (f->outstanding[i] < f->outstanding[best]) best = i;
    return best;
}

static int32_t power_of_two(struct fleet *f, const struct sim_request *r) {
    int32_t a = at_random(f, r);
    if (f->n == 1) return a;
    int32_t b = (int32_t)rng_below(&f->rng, (uint64_t)f->n - 1);
    if (b >= a) b++; /* a different server than a */
    return f->outstanding[b] < f->outstanding[a] ? b : a;
}

static int32_t prefix_affinity(struct fleet *f, const struct sim_request *r) {
    if (r->prefix_hash == 0) return least_outstanding(f, r);
    struct rng mix; /* low bits of a hash may be equal: mix it */
    rng_seed(&mix, r->prefix_hash);
    int32_t i = (int32_t)rng_below(&mix, (uint64_t)f->n);
    int64_t most = (5 * (f->total + 1) + 4 * f->n - 1) / (4 * f->n); /* with this one, rounded up */
    while (f->outstanding[i] >= most) i = i + 1 < f->n ? i + 1 : 0;
    return i;
}

static int32_t central(struct fleet *f, const struct sim_request *r) {
    int32_t i = least_outstanding(f, r);
    return f->n_held == 0 && f->outstanding[i] < f->most_each ? i : NO_SERVER;
}

static const char *const ROUTERS[] = {"round-robin",  "random",          "least-outstanding",
                                      "power-of-two", "prefix-affinity", "central"};
static choose_fn *const CHOOSE[] = {round_robin,  at_random,       least_outstanding,
                                    power_of_two, prefix_affinity, central};
enum { N_ROUTERS = sizeof ROUTERS / sizeof *ROUTERS };

static int find_router(struct fleet *f, const char *text, struct err *e) {
    size_t n = strcspn(text, ":");
    for (int i = 0; i < N_ROUTERS; i++) {
        if (strlen(ROUTERS[i]) != n || strncmp(ROUTERS[i], text, n)) continue;
        f->choose = CHOOSE[i];
        f->most_each = 1;
        if (!text[n]) return 0;
        char *end;
        f->most_each = strtol(text + n + 1, &end, 10);
        if (f->choose == central && end != text + n + 1 && !*end && f->most_each >= 1) return 0;
        return err_at(e, 0, "--router",
                      "'%.60s' makes no sense; only central takes a number, as in central:8", text);
    }
    char known[200];
    return err_at(e, 0, "--router", "there is no router '%.40s'; did you mean '%s'? Known: %s",
                  text, nearest_name(text, ROUTERS, N_ROUTERS),
                  list_names(ROUTERS, N_ROUTERS, known, sizeof known));
}

/* ---- life ---- */

static void *zeros(size_t n, size_t size) {
    void *p = calloc(n, size);
    INVARIANT(p);
    return p;
}

static int create_servers(struct fleet *f, const char *policy_arg, struct err *e) {
    struct sim_config c = f->c;
    for (int32_t i = 0; i < f->n; i++) {
        c.server = i;
        c.policy_state = c.policy->create(policy_arg, e);
        if (!c.policy_state) return -1;
        f->server[i] = sim_create(&c, e);
        if (f->server[i]) continue;
        c.policy->destroy(c.policy_state);
        return -1;
    }
    return 0;
}

struct fleet *fleet_create(const struct sim_config *c, const char *policy_arg, int32_t servers,
                           const char *router, uint64_t seed, struct err *e) {
    if (servers < 1 || servers > MAX_SERVERS) {
        err_at(e, 0, "--servers", "takes a number from 1 to %d, not %d", MAX_SERVERS, servers);
        return NULL;
    }
    struct fleet *f = zeros(1, sizeof *f);
    f->c = *c;
    f->n = servers;
    for (f->leaves = 2; f->leaves < servers;) f->leaves *= 2;
    f->server = zeros((size_t)servers, sizeof *f->server);
    f->outstanding = zeros((size_t)servers, sizeof *f->outstanding);
    f->winner = zeros((size_t)f->leaves * 2, sizeof *f->winner);
    f->rank = zeros((size_t)f->leaves, sizeof *f->rank);
    rng_seed(&f->rng, seed);
    for (int32_t i = 0; i < f->leaves; i++) f->winner[f->leaves + i] = i, f->rank[i] = NEVER;
    for (int32_t node = f->leaves - 1; node > 0; node--) play(f, node);
    if (find_router(f, router, e) || create_servers(f, policy_arg, e)) {
        fleet_free(f);
        return NULL;
    }
    return f;
}

void fleet_free(struct fleet *f) {
    if (!f) return;
    for (int32_t i = 0; i < f->n && f->server[i]; i++) {
        f->c.policy->destroy(f->server[i]->c.policy_state);
        sim_free(f->server[i]);
    }
    free(f->server);
    free(f->outstanding);
    free(f->held);
    free(f->winner);
    free(f->rank);
    free(f);
}

/* ---- the central queue ---- */

static void count_held(struct fleet *f, int64_t t_ns) {
    f->held_time += (__int128)f->n_held * (t_ns - f->held_counted_ns);
    f->held_counted_ns = t_ns;
}

static void hold_back(struct fleet *f, const struct sim_request *r) {
    count_held(f, r->arrival_ns);
    if (f->n_held == f->cap_held) {
        size_t old = f->cap_held;
        f->cap_held = old ? old * 2 : 64;
        f->held = realloc(f->held, f->cap_held * sizeof *f->held);
        INVARIANT(f->held);
        memcpy(f->held + old, f->held,
               f->head * sizeof *f->held); /* the part that had wrapped around */
    }
    f->held[(f->head + f->n_held++) % f->cap_held] = *r;
}

static int place(struct fleet *f, int32_t i, const struct sim_request *r, int64_t t_ns,
                 struct err *e) {
    struct sim *s = f->server[i];
    int64_t before = s->ended;
    if (sim_run_until(s, t_ns, e) || sim_place(s, r, t_ns, e)) return -1;
    f->ended += s->ended - before;
    refresh(f, i);
    return 0;
}

/* Hands held requests to server i while it takes more. */
static int hand_out(struct fleet *f, int32_t i, int64_t t_ns, struct err *e) {
    while (f->n_held > 0 && f->outstanding[i] < f->most_each) {
        count_held(f, t_ns);
        struct sim_request r = f->held[f->head];
        f->head = (f->head + 1) % f->cap_held;
        f->n_held--;
        f->held_wait += t_ns - r.arrival_ns;
        if (place(f, i, &r, t_ns, e)) return -1;
    }
    return 0;
}

/* Tells the policies once no request will come to any server. */
static void end_arrivals(struct fleet *f, int64_t t_ns) {
    if (f->ended_arrivals || !f->no_arrivals || f->n_held > 0) return;
    f->ended_arrivals = true;
    for (int32_t i = 0; i < f->n; i++) {
        sim_end_arrivals(f->server[i], t_ns);
        refresh(f, i);
    }
}

/* ---- the loop ---- */

/* As sim_turn, with the earliest event of all servers. */
static int fleet_turn(struct fleet *f, int64_t t_ns, struct err *e) {
    int32_t i = f->winner[1];
    int64_t rank = f->rank[i], last = t_ns > INT64_MAX / 2 - 1 ? NEVER - 1 : 2 * t_ns;
    if (rank > last) return 0;
    struct sim *s = f->server[i];
    int64_t before = s->ended;
    /* only this event: the next one may be another server's */
    if (sim_turn(s, sim_next_ns(s) + !s->in_flight, e) < 0) return -1;
    f->ended += s->ended - before;
    refresh(f, i);
    if (f->n_held > 0 && hand_out(f, i, s->now_ns, e)) return -1;
    end_arrivals(f, s->now_ns);
    return 1;
}

/* One server without a central queue needs neither tournament nor router. */
static bool alone(const struct fleet *f) {
    return f->n == 1 && f->choose != central;
}

int fleet_run_until(struct fleet *f, int64_t t_ns, struct err *e) {
    if (alone(f)) return sim_run_until(f->server[0], t_ns, e);
    int rc;
    do rc = fleet_turn(f, t_ns, e);
    while (rc == 1);
    return rc;
}

int fleet_run_to_end(struct fleet *f, int64_t t_ns, struct err *e) {
    if (alone(f)) return sim_run_to_end(f->server[0], t_ns, e);
    int64_t before = f->ended;
    int rc;
    do rc = fleet_turn(f, t_ns, e);
    while (rc == 1 && f->ended == before);
    return rc;
}

int fleet_push(struct fleet *f, const struct sim_request *r, struct err *e) {
    if (r->arrival_ns < f->last_arrival_ns)
        return err_set(e, "request %lld arrives at %lld ns, before the last arrival at %lld ns",
                       (long long)r->id, (long long)r->arrival_ns, (long long)f->last_arrival_ns);
    f->last_arrival_ns = r->arrival_ns;
    if (alone(f)) return sim_push(f->server[0], r, e);
    int32_t i = f->choose(f, r);
    if (i != NO_SERVER) return place(f, i, r, r->arrival_ns, e);
    hold_back(f, r);
    return 0;
}

int fleet_finish(struct fleet *f, struct err *e) {
    f->no_arrivals = true;
    end_arrivals(f, f->last_arrival_ns);
    if (fleet_run_until(f, INT64_MAX, e)) return -1;
    refresh(f, 0);
    if (f->total + (int64_t)f->n_held > 0)
        return err_set(
            e, "the policy leaves requests unfinished although no arrival is left: %lld%s",
            (long long)(f->total + (int64_t)f->n_held),
            f->n_held ? "; router central holds some of them back, give it a number" : "");
    return 0;
}

/* ---- counters ---- */

int32_t fleet_servers(const struct fleet *f) {
    return f->n;
}

const struct sim_counters *fleet_server_counters(const struct fleet *f, int32_t server) {
    return sim_counters(f->server[server]);
}

static void add_counters(struct sim_counters *sum, const struct sim_counters *c) {
    sum->arrivals += c->arrivals;
    sum->completed += c->completed;
    sum->rejected += c->rejected;
    sum->failed += c->failed;
    sum->iterations += c->iterations;
    sum->policy_calls += c->policy_calls;
    sum->preemptions += c->preemptions;
    sum->prompt_tokens += c->prompt_tokens;
    sum->output_tokens += c->output_tokens;
    sum->computed_tokens += c->computed_tokens;
    sum->cached_tokens += c->cached_tokens;
    sum->busy_ns += c->busy_ns;
    sum->batch_time += c->batch_time;
    sum->kv_time += c->kv_time;
    sum->kv_token_time += c->kv_token_time;
    sum->in_system_time += c->in_system_time;
    sum->latency_sum += c->latency_sum;
    if (c->kv_peak_blocks > sum->kv_peak_blocks) sum->kv_peak_blocks = c->kv_peak_blocks;
    if (c->last_completion_ns > sum->last_completion_ns)
        sum->last_completion_ns = c->last_completion_ns;
    bool has = c->first_arrival_ns >= 0;
    if (has && (sum->first_arrival_ns < 0 || c->first_arrival_ns < sum->first_arrival_ns))
        sum->first_arrival_ns = c->first_arrival_ns;
}

void fleet_counters(const struct fleet *f, struct sim_counters *out) {
    *out = (struct sim_counters){
        .first_arrival_ns = -1, .in_system_time = f->held_time, .latency_sum = f->held_wait};
    for (int32_t i = 0; i < f->n; i++) add_counters(out, sim_counters(f->server[i]));
}
