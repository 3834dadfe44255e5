/* test_theory.c: the simulator against the closed forms of queueing theory.
 *
 * Method: batch means (Law, Simulation Modeling and Analysis, section 9.5.3). A tenth of the run is
 * thrown away, the rest is cut into BATCHES parts of equally many arrivals, and the parts' means
 * are taken as independent and normal. A formula holds when it lies within the 99.9 % interval
 * (Student's t, 29 degrees of freedom); the 95 % half-width must be at most 1 % of the mean, so
 * that the test has teeth. An engine whose service times are 2 % off must fail every one of them.
 *
 * All of it goes through the event loop, the policies and the routers that every other run uses.
 */
#include "simulate.h"

#include <complex.h>
#include <math.h>

enum { BATCHES = 30 };
static const double T_95 = 2.045, T_999 = 3.659; /* t(29) */
static const int64_t MEAN_NS = NS_PER_MS;        /* mean service time */

enum service { EXPONENTIAL, CONSTANT, ERLANG_2 };
enum measure { SOJOURN, LOSS };

struct system {
    const char *name;
    enum service service;
    double load; /* arrival rate * mean service time / servers (bulk: / size of a group) */
    int32_t servers, group;
    int64_t max_in_system; /* 0: no limit */
    enum measure measure;
    double (*formula)(const struct system *q); /* mean sojourn time in ns, or share lost */
    int n;                                     /* requests */
};

/* ---- the formulas ---- */

/* Pollaczek-Khinchine: M/G/1 with squared coefficient of variation c2 of the service time. */
static double pollaczek_khinchine(double load, double c2) {
    return (double)MEAN_NS * (1 + load * (1 + c2) / (2 * (1 - load)));
}
static double m_m_1(const struct system *q) {
    return (double)MEAN_NS / (1 - q->load);
}
static double m_d_1(const struct system *q) {
    return pollaczek_khinchine(q->load, 0);
}
static double m_e2_1(const struct system *q) {
    return pollaczek_khinchine(q->load, 0.5);
}
static double m_m_1_k(const struct system *q) {
    double k = (double)q->max_in_system;
    return (1 - q->load) * pow(q->load, k) / (1 - pow(q->load, k + 1));
}

/* Erlang C: the probability to wait in M/M/c. */
static double erlang_c(int c, double load) {
    double a = c * load, term = 1, sum = 0;
    for (int k = 0; k < c; k++) sum += term, term *= a / (k + 1);
    term /= 1 - load;
    return term / (sum + term);
}
static double m_m_c(const struct system *q) {
    return (double)MEAN_NS * (1 + erlang_c(q->servers, q->load) / (q->servers * (1 - q->load)));
}

/* Bulk service M/D^(1,b)/1: whenever the worker is free it takes up to b of those waiting, and they
 * take D together (Bailey, "On queueing processes with bulk service", J. Royal Stat. Soc. B 16,
 * 1954). With a = arrivals expected in D, the number left behind at an end of service has the
 * generating function
 *   P(z) = (b - a) A(z) (z - 1) / (z^b - A(z)) * product over i of (z - z_i) / (1 - z_i),
 * A(z) = exp(-a (1 - z)), where z_1 .. z_(b-1) are the roots of z^b = A(z) inside the unit circle.
 * Root k is the fixed point of z = w^k exp(-a (1 - z) / b), w the b-th root of unity.
 *
 * From it the mean left behind, N = P'(1), and p0 = P(0). Between two ends of service lie D + p0 /
 * rate on average; the queue's integral over that time is D (N - a) + a D / 2. Little's law gives
 * the mean wait. */
static double m_d_bulk_1(const struct system *q) {
    int b = q->group;
    double a = q->load * b, d = (double)MEAN_NS, rate = a / d;
    double n = a - (b * (b - 1) - a * a) / (2 * (b - a));
    double complex p0 = b - a, sum = 0;
    for (int k = 1; k < b; k++) {
        double complex w = cexp(2 * acos(-1) * I * k / b), z = 0;
        for (int i = 0; i < 1000; i++) z = w * cexp(-a * (1 - z) / b);
        sum += 1 / (1 - z);
        p0 *= z / (z - 1);
    }
    n += creal(sum);
    double queue = (d * (n - a) + a * d / 2) / (d + creal(p0) / rate);
    return queue / rate + d;
}

static const struct system SYSTEMS[] = {
    {"M/M/1", EXPONENTIAL, 0.7, 1, 1, 0, SOJOURN, m_m_1, 3000000},
    {"M/D/1", CONSTANT, 0.7, 1, 1, 0, SOJOURN, m_d_1, 2000000},
    {"M/E2/1", ERLANG_2, 0.7, 1, 1, 0, SOJOURN, m_e2_1, 3000000},
    {"M/M/1/5", EXPONENTIAL, 0.9, 1, 1, 5, LOSS, m_m_1_k, 3000000},
    {"M/M/4", EXPONENTIAL, 0.8, 4, 1, 0, SOJOURN, m_m_c, 5000000},
    {"M/D^(1,4)/1", CONSTANT, 0.8, 1, 4, 0, SOJOURN, m_d_bulk_1, 2000000},
};
enum { N_SYSTEMS = sizeof SYSTEMS / sizeof *SYSTEMS };

/* ---- the run ---- */

struct batches {
    enum measure measure;
    double sum[BATCHES];
    int64_t count[BATCHES];
    int64_t skip, length; /* by number of arrival, which is the id */
};

