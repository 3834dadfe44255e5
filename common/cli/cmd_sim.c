/* cmd_sim.c: `servelab sim run`: arrivals, a policy and a cost model in; a table of who waited how
 * long out. Not here: the event loop (sim/sim.h) and the policies (sched/policies.h). */
#include "base/clock.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "objective/percentile.h"
#include "sched/policies.h"
#include "sim/sim.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELP[] =
    "servelab sim run: simulate one server with a fixed cost per group and a cost per request\n"
    "\n"
    "usage: servelab sim run ARRIVALS [--policy NAME] [--setup-ms T] [--per-request-ms T]\n"
    "                        [--json] [--per-request]\n"
    "\n"
    "arrivals, one of\n"
    "  --arrivals-ms A,B,...                       these, in milliseconds\n"
    "  --arrivals poisson --rate-rps R --requests N [--seed S]\n"
    "\n"
    "  --policy NAME        single (default), wait-for-n:N, wait-for-time:MS[,N], static:N,\n"
    "                       continuous, chunked, shortest-first, learner\n"
    "  --setup-ms T         cost of a group, 4 by default\n"
    "  --per-request-ms T   cost of each request in it, 1 by default\n"
    "  --per-request        one line (or JSON object) a request; the default up to 20 requests\n"
    "\n"
    "example: servelab sim run --arrivals-ms 0,1,2,3 --policy wait-for-n:4\n";

enum { MAX_REQUESTS = 10 * 1000 * 1000, SHOW_UP_TO = 20 };

struct sim_args {
    const char *arrivals_ms, *arrivals, *policy;
    double rate_rps, setup_ms, per_request_ms;
    long long requests, seed;
    bool json, per_request;
};

struct results {
    struct sim_outcome *outcomes; /* by order of arrival: (n) */
    size_t n;
    struct sim_counters counters;
};

/* ---- arrivals ---- */

static int parse_list(const char *text, int64_t **out, size_t *n) {
    size_t cap = 1;
    for (const char *c = text; *c; c++) cap += *c == ',';
    int64_t *list = malloc(cap * sizeof *list);
    INVARIANT(list);
    *n = 0;
    for (const char *at = text;; at++) {
        char *end;
        double ms = strtod(at, &end);
        if (end == at || !(ms >= 0 && ms <= 1e9) || (*end && *end != ',')) {
            free(list);
            return cli_usage(
                "sim",
                "--arrivals-ms: '%.20s' is no time from 0 to 10^9 ms; write them as in 0,1,2,3",
                at);
        }
        list[*n] = llround(ms * (double)NS_PER_MS);
        if (*n > 0 && list[*n] < list[*n - 1]) {
            free(list);
            return cli_usage(
                "sim", "--arrivals-ms: %.20s comes before the arrival in front of it; sort them",
                at);
        }
        ++*n;
        at = end;
        if (!*at) break;
    }
    *out = list;
    return 0;
}

static int make_arrivals(const struct sim_args *a, int64_t **out, size_t *n) {
    if (a->arrivals_ms) return parse_list(a->arrivals_ms, out, n);
    if (!a->arrivals)
        return cli_usage("sim", "say when requests arrive: --arrivals-ms or --arrivals poisson");
    if (strcmp(a->arrivals, "poisson"))
        return cli_usage("sim", "--arrivals takes poisson, not '%.40s'", a->arrivals);
    if (!(a->rate_rps > 0)) return cli_usage("sim", "--arrivals poisson needs --rate-rps");
    if (a->requests < 1) return cli_usage("sim", "--arrivals poisson needs --requests");
    *n = (size_t)a->requests;
    *out = malloc(*n * sizeof **out);
    INVARIANT(*out);
    struct rng r;
    rng_seed(&r, (uint64_t)a->seed);
    int64_t at = 0, mean_ns = llround((double)NS_PER_S / a->rate_rps);
    for (size_t i = 0; i < *n; i++) (*out)[i] = at += rng_exponential_ns(&r, mean_ns);
    return 0;
}

/* ---- the run ---- */

static void keep(void *ctx, const struct sim_outcome *o) {
    struct results *r = ctx;
    r->outcomes[o->request.id] = *o;
}

