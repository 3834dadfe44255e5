/* sim_flags.c: the table of `servelab sim`'s flags. See sim_flags.h. */
#include "cli/sim_flags.h"

#include "cli/options.h"

#include <math.h>

static int run(int argc, char **argv);
static int sweep(int argc, char **argv);

#define T struct sim_flags
static const struct option_flag TABLE[] = {
    OPTION_HEADING("ARRIVALS: one of --arrivals, --trace and (sim run) --arrivals-ms"),
    OPTION_TEXT(T, arrivals_ms, "arrivals-ms", "A,B,..", "at these times, in milliseconds",
                .only = SIM_RUN),
    OPTION_TEXT(T, arrivals, "arrivals", "KIND", "poisson, gamma, on-off or closed"),
    OPTION_FILE(T, trace, "trace", "FILE",
                "as recorded (- is standard input); needs --trace-format"),
    OPTION_TEXT(T, trace_format, "trace-format", "NAME", "azure, mooncake, burstgpt or vidur"),
    OPTION_INT(T, requests, "requests", "N", 1, 1000000000000,
               "how many (sweep: 5000 a server); of a trace at most so many"),
    OPTION_ABOVE(T, rate_rps, "rate-rps", "R", 0, 1e9,
                 "offered load, requests/s; a trace is stretched to it", .only = SIM_RUN),
    OPTION_INT(T, seed, "seed", "N", 0, INT64_MAX, "of everything random (1)"),
    OPTION_ABOVE(T, cv, "cv", "X", 0, 1e3, "gamma: coefficient of variation of the gaps"),
    OPTION_ABOVE(T, on_s, "on-s", "S", 0, 1e9, "on-off: mean length of a burst"),
    OPTION_REAL(T, off_s, "off-s", "S", 0, 1e9, "on-off: mean pause between two bursts"),
    OPTION_INT(T, clients, "clients", "N", 1, 1000000000,
               "closed: so many; each waits for the end of its request", .only = SIM_RUN),
    OPTION_REAL(T, think_s, "think-s", "S", 0, 1e9,
                "closed: mean pause before a client's next request", .only = SIM_RUN),
    OPTION_TEXT(T, prompt_tokens, "prompt-tokens", "N|LO:HI",
                "length of prompts (512 with a model)"),
    OPTION_TEXT(T, output_tokens, "output-tokens", "N|LO:HI",
                "length of answers (128 with a model)"),
    OPTION_INT(T, max_output_tokens, "max-output-tokens", "N", 1, 1000000000,
               "longer answers are cut and count as truncated"),
    OPTION_REAL(T, fail_rate, "fail-rate", "X", 0, 1, "share of the requests that fail"),
    OPTION_ABOVE(T, time_scale, "time-scale", "X", 0, 1e6, "trace: gaps times X", .only = SIM_RUN),
    OPTION_SWITCH(T, skip_bad_rows, "skip-bad-rows", "trace: leave bad rows out, and count them"),

    OPTION_HEADING("the server"),
    OPTION_TEXT(T, policy, "policy", "NAME", "one of the policies below (single)", .only = SIM_RUN),
    OPTION_TEXT(T, policies, "policies", "A,B,..",
                "up to six of the policies below, side by side (continuous)", .only = SIM_SWEEP),
    OPTION_REAL(T, setup_ms, "setup-ms", "T", 0, 1e6, "without a model: cost of a group (4)"),
    OPTION_REAL(T, per_request_ms, "per-request-ms", "T", 0, 1e6,
                "without a model: cost of each request in the group (1)"),
    OPTION_TEXT(T, model, "model", "NAME", "llama-2-7b, mistral-7b, qwen2.5-7b, ...; needs --gpu"),
    OPTION_TEXT(T, gpu, "gpu", "NAME", "a100 or h100"),
    OPTION_FILE(T, cost, "cost", "FILE",
                "a machine that was measured, as `servelab sim calibrate` writes it: its cost and "
                "its server's limits"),
    OPTION_INT(T, weight_bits, "weight-bits", "N", 4, 16, "16 (default), 8 or 4"),
    OPTION_INT(T, kv_bits, "kv-bits", "N", 4, 16, "16 (default), 8 or 4"),
    OPTION_INT(T, draft_tokens, "draft-tokens", "N", 0, 64,
               "speculative decoding: tokens drafted a round"),
    OPTION_REAL(T, acceptance, "acceptance", "X", 0, 1,
                "speculative decoding: probability that a drafted token is accepted"),
    OPTION_REAL(T, draft_cost, "draft-cost", "X", 0, 10,
                "speculative decoding: a step of the draft takes X times one of the model (0.05)"),
    OPTION_SWITCH(T, no_fusion, "no-fusion", "operators aren't fused: more launches"),
    OPTION_INT(T, kv_blocks, "kv-blocks", "N", 1, 1 << 28,
               "cache of N blocks of 16 tokens (what fits the GPU)"),
    OPTION_INT(T, token_budget, "token-budget", "N", 1, 1 << 28,
               "most tokens an iteration (2048 with a model)"),
    OPTION_INT(T, max_running, "max-running", "N", 1, 1 << 28,
               "batch positions (256 with a model)"),
    OPTION_INT(T, max_in_system, "max-in-system", "N", 1, INT64_MAX,
               "arrivals beyond N in the system are refused (no bound)"),
    OPTION_INT(T, prefix_tokens, "prefix-tokens", "N", 0, INT64_MAX,
               "prefix reuse: size of its store (0: off)"),
    OPTION_INT(T, servers, "servers", "N", 1, 100000, "a fleet of N (1)"),
    OPTION_TEXT(T, router, "router", "NAME",
                "round-robin (default), random, least-outstanding, power-of-two, prefix-affinity, "
                "or one queue, central:N (N a server)"),

    OPTION_HEADING("what is asked of it"),
    OPTION_ABOVE(T, ttft_below_ms, "ttft-below-ms", "T", 0, 1e12, "limit on p99 TTFT"),
    OPTION_ABOVE(T, tpot_below_ms, "tpot-below-ms", "T", 0, 1e12, "limit on p99 TPOT"),
    OPTION_ABOVE(T, e2e_below_ms, "e2e-below-ms", "T", 0, 1e12,
                 "limit on p99 of the end-to-end latency"),
    OPTION_REAL(T, warm_up_s, "warm-up-s", "S", 0, 1e9,
                "arrivals in the first S seconds aren't counted (0)"),
    OPTION_ABOVE(T, usd_per_gpu_hour, "usd-per-gpu-hour", "P", 0, 1e6,
                 "price: gives complete responses per dollar"),
    OPTION_REAL(T, reserve_fraction, "reserve-fraction", "X", 0, 0.99,
                "share of the provisioned capacity that is kept in reserve (0)"),

    OPTION_HEADING("the loads", .only = SIM_SWEEP),
    OPTION_TEXT(T, rates, "rates", "LO:HI:N",
                "N loads from LO to HI requests/s, or a list A,B,.. (chosen by the command)",
                .only = SIM_SWEEP),
    OPTION_INT(T, jobs, "jobs", "N", 1, 1024, "runs at one time (one a core)", .only = SIM_SWEEP),

    OPTION_HEADING("output"),
    OPTION_FILE(T, out, "out", "FOLDER", "sweep.json and curve.svg go there (./sweep)",
                .only = SIM_SWEEP),
    OPTION_FILE(T, records, "records", "FILE",
                "every request as a record, for `servelab record check`", .only = SIM_RUN),
    OPTION_SWITCH(T, per_request, "per-request",
                  "a line (or JSON object) a request; the default up to 20", .only = SIM_RUN),
    OPTION_SWITCH(T, plans, "plans",
                  "each plan of the policy: who runs, with how many tokens and blocks, who waits",
                  .only = SIM_RUN),
    OPTION_SWITCH(T, json, "json", "the same as JSON, units in the keys"),
    {0}};
