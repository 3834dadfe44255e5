/* sim_flags.c: the table of `servelab sim`'s flags, and reading argv by it. See sim_flags.h. */
#include "cli/sim_flags.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* POSITIVE: above 0. All numbers are finite and within their bounds. */
enum type { TEXT, COUNT, REAL, POSITIVE, SWITCH };
enum { BOTH = SIM_RUN | SIM_SWEEP };

struct flag {
    const char *name;
    enum type type;
    size_t at; /* offset in struct sim_flags */
    int modes;
    double lo, hi;
    const char *value, *help; /* "N" */
};
#define F(member) offsetof(struct sim_flags, member)

/* A line without a type begins a section of --help. */
static const struct flag TABLE[] = {
    {.help = "ARRIVALS: a kind of them, a trace, or (sim run) a list of times"},
    {"arrivals-ms", TEXT, F(arrivals_ms), SIM_RUN, 0, 0, "A,B,..", "at these times, milliseconds"},
    {"arrivals", TEXT, F(arrivals), BOTH, 0, 0, "KIND", "poisson, gamma, on-off or closed"},
    {"trace", TEXT, F(trace), BOTH, 0, 0, "FILE",
     "as recorded (- is standard input); needs --trace-format"},
    {"trace-format", TEXT, F(trace_format), BOTH, 0, 0, "NAME",
     "azure, mooncake, burstgpt or vidur"},
    {"requests", COUNT, F(requests), BOTH, 1, 1e12, "N",
     "how many (sweep: 5000 a server); of a trace at most so many"},
    {"rate-rps", POSITIVE, F(rate_rps), SIM_RUN, 0, 1e9, "R",
     "offered load, requests/s; a trace is stretched to it"},
    {"seed", COUNT, F(seed), BOTH, 0, 9.2e18, "N", "of everything random (1)"},
    {"cv", POSITIVE, F(cv), BOTH, 0, 1e3, "X", "gamma: coefficient of variation of the gaps"},
    {"on-s", POSITIVE, F(on_s), BOTH, 0, 1e9, "S", "on-off: mean length of a burst"},
    {"off-s", REAL, F(off_s), BOTH, 0, 1e9, "S", "on-off: mean pause between two"},
    {"clients", COUNT, F(clients), SIM_RUN, 1, 1e9, "N", "closed: so many, each waits for its end"},
    {"think-s", REAL, F(think_s), SIM_RUN, 0, 1e9, "S", "closed: mean pause before the next"},
    {"prompt-tokens", TEXT, F(prompt_tokens), BOTH, 0, 0, "N|LO:HI",
     "length of prompts (512 with a model)"},
    {"output-tokens", TEXT, F(output_tokens), BOTH, 0, 0, "N|LO:HI",
     "length of answers (128 with a model)"},
    {"max-output-tokens", COUNT, F(max_output_tokens), BOTH, 1, 1e9, "N",
     "longer answers are cut: truncated"},
    {"fail-rate", REAL, F(fail_rate), BOTH, 0, 1, "X", "share of the requests that break"},
    {"time-scale", POSITIVE, F(time_scale), SIM_RUN, 0, 1e6, "X", "trace: gaps times X"},
    {"skip-bad-rows", SWITCH, F(skip_bad_rows), BOTH, 0, 0, NULL,
     "trace: leave bad rows out, and count them"},

    {.help = "the server"},
    {"policy", TEXT, F(policy), SIM_RUN, 0, 0, "NAME", "one of those below (single)"},
    {"policies", TEXT, F(policies), SIM_SWEEP, 0, 0, "A,B,..",
     "up to six of those below, side by side (continuous)"},
    {"setup-ms", REAL, F(setup_ms), BOTH, 0, 1e6, "T", "without a model: cost of a group (4)"},
    {"per-request-ms", REAL, F(per_request_ms), BOTH, 0, 1e6, "T",
     "without a model: of each request in it (1)"},
    {"model", TEXT, F(model), BOTH, 0, 0, "NAME",
     "llama-2-7b, mistral-7b, qwen2.5-7b, ...; needs --gpu"},
    {"gpu", TEXT, F(gpu), BOTH, 0, 0, "NAME", "a100 or h100"},
    {"weight-bits", COUNT, F(weight_bits), BOTH, 4, 16, "N", "16 (default), 8 or 4"},
    {"kv-bits", COUNT, F(kv_bits), BOTH, 4, 16, "N", "16 (default), 8 or 4"},
    {"draft-tokens", COUNT, F(draft_tokens), BOTH, 0, 64, "N",
     "speculative decoding: drafted a round"},
    {"acceptance", REAL, F(acceptance), BOTH, 0, 1, "X", "and how probably one is accepted"},
    {"no-fusion", SWITCH, F(no_fusion), BOTH, 0, 0, NULL, "operators aren't fused: more launches"},
    {"kv-blocks", COUNT, F(kv_blocks), BOTH, 1, 1 << 28, "N",
     "cache of N blocks of 16 tokens (what fits the GPU)"},
    {"token-budget", COUNT, F(token_budget), BOTH, 1, 1 << 28, "N",
     "most tokens an iteration (2048 with a model)"},
    {"max-running", COUNT, F(max_running), BOTH, 1, 1 << 28, "N",
     "batch positions (256 with a model)"},
    {"max-in-system", COUNT, F(max_in_system), BOTH, 1, 9.2e18, "N", "arrivals beyond are refused"},
    {"prefix-tokens", COUNT, F(prefix_tokens), BOTH, 0, 9.2e18, "N",
     "prefix reuse: size of its store (0: off)"},
    {"servers", COUNT, F(servers), BOTH, 1, 100000, "N", "a fleet of N (1)"},
    {"router", TEXT, F(router), BOTH, 0, 0, "NAME",
     "round-robin (default), random, least-outstanding, power-of-two,"},
    {.name = "",
     .type = TEXT,
     .modes = BOTH,
     .help = "prefix-affinity, or one queue, central:N (N a server)"},

    {.help = "what is asked of it"},
    {"ttft-below-ms", POSITIVE, F(ttft_below_ms), BOTH, 0, 1e12, "T", "limit on p99 TTFT"},
    {"tpot-below-ms", POSITIVE, F(tpot_below_ms), BOTH, 0, 1e12, "T", "limit on p99 TPOT"},
    {"e2e-below-ms", POSITIVE, F(e2e_below_ms), BOTH, 0, 1e12, "T", "limit on p99 of end to end"},
    {"warm-up-s", REAL, F(warm_up_s), BOTH, 0, 1e9, "S",
     "what arrives in the first S seconds isn't counted (0)"},
    {"usd-per-gpu-hour", POSITIVE, F(usd_per_gpu_hour), BOTH, 0, 1e6, "P",
     "price: gives complete responses per dollar"},
    {"reserve-fraction", REAL, F(reserve_fraction), BOTH, 0, 0.99, "X",
     "share of what is provisioned that stands by (0)"},

    {.help = "the loads"},
    {"rates", TEXT, F(rates), SIM_SWEEP, 0, 0, "LO:HI:N",
     "N loads from LO to HI requests/s, or a list A,B,.. (found by itself)"},
    {"jobs", COUNT, F(jobs), SIM_SWEEP, 1, 1024, "N", "runs at one time (one a core)"},

    {.help = "what comes out"},
    {"out", TEXT, F(out), SIM_SWEEP, 0, 0, "FOLDER", "sweep.json and curve.svg go there (./sweep)"},
    {"records", TEXT, F(records), SIM_RUN, 0, 0, "FILE",
     "every request as a record, for `servelab record check`"},
    {"per-request", SWITCH, F(per_request), SIM_RUN, 0, 0, NULL,
     "a line (or JSON object) a request; the default up to 20"},
    {"json", SWITCH, F(json), BOTH, 0, 0, NULL, "the same as JSON, units in the keys"},
};
enum { N_TABLE = sizeof TABLE / sizeof *TABLE, OPTION_BASE = 1000 };
_Static_assert(N_TABLE <= 64, "struct sim_flags.given has a bit for each line of the table");