static void into_batches(void *ctx, const struct sim_outcome *o) {
    struct batches *b = ctx;
    int64_t at = o->request.id - b->skip;
    if (at < 0 || at / b->length >= BATCHES) return;
    double value = b->measure == LOSS ? o->end == SIM_REJECTED_QUEUE_FULL
                                      : (double)(o->completion_ns - o->request.arrival_ns);
    b->sum[at / b->length] += value;
    b->count[at / b->length]++;
}

static int64_t draw_service(struct rng *r, enum service service) {
    if (service == EXPONENTIAL) return rng_exponential_ns(r, MEAN_NS);
    if (service == ERLANG_2)
        return rng_exponential_ns(r, MEAN_NS / 2) + rng_exponential_ns(r, MEAN_NS / 2);
    return MEAN_NS;
}

static struct fleet *create(const struct system *q, double bias, struct batches *b) {
    char policy[32];
    snprintf(policy, sizeof policy, q->group > 1 ? "static:%d" : "single", q->group);
    struct err e;
    const char *arg;
    struct sim_config c = {.policy = policy_find(policy, &arg, &e),
                           .cost = {.kind = q->group > 1 ? COST_PER_REQUEST : COST_SERVICE,
                                    .setup_ns = (int64_t)((double)MEAN_NS * bias)},
                           .kv_blocks = PLENTY,
                           .token_budget = PLENTY,
                           .max_running = q->group,
                           .max_in_system = q->max_in_system ? q->max_in_system : INT64_MAX,
                           .each = into_batches,
                           .ctx = b};
    /* one server may queue by itself; several share a queue in front of them */
    const char *router = q->servers > 1 ? "central" : "round-robin";
    struct fleet *f = fleet_create(&c, arg, q->servers, router, 1, &e);
    ck_assert_msg(f != NULL, "%s", e.text);
    return f;
}

static struct batches simulate(const struct system *q, double bias) {
    struct batches b = {
        .measure = q->measure, .skip = q->n / 10, .length = (q->n - q->n / 10) / BATCHES};
    struct fleet *f = create(q, bias, &b);
    struct rng arrivals, services;
    struct err e;
    rng_seed(&arrivals, 101);
    rng_seed(&services, 202);
    int64_t at = 0, gap_ns = (int64_t)((double)MEAN_NS / (q->load * q->servers * q->group));
    for (int i = 0; i < q->n; i++) {
        at += rng_exponential_ns(&arrivals, gap_ns);
        int64_t service_ns = (int64_t)((double)draw_service(&services, q->service) * bias);
        struct sim_request r = {.id = i,
                                .arrival_ns = at,
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1,
                                .service_ns = service_ns};
        /* not an assertion each time: Check writes a mark into a file for every one */
        if (fleet_run_until(f, at, &e) || fleet_push(f, &r, &e)) ck_abort_msg("%s", e.text);
    }
    ck_assert_int_eq(fleet_finish(f, &e), 0);
    struct sim_counters c;
    fleet_counters(f, &c);
    ck_assert(c.in_system_time == c.latency_sum); /* Little's law, exactly */
    ck_assert_int_eq(c.completed + c.rejected, q->n);
    fleet_free(f);
    return b;
}

/* Does the formula hold? Fails the test when the interval is too wide to tell. */
static bool agrees(const struct system *q, double bias) {
    struct batches b = simulate(q, bias);
    double mean = 0, squares = 0, want = q->formula(q);
    for (int k = 0; k < BATCHES; k++) mean += b.sum[k] / (double)b.count[k] / BATCHES;
    for (int k = 0; k < BATCHES; k++) squares += pow(b.sum[k] / (double)b.count[k] - mean, 2);
    double error = sqrt(squares / (BATCHES - 1) / BATCHES);
    ck_assert_msg(T_95 * error <= 0.01 * mean, "%s: the 95 %% half-width is %.2f %%", q->name,
                  100 * T_95 * error / mean);
    bool good = fabs(mean - want) <= T_999 * error;
    if (bias == 1)
        ck_assert_msg(good, "%s: got %g, theory says %g, standard error %g", q->name, mean, want,
                      error);
    return good;
}

/* ---- the tests: one for each system ---- */

START_TEST(the_formula_holds) {
    agrees(&SYSTEMS[_i], 1);
}
END_TEST

START_TEST(an_engine_that_is_2_percent_off_fails_it) {
    ck_assert_msg(!agrees(&SYSTEMS[_i], 1.02), "%s: 2 %% too slow passes", SYSTEMS[_i].name);
    ck_assert_msg(!agrees(&SYSTEMS[_i], 0.98), "%s: 2 %% too fast passes", SYSTEMS[_i].name);
}
END_TEST

/* The formulas themselves where they meet: bulk service of one is M/D/1, one server of Erlang's is
 * M/M/1, and Erlang C for ten servers at 80 % from tables (Kleinrock, Queueing Systems, figure
 * 3.13: 0.41). */
START_TEST(the_formulas_agree_where_they_meet) {
    struct system one = {.load = 0.6, .servers = 1, .group = 1};
    ck_assert_double_eq_tol(m_d_bulk_1(&one), m_d_1(&one), 1e-6);
    ck_assert_double_eq_tol(m_m_c(&one), m_m_1(&one), 1e-6);
    ck_assert_double_eq_tol(erlang_c(10, 0.8), 0.409, 0.001);
}
END_TEST

int main(void) {
    Suite *s = suite_create("queueing theory");
    TCase *t = tcase_create("theory");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, the_formula_holds, 0, N_SYSTEMS);
    tcase_add_loop_test(t, an_engine_that_is_2_percent_off_fails_it, 0, N_SYSTEMS);
    tcase_add_test(t, the_formulas_agree_where_they_meet);
    suite_add_tcase(s, t);
    return check_main(s);
}