#undef T

static const struct option_rule RULES[] = {{OPTION_EXCLUDE, {"trace", "arrivals-ms", "arrivals"}},
                                           {OPTION_EXCLUDE, {"arrivals-ms", "requests"}},
                                           {OPTION_EXCLUDE, {"cost", "model", "setup-ms"}},
                                           {OPTION_EXCLUDE, {"cost", "model", "per-request-ms"}},
                                           {OPTION_EXCLUDE, {"rate-rps", "time-scale"}},
                                           {OPTION_EXCLUDE, {"plans", "json"}},
                                           {OPTION_EXCLUDE, {"plans", "servers"}},
                                           {OPTION_NEEDS, {"trace", "trace-format"}},
                                           {OPTION_NEEDS, {"trace-format", "trace"}},
                                           {OPTION_NEEDS, {"time-scale", "trace"}},
                                           {OPTION_NEEDS, {"skip-bad-rows", "trace"}},
                                           {OPTION_NEEDS, {"model", "gpu"}},
                                           {OPTION_NEEDS, {"gpu", "model"}},
                                           {OPTION_NEEDS, {"weight-bits", "model"}},
                                           {OPTION_NEEDS, {"kv-bits", "model"}},
                                           {OPTION_NEEDS, {"draft-tokens", "model"}},
                                           {OPTION_NEEDS, {"no-fusion", "model"}},
                                           {OPTION_NEEDS, {"acceptance", "draft-tokens"}},
                                           {OPTION_NEEDS, {"draft-cost", "draft-tokens"}},
                                           {OPTION_NEEDS, {"router", "servers"}},
                                           {OPTION_NEEDS, {"reserve-fraction", "usd-per-gpu-hour"}},
                                           {0}};