/* Both given make no sense. */
static const char *const EXCLUDE[][2] = {
    {"arrivals-ms", "arrivals"}, {"trace", "arrivals"}, {"trace", "arrivals-ms"},
    {"arrivals-ms", "requests"}, {"model", "setup-ms"}, {"model", "per-request-ms"},
    {"rate-rps", "time-scale"},
};
/* The first means nothing without the second. */
static const char *const NEED[][2] = {
    {"trace", "trace-format"},
    {"trace-format", "trace"},
    {"time-scale", "trace"},
    {"skip-bad-rows", "trace"},
    {"model", "gpu"},
    {"gpu", "model"},
    {"weight-bits", "model"},
    {"kv-bits", "model"},
    {"draft-tokens", "model"},
    {"no-fusion", "model"},
    {"acceptance", "draft-tokens"},
    {"router", "servers"},
    {"reserve-fraction", "usd-per-gpu-hour"},
};

static const char *command(const struct sim_flags *f) {
    return f->mode == SIM_RUN ? "sim run" : "sim sweep";
}

static bool is_flag(const struct flag *f) {
    return f->name && f->name[0];
}

static bool has(const struct sim_flags *f, const struct flag *flag) {
    return is_flag(flag) && flag->modes & f->mode;
}

bool sim_flag_given(const struct sim_flags *f, const char *name) {
    for (int i = 0; i < N_TABLE; i++)
        if (is_flag(&TABLE[i]) && !strcmp(TABLE[i].name, name)) return f->given >> i & 1;
    INVARIANT(!"a flag of the table");
    return false;
}