static int run(const struct sim_args *a, const int64_t *arrivals, struct results *out) {
    struct err e;
    const char *arg;
    const struct policy_ops *policy = policy_find(a->policy, &arg, &e);
    void *state = policy ? policy->create(arg, &e) : NULL;
    if (!state) return cli_input_error("sim", NULL, &e, a->json);
    struct sim_config c = {
        .policy = policy,
        .policy_state = state,
        .cost = {.kind = COST_PER_REQUEST,
                 .setup_ns = llround(a->setup_ms * (double)NS_PER_MS),
                 .per_request_ns = llround(a->per_request_ms * (double)NS_PER_MS)},
        .kv_blocks = 1 << 28,
        .token_budget = 1 << 28,
        .max_running = 1 << 28,
        .max_in_system = INT64_MAX,
        .each = keep,
        .ctx = out};
    struct sim *s = sim_create(&c, &e);
    int rc = s ? 0 : -1;
    for (size_t i = 0; !rc && i < out->n; i++) {
        struct sim_request r = {.id = (int64_t)i,
                                .arrival_ns = arrivals[i],
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1};
        rc = sim_run_until(s, r.arrival_ns, &e) || sim_push(s, &r, &e) ? -1 : 0;
    }
    if (!rc) rc = sim_finish(s, &e);
    if (!rc) out->counters = *sim_counters(s);
    sim_free(s);
    policy->destroy(state);
    return rc ? cli_input_error("sim", NULL, &e, a->json) : 0;
}

/* ---- what came out ---- */

struct summary {
    double mean_latency_ns, mean_wait_ns, throughput_rps;
    int64_t interval_ns;
    struct percentile p50, p99;
};

static struct summary summarise(const struct results *r) {
    struct summary s = {0};
    int64_t *latency = malloc(r->n * sizeof *latency);
    INVARIANT(latency);
    for (size_t i = 0; i < r->n; i++) {
        const struct sim_outcome *o = &r->outcomes[i];
        latency[i] = o->completion_ns - o->request.arrival_ns;
        s.mean_latency_ns += (double)latency[i] / (double)r->n;
        s.mean_wait_ns += (double)(o->start_ns - o->request.arrival_ns) / (double)r->n;
    }
    s.interval_ns = r->counters.last_completion_ns - r->counters.first_arrival_ns;
    s.throughput_rps =
        s.interval_ns > 0 ? (double)r->n * (double)NS_PER_S / (double)s.interval_ns : 0;
    s.p50 = percentile_nearest_rank(latency, r->n, 0, 50000);
    s.p99 = percentile_nearest_rank(latency, r->n, 0, 99000);
    free(latency);
    return s;
}

static double ms(double ns) {
    return ns / (double)NS_PER_MS;
}

static void print_text(const struct sim_args *a, const struct results *r, const struct summary *s) {
    printf("policy %s, setup %g ms a group, %g ms a request\n\n", a->policy, a->setup_ms,
           a->per_request_ms);
    if (a->per_request || r->n <= SHOW_UP_TO) {
        printf("%10s %12s %12s %12s %14s %12s\n", "request", "arrival ms", "wait ms", "start ms",
               "completion ms", "latency ms");
        for (size_t i = 0; i < r->n; i++) {
            const struct sim_outcome *o = &r->outcomes[i];
            int64_t t = o->request.arrival_ns;
            printf("%10zu %12g %12g %12g %14g %12g\n", i, ms((double)t),
                   ms((double)(o->start_ns - t)), ms((double)o->start_ns),
                   ms((double)o->completion_ns), ms((double)(o->completion_ns - t)));
        }
        printf("\n");
    }
    printf("mean latency %g ms, mean wait %g ms (n %zu)\n", ms(s->mean_latency_ns),
           ms(s->mean_wait_ns), r->n);
    printf("p50 latency %g ms, p99 latency %g ms%s (nearest rank, n %zu)\n", ms((double)s->p50.ns),
           ms((double)s->p99.ns), s->p99.few ? " *" : "", r->n);
    printf("throughput %.2f requests/s over %g ms, from the first arrival to the last completion\n",
           s->throughput_rps, ms((double)s->interval_ns));
    if (s->p99.few) printf("* fewer than 100 observations: the p99 is simply the largest\n");
}