/* The words of sched/policies.h, shorter. */
static const char POLICIES[] =
    "policies\n"
    "  single                first come, first served, one at a time\n"
    "  shortest-first        one at a time, shortest prompt first; waiting raises the priority\n"
    "  wait-for-n:N          groups of N; the last one may be smaller\n"
    "  wait-for-time:MS[,N]  a group goes when its first has waited MS ms, or at N (8)\n"
    "  static:N              up to N waiting requests; no other joins until all are done\n"
    "  continuous            a request that fits joins at the next forward pass, prompts first\n"
    "  chunked               the same, with prompts in pieces beside the others' next tokens\n"
    "  learner               policy.c of lab 02; learner-batch:N forms groups of up to N";

static const struct command *const BOTH[] = {&sim_run_command, &sim_sweep_command, NULL};

const struct command sim_run_command = {
    .name = "sim run",
    .summary = "simulate one load on a server or a fleet: who waited how long, and why",
    .run = run,
    .usage = "ARRIVALS [FLAGS]",
    .about = "Simulates one load on one server or a fleet: a queue, a policy, a worker with stated "
             "costs.",
    .flags = TABLE,
    .rules = RULES,
    .notes = POLICIES,
    .exits = "0 done, 2 bad input, 3 a lab file is not attempted, 4 our own fault, or the output "
             "can't be written",
    .examples = "servelab sim run --arrivals-ms 0,1,2,3 --policy wait-for-n:4\n"
                "servelab sim run --arrivals poisson --rate-rps 4 --requests 500 --model "
                "llama-2-7b --gpu h100 --policy continuous",
    .variant = SIM_RUN,
    .share = BOTH};

const struct command sim_sweep_command = {
    .name = "sim sweep",
    .summary = "simulate many loads: the throughput-latency curve",
    .run = sweep,
    .usage = "ARRIVALS [FLAGS]",
    .about = "Simulates the same load offered at several rates: the throughput-latency curve, its "
             "knee and saturation, and the highest load within limits, for policies side by side.",
    .flags = TABLE,
    .rules = RULES,
    .notes = POLICIES,
    .exits = "0 done, 2 bad input, 3 a lab file is not attempted, 4 our own fault, or the output "
             "can't be written, 130 interrupted (what was measured until then is written, and says "
             "that it isn't complete)",
    .examples = "servelab sim sweep --arrivals poisson --requests 300 --policies single,static:8 "
                "--out build/sweep",
    .variant = SIM_SWEEP,
    .share = BOTH};

static int start(const struct command *c, enum sim_mode mode, int argc, char **argv) {
    struct sim_flags f = {.mode = mode,
                          .seed = 1,
                          .policy = "single",
                          .policies = "continuous",
                          .setup_ms = 4,
                          .per_request_ms = 1,
                          .weight_bits = 16,
                          .kv_bits = 16,
                          .acceptance = NAN,
                          .draft_cost = 0.05,
                          .max_in_system = INT64_MAX,
                          .servers = 1,
                          .router = "round-robin",
                          .out = "sweep"};
    struct option_words words;
    int status;
    if (!options_parse(c, &f, argc, argv, &words, &status)) return status;
    return mode == SIM_RUN ? sim_run(&f) : sim_sweep(&f);
}

static int run(int argc, char **argv) {
    return start(&sim_run_command, SIM_RUN, argc, argv);
}

static int sweep(int argc, char **argv) {
    return start(&sim_sweep_command, SIM_SWEEP, argc, argv);
}