/* ---- help ---- */

static const char RUN_HEAD[] =
    "servelab sim run: simulate one load on one server or a fleet: who waited how long, and why\n\n"
    "usage: servelab sim run ARRIVALS [FLAGS]\n";
/* The words of sched/policies.h, shorter. */
#define POLICIES                                                                                   \
    "\npolicies\n"                                                                                 \
    "  single                first come, first served, one at a time\n"                            \
    "  shortest-first        one at a time, shortest prompt first; who waits comes forward\n"      \
    "  wait-for-n:N          groups of N; the last, short one goes when no arrival is left\n"      \
    "  wait-for-time:MS[,N]  a group goes when its first has waited MS ms, or at N (8)\n"          \
    "  static:N              up to N of those that wait; nobody joins until all are done\n"        \
    "  continuous            who fits joins at the next forward pass, prompts first\n"             \
    "  chunked               likewise, prompts in pieces beside the others' next tokens\n"         \
    "  learner               policy.c of lab 02; learner-batch:N: its groups of up to N\n"
static const char RUN_TAIL[] = POLICIES
    "\nexit status: 0 done, 2 bad input, 3 a lab file is not attempted, 4 our own fault, or the "
    "output\ncan't be written\n\n"
    "examples:\n"
    "  servelab sim run --arrivals-ms 0,1,2,3 --policy wait-for-n:4\n"
    "  servelab sim run --arrivals poisson --rate-rps 4 --requests 500 --model llama-2-7b --gpu "
    "h100 --policy continuous\n";
static const char SWEEP_HEAD[] =
    "servelab sim sweep: the same load offered at several rates: the throughput-latency curve,\n"
    "its knee and saturation, and the highest load within limits, for policies side by side\n\n"
    "usage: servelab sim sweep ARRIVALS [FLAGS]\n";
static const char SWEEP_TAIL[] = POLICIES
    "\nexit status: 0 done, 2 bad input, 3 a lab file is not attempted, 4 our own fault, 130 "
    "interrupted\n(what was measured until then is written, and says that it isn't complete)\n\n"
    "example:\n"
    "  servelab sim sweep --arrivals poisson --requests 300 --policies single,static:8 --out "
    "build/sweep\n";

static void print_help(const struct sim_flags *f) {
    fputs(f->mode == SIM_RUN ? RUN_HEAD : SWEEP_HEAD, stdout);
    const struct flag *section = NULL;
    for (int i = 0; i < N_TABLE; i++) {
        const struct flag *g = &TABLE[i];
        if (!g->name) section = g;
        if (!g->name || !(g->modes & f->mode)) continue;
        if (section) printf("\n%s\n", section->help);
        section = NULL;
        char left[40] = "";
        if (is_flag(g)) snprintf(left, sizeof left, "--%s %s", g->name, g->value ? g->value : "");
        printf("  %-26s %s\n", left, g->help);
    }
    printf("  %-26s %s\n", "--help", "this");
    fputs(f->mode == SIM_RUN ? RUN_TAIL : SWEEP_TAIL, stdout);
}

/* ---- argv ---- */