static void print_json(const struct sim_args *a, const struct results *r, const struct summary *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "policy", a->policy);
    if (a->per_request) {
        cJSON *list = cJSON_AddArrayToObject(o, "requests");
        for (size_t i = 0; i < r->n; i++) {
            const struct sim_outcome *q = &r->outcomes[i];
            int64_t t = q->request.arrival_ns;
            cJSON *one = cJSON_CreateObject();
            cJSON_AddNumberToObject(one, "arrival_ns", (double)t);
            cJSON_AddNumberToObject(one, "start_ns", (double)q->start_ns);
            cJSON_AddNumberToObject(one, "completion_ns", (double)q->completion_ns);
            cJSON_AddNumberToObject(one, "wait_ns", (double)(q->start_ns - t));
            cJSON_AddNumberToObject(one, "latency_ns", (double)(q->completion_ns - t));
            cJSON_AddItemToArray(list, one);
        }
    }
    cJSON_AddNumberToObject(o, "n", (double)r->n);
    cJSON_AddNumberToObject(o, "mean_latency_ns", s->mean_latency_ns);
    cJSON_AddNumberToObject(o, "mean_wait_ns", s->mean_wait_ns);
    cJSON_AddNumberToObject(o, "p50_latency_ns", (double)s->p50.ns);
    cJSON_AddNumberToObject(o, "p99_latency_ns", (double)s->p99.ns);
    cJSON_AddNumberToObject(o, "throughput_rps", s->throughput_rps);
    cJSON_AddNumberToObject(o, "interval_ns", (double)s->interval_ns);
    char *text = cJSON_Print(o);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(o);
}

/* ---- flags ---- */

static int read_positive(const char *flag, const char *text, double most, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= 0 && *out <= most) return 0; /* NaN fails both */
    return cli_usage("sim", "%s takes a number from 0 to %g, not '%.40s'", flag, most, text);
}

static int parse(int argc, char **argv, struct sim_args *a) {
    static const struct option flags[] = {
        {"arrivals-ms", 1, 0, 'm'},    {"arrivals", 1, 0, 'a'}, {"rate-rps", 1, 0, 'r'},
        {"requests", 1, 0, 'n'},       {"seed", 1, 0, 's'},     {"policy", 1, 0, 'p'},
        {"setup-ms", 1, 0, 'u'},       {"json", 0, 0, 'j'},     {"per-request", 0, 0, 'q'},
        {"per-request-ms", 1, 0, 'e'}, {"help", 0, 0, 'h'},     {0}};
    int c, rc = 0;
    opterr = 0;
    optind = 1;
    while (!rc && (c = getopt_long(argc, argv, ":", flags, NULL)) != -1) {
        switch (c) {
        case 'm':
            a->arrivals_ms = optarg;
            break;
        case 'a':
            a->arrivals = optarg;
            break;
        case 'p':
            a->policy = optarg;
            break;
        case 'j':
            a->json = true;
            break;
        case 'q':
            a->per_request = true;
            break;
        case 'r':
            rc = read_positive("--rate-rps", optarg, 1e9, &a->rate_rps);
            break;
        case 'u':
            rc = read_positive("--setup-ms", optarg, 1e6, &a->setup_ms);
            break;
        case 'e':
            rc = read_positive("--per-request-ms", optarg, 1e6, &a->per_request_ms);
            break;
        case 'n':
            rc =
                cli_int("sim", "--requests", optarg, 1, MAX_REQUESTS, &a->requests) ? CLI_USAGE : 0;
            break;
        case 's':
            rc = cli_int("sim", "--seed", optarg, 0, INT64_MAX, &a->seed) ? CLI_USAGE : 0;
            break;
        case 'h':
            fputs(HELP, stdout);
            return -1;
        default:
            return cli_bad_flag("sim", argc, argv, c == ':');
        }
    }
    if (!rc && optind < argc)
        return cli_usage("sim", "'%s' is one argument too many", argv[optind]);
    return rc;
}

int cmd_sim(int argc, char **argv) {
    struct sim_args a = {.policy = "single", .setup_ms = 4, .per_request_ms = 1, .seed = 1};
    if (argc < 2 || !strcmp(argv[1], "--help")) {
        fputs(HELP, argc < 2 ? stderr : stdout);
        return argc < 2 ? CLI_USAGE : CLI_DONE;
    }
    if (strcmp(argv[1], "run"))
        return cli_usage("sim", "there is no 'sim %.40s'; there is: sim run", argv[1]);
    int rc = parse(argc - 1, argv + 1, &a);
    if (rc) return rc < 0 ? CLI_DONE : rc;
    int64_t *arrivals = NULL;
    struct results results = {0};
    rc = make_arrivals(&a, &arrivals, &results.n);
    if (rc) return rc;
    results.outcomes = calloc(results.n, sizeof *results.outcomes);
    INVARIANT(results.outcomes);
    rc = run(&a, arrivals, &results);
    if (!rc) {
        struct summary s = summarise(&results);
        (a.json ? print_json : print_text)(&a, &results, &s);
    }
    free(results.outcomes);
    free(arrivals);
    return rc;
}