static int take_real(const struct sim_flags *f, const struct flag *g, const char *text,
                     double *out) {
    const char *end;
    double v;
    bool in = cli_real(text, &end, &v) && !*end && v >= g->lo && v <= g->hi;
    if (!in || (g->type == POSITIVE && v == 0))
        return cli_usage(command(f), "--%s takes a number %s %g to %g, not '%.40s'", g->name,
                         g->type == POSITIVE ? "above" : "from", g->lo, g->hi, text);
    *out = v;
    return 0;
}

static int take(struct sim_flags *f, int i, const char *text) {
    const struct flag *g = &TABLE[i];
    void *at = (char *)f + g->at;
    char name[40];
    snprintf(name, sizeof name, "--%s", g->name);
    f->given |= UINT64_C(1) << i;
    switch (g->type) {
    case TEXT:
        if (!*text) return cli_usage(command(f), "%s needs a value; what was given is empty", name);
        *(const char **)at = text;
        return 0;
    case SWITCH:
        *(bool *)at = true;
        return 0;
    case COUNT:
        return cli_int(command(f), name, text, (long long)g->lo,
                       g->hi > 9e18 ? INT64_MAX : (long long)g->hi, at)
                   ? CLI_USAGE
                   : 0;
    default:
        return take_real(f, g, text, at);
    }
}

/* Most often it is the other command's. */
static int bad_flag(const struct sim_flags *f, int argc, char **argv, bool missing_argument) {
    const char *text = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    for (int i = 0; i < N_TABLE && !missing_argument; i++)
        if (is_flag(&TABLE[i]) && !has(f, &TABLE[i]) && !strncmp(text, "--", 2) &&
            !strncmp(text + 2, TABLE[i].name, strlen(TABLE[i].name)))
            return cli_usage(command(f), "--%s is a flag of `sim %s`", TABLE[i].name,
                             f->mode == SIM_RUN ? "sweep" : "run");
    return cli_bad_flag(command(f), argc, argv, missing_argument);
}

static int check_pairs(const struct sim_flags *f) {
    for (size_t i = 0; i < sizeof EXCLUDE / sizeof *EXCLUDE; i++)
        if (sim_flag_given(f, EXCLUDE[i][0]) && sim_flag_given(f, EXCLUDE[i][1]))
            return cli_usage(command(f), "--%s and --%s exclude each other; leave one of them out",
                             EXCLUDE[i][0], EXCLUDE[i][1]);
    for (size_t i = 0; i < sizeof NEED / sizeof *NEED; i++)
        if (sim_flag_given(f, NEED[i][0]) && !sim_flag_given(f, NEED[i][1]))
            return cli_usage(command(f), "--%s needs --%s", NEED[i][0], NEED[i][1]);
    return 0;
}

static void set_defaults(struct sim_flags *f, enum sim_mode mode) {
    *f = (struct sim_flags){.mode = mode,
                            .seed = 1,
                            .policy = "single",
                            .policies = "continuous",
                            .setup_ms = 4,
                            .per_request_ms = 1,
                            .weight_bits = 16,
                            .kv_bits = 16,
                            .acceptance = NAN,
                            .max_in_system = INT64_MAX,
                            .servers = 1,
                            .router = "round-robin",
                            .out = "sweep"};
}

int sim_flags_parse(struct sim_flags *f, enum sim_mode mode, int argc, char **argv) {
    struct option options[N_TABLE + 2] = {0};
    size_t n = 0;
    set_defaults(f, mode);
    for (int i = 0; i < N_TABLE; i++)
        if (has(f, &TABLE[i]))
            options[n++] = (struct option){
                TABLE[i].name, TABLE[i].type == SWITCH ? no_argument : required_argument, NULL,
                OPTION_BASE + i};
    options[n] = (struct option){"help", no_argument, NULL, 'h'};
    opterr = 0;
    optind = 1;
    int c, rc = 0;
    while (!rc && (c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (c == 'h') {
            print_help(f);
            return -1;
        }
        if (c < OPTION_BASE) return bad_flag(f, argc, argv, c == ':');
        rc = take(f, c - OPTION_BASE, optarg);
    }
    if (rc) return rc;
    if (optind < argc) return cli_usage(command(f), "'%s' is one argument too many", argv[optind]);
    return check_pairs(f);
}
