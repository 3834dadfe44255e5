/* checks.c: lab 01's rubric. One line of sense a check; hints go from where to look, over what to
 * ask oneself, to an example worked by hand, and never say what to write. Points are all or nothing
 * for a check (grade.h says why), and each dimension's sum is checked before anything runs. */
#include "lab01/lab01.h"

#include <stdlib.h>
#include <string.h>

#define INTERVALS  (1u << DIM_INTERVALS)
#define QUALITY    (1u << DIM_QUALITY)
#define SLO        (1u << DIM_SLO)
#define EVERYTHING (INTERVALS | QUALITY | SLO)

#define COMPUTE "Exercise 2: intervals_compute"
#define BETWEEN "Exercise 2: interval_between"
#define ATTEMPT "Exercise 2: classify_attempt"
#define RANK    "Exercise 2: percentile_nearest_rank"

static const struct check_def checks[] = {
    /* ---- intervals: 30 ---- */
    {"intervals.client_ttft", DIM_INTERVALS, 2, "client_ttft in ns", COMPUTE, CHECK_CASES, 18,
     MAKE_CLIENT_TTFT, 0, "intervals.c",
     {"Look at the table of intervals under \"The words\": which two events, on whose clock?",
      "Which of several events of one kind counts? The header says it in one sentence.",
      "Draw the two lanes for a request that is submitted at 1,000 and whose first byte comes at "
      "1,214. How long did the person look at nothing?"}},
    {"intervals.server_ttft", DIM_INTERVALS, 2, "server_ttft in ns", COMPUTE, CHECK_CASES, 18,
     MAKE_SERVER_TTFT, 0, "intervals.c",
     {"Look at the table of intervals under \"The words\".",
      "first_token and token_sent are two events: an id that is known, and bytes that are handed "
      "over.",
      "Print the two timestamps that you subtract. Do both come from the server?"}},
    {"intervals.queue_delay", DIM_INTERVALS, 2, "queue_delay in ns", COMPUTE, CHECK_CASES, 18,
     MAKE_QUEUE_DELAY, 0, "intervals.c",
     {"Look at the table of intervals under \"The words\".",
      "By this lesson's definition tokenization is part of it. Where does it begin, then?",
      "A request can be preempted and admitted again. Which admission ended its wait?"}},
    {"intervals.e2e", DIM_INTERVALS, 2, "e2e in ns", COMPUTE, CHECK_CASES, 18, MAKE_E2E, 0,
     "intervals.c",
     {"Look at the table of intervals under \"The words\".",
      "When is it over for the person: when the server is done, or when the last byte is there?",
      "The server has an event for the end as well. Whose clock would that be?"}},
    {"intervals.absent", DIM_INTERVALS, 2, "a missing end makes an interval absent, not zero",
     BETWEEN, CHECK_CASES, 27, MAKE_ABSENT, 0, "intervals.c",
     {"What does record_event return when there is no such event?",
      "Every member of the result is set, also that of an interval that isn't there.",
      "Take a record from which you deleted first_token, and say for each of the four intervals "
      "what you expect before you run it."}},
    {"intervals.cross_clock", DIM_INTERVALS, 2, "no subtraction across clocks", BETWEEN, CHECK_CASES,
     20, MAKE_CROSS_CLOCK, 0, "intervals.c",
     {"An event carries its clock. Compare the clocks before the times.",
      "An offset helps only when it names both clocks in question.",
      "What would the difference of a browser time and a GPU time mean if nobody ever compared "
      "the two clocks?"}},
    {"intervals.clock_offset", DIM_INTERVALS, 2, "a stated offset, with its uncertainty", BETWEEN,
     CHECK_CASES, 20, MAKE_CLOCK_OFFSET, 0, "intervals.c",
     {"The header says in which direction an offset is stated, and that it may stand the other way "
      "round.",
      "Bring the end to the start's clock first, in a variable of its own; then subtract.",
      "The handout works out an example with 960, give or take 3. Put in your own two clocks and "
      "do it on paper."}},
    {"intervals.negative", DIM_INTERVALS, 2, "an effect before its cause is an error, not 0", BETWEEN,
     CHECK_CASES, 15, MAKE_NEGATIVE, 0, "intervals.c",
     {"M12 in the table of common errors.",
      "There is a status for it. Which other members are then set to what?",
      "At which value does it begin: is an interval of exactly 0 an error?"}},
    {"intervals.rounding", DIM_INTERVALS, 2, "interval_divide rounds to nearest, halves away from 0",
     "Exercise 2: interval_divide", CHECK_CASES, 48, MAKE_ROUNDING, 0, "intervals.c",
     {"What does C's / do with 7/3, 8/3, 5/2 and -5/2?",
      "Treat the sign apart: the same question for the absolute value is easier.",
      "How large may the two numbers be, by the header, and does your intermediate result fit?"}},
    {"intervals.tpot", DIM_INTERVALS, 2, "time per output token after the first", COMPUTE,
     CHECK_CASES, 24, MAKE_TPOT, 0, "intervals.c",
     {"Which events carry a token? M3 and M4 in the table of common errors.",
      "How many gaps lie between n tokens? And is n what was asked for or what came?",
      "Work the handout's example of 4 tokens on paper, with and without the closing piece."}},
    {"intervals.tpot_boundary", DIM_INTERVALS, 2, "tpot says by which events it was measured",
     COMPUTE, CHECK_CASES, 20, MAKE_TPOT_BOUNDARY, 0, "intervals.c",
     {"There are two ways to measure it; the record must say which one was used.",
      "How many events that carry a token are needed for the first way?",
      "A server that sends the whole answer in one piece: what is left to measure by?"}},
    {"intervals.tpot_absent", DIM_INTERVALS, 2, "no tpot without a second token", COMPUTE,
     CHECK_CASES, 24, MAKE_TPOT_ABSENT, 0, "intervals.c",
     {"M2 in the table of common errors.",
      "What is divided by what when the answer has one token?",
      "Three things can make it absent: too few tokens, an unknown number of them, a missing end."}},
    {"intervals.itl", DIM_INTERVALS, 2, "inter-token gaps, one after the other",
     "Exercise 2: intervals_itl", CHECK_CASES, 20, MAKE_ITL, 0, "intervals.c",
     {"How many gaps do n events have?",
      "What does the header say about a gap that can't be measured?",
      "Write down the gaps of three events at 10, 30 and 35."}},
    {"intervals.itl_tokens", DIM_INTERVALS, 1, "gaps are pooled per token", "Exercise 2: intervals_itl",
     CHECK_CASES, 20, MAKE_ITL_TOKENS, 0, "intervals.c",
     {"M4 in the table of common errors: a gap between chunks is no gap between tokens.",
      "Which of the two events of a gap says by how many tokens it is shared?",
      "An event without a token is passed over. From where to where does the gap then run?"}},
    {"intervals.itl_capacity", DIM_INTERVALS, 1, "never writes past the room it was given",
     "Exercise 2: intervals_itl", CHECK_CASES, 16, MAKE_ITL_CAPACITY, 0, "intervals.c",
     {"Two numbers: how many there are, and how many fit.",
      "The room can end in the middle of an event's tokens.",
      "What is out_ns when cap is 0?"}},
    {"intervals.gpu_execution", DIM_INTERVALS, 2, "sum of the declared gpu ranges", COMPUTE,
     CHECK_CASES, 48, MAKE_GPU, 0, "intervals.c",
     {"A start belongs to the next end of the same range; ranges are told apart by their names.",
      "Which of these make the whole sum absent: no range, a start without end, an end without "
      "start?",
      "Keep the open starts in a small table; the header says how many may be open at once."}},

    /* ---- quality: 25 ---- */
    {"quality.delivered", DIM_QUALITY, 2, "a whole answer is completed", ATTEMPT, CHECK_CASES, 10,
     MAKE_DELIVERED, 0, "classify.c",
     {"The first reason in the header's order that applies is the answer; what if none does?",
      "Which finish reasons are a problem, and which are any other text?",
      "A status that is not stated (0) says nothing, good or bad."}},
    {"quality.rejected", DIM_QUALITY, 1, "refused by the server", ATTEMPT, CHECK_CASES, 9,
     MAKE_REJECTED, 0, "classify.c",
     {"The header names an event and two status codes.",
      "503 is above 500. Which of the two reasons stands first?",
      "A server can refuse before and after it wrote its log."}},
    {"quality.cancelled", DIM_QUALITY, 1, "given up by the client", ATTEMPT, CHECK_CASES, 8,
     MAKE_CANCELLED, 0, "classify.c",
     {"There is an event for it.", "A cancelled request is not delivered, too. Which one is told?",
      "Go through the header's list from the top, and stop at the first that applies."}},
    {"quality.timed_out", DIM_QUALITY, 1, "given up by the clock", ATTEMPT, CHECK_CASES, 12,
     MAKE_TIMED_OUT, 0, "classify.c",
     {"Which member of the outcome tells it?", "The whole text, or only its beginning?",
      "A time-out can come with status 200, with 504 or without any."}},
    {"quality.internal_error", DIM_QUALITY, 2, "the server's own fault", ATTEMPT, CHECK_CASES, 21,
     MAKE_INTERNAL_ERROR, 0, "classify.c",
     {"An event, or a range of status codes with one exception.",
      "Try the codes at both ends of the range, and one just outside.",
      "Why is 503 not in it?"}},
    {"quality.in_band_error", DIM_QUALITY, 2, "an error behind an HTTP 200", ATTEMPT, CHECK_CASES, 12,
     MAKE_IN_BAND, 0, "classify.c",
     {"M15 in the table of common errors.",
      "HTTP said 200 before the server knew how it would end.",
      "Does it matter here whether the record says delivered?"}},
    {"quality.not_delivered", DIM_QUALITY, 2, "marked delivered, but something is missing", ATTEMPT,
     CHECK_CASES, 24, MAKE_NOT_DELIVERED, 0, "classify.c",
     {"The header gives four ways; the six events are one of them.",
      "What does a status mean that is neither 200 nor any of those above?",
      "Delete one of the six events at a time from a good record and ask for the reason."}},
    {"quality.finish_reason", DIM_QUALITY, 1, "the stream ended, the answer perhaps not", ATTEMPT,
     CHECK_CASES, 6, MAKE_FINISH_REASON, 0, "classify.c",
     {"How does struct record say that there is no finish reason?",
      "It comes late in the list: only for what is delivered in every other respect.",
      "End of stream without a finish reason: would you trust the last sentence?"}},
    {"quality.truncation", DIM_QUALITY, 2, "finish reason length, under both rules", ATTEMPT,
     CHECK_CASES, 12, MAKE_TRUNCATION, 0, "classify.c",
     {"The objective decides whether length is a fault.",
      "Two rules, two finish reasons: make a table with four cells.",
      "Why would a benchmark of a fixed output length want to accept it?"}},
    {"quality.reason_precedence", DIM_QUALITY, 3, "several reasons at once: which is told", ATTEMPT,
     CHECK_CASES, 70, MAKE_PRECEDENCE, 0, "classify.c",
     {"The order in the header is the order of the answer.",
      "A chain of ifs that returns at the first hit; is yours in the header's order?",
      "Take 503 with a failed event and no finish reason. Which of the three is told?"}},
    {"quality.verdicts", DIM_QUALITY, 1, "quality and structure as a named check gave them",
     "Exercise 2: classify_request", CHECK_CASES, 20, MAKE_VERDICTS, 0, "classify.c",
     {"A verdict without the name of a check: who gave it?",
      "Quality and structure follow different rules here. Read both lines of the header.",
      "What does the empty text in quality.check say?"}},
    {"quality.useful", DIM_QUALITY, 2, "useful: completed, passed, structure not failed",
     "Exercise 2: classify_request", CHECK_CASES, 48, MAKE_USEFUL, 0, "classify.c",
     {"Three conditions, in words under \"The words\".",
      "Not evaluated is not passed. And for structure: is not evaluated failed?",
      "Make a table of the three quality and the four structure verdicts and mark the useful ones."}},
    {"quality.retries", DIM_QUALITY, 2, "one user request, several attempts",
     "Exercise 2: classify_request", CHECK_CASES, 36, MAKE_RETRIES, 0, "classify.c",
     {"The order of the array means nothing. What does?",
      "Everything comes from the attempt that decides, except the number of attempts.",
      "Attempts 3, 1, 2 in this order: which one decides, and what if two have the same number?"}},
    {"quality.good", DIM_QUALITY, 2, "good: useful, and within the limits of one request",
     "Exercise 2: classify_good", CHECK_CASES, 48, MAKE_GOOD, 0, "classify.c",
     {"Which limits speak of one request, and which of the population?",
      "Below means below. And what if the objective requires a structure check?",
      "Fast and wrong: is that good?"}},
    {"quality.good_absent", DIM_QUALITY, 1, "limits on intervals that aren't there",
     "Exercise 2: classify_good", CHECK_CASES, 24, MAKE_GOOD_ABSENT, 0, "classify.c",
     {"One interval may be absent for a good reason. Which, and when?",
      "Absent and in error are different statuses.",
      "You can't claim what you didn't see: for which intervals does that hold?"}},

    /* ---- slo: 25 ---- */
    {"slo.percentile_rank", DIM_SLO, 3, "nearest rank", RANK, CHECK_CASES, 72, MAKE_RANK, 0,
     "percentile.c",
     {"The header gives the rank as a formula. Ranks count from 1.",
      "Rounding up in whole numbers: what do you add before you divide?",
      "p90 of 10 and of 11 observations, on paper."}},
    {"slo.percentile_order", DIM_SLO, 2, "observations in any order, any size", RANK, CHECK_CASES, 20,
     MAKE_RANK_ORDER, 0, "percentile.c",
     {"The observations are not sorted, and they are not yours to sort in place.",
      "What does a comparator return for two numbers whose difference doesn't fit an int?",
      "Equal observations are observations too."}},
    {"slo.percentile_empty", DIM_SLO, 1, "no observation, no percentile", RANK, CHECK_CASES, 16,
     MAKE_RANK_EMPTY, 0, "percentile.c",
     {"M18 in the table of common errors.", "n_ok may be 0 while n is not.",
      "What is obs_ns when n_ok is 0?"}},
    {"slo.failures_infinite", DIM_SLO, 3, "failures stay in, as +infinity", RANK, CHECK_CASES, 32,
     MAKE_INFINITE, 0, "percentile.c",
     {"M14 in the table of common errors.",
      "Where in the sorted row do the failures stand?",
      "98 successes and 2 failures: on which of the 100 does p99 fall?"}},
    {"slo.few", DIM_SLO, 1, "marked when there are too few", RANK, CHECK_CASES, 24, MAKE_FEW, 0,
     "percentile.c",
     {"The header has the inequality. Does the boundary belong to it?",
      "Multiply it out, so that nothing is divided.",
      "p99 at 99 and at 100; p99.9 at 999 and at 1,000; and p100?"}},
    {"slo.large_population", DIM_SLO, 1, "large populations", RANK, CHECK_CASES, 12, MAKE_LARGE, 0,
     "percentile.c",
     {"Which type has the product of percentile and n?",
      "2^31 divided by 100,000 is 21,475.",
      "Failures are counted, not listed: there may be many."}},
    {"slo.strict", DIM_SLO, 2, "below means below", "Exercise 2: slo_limit", CHECK_CASES, 12,
     MAKE_STRICT, 0, "slo.c",
     {"What of a value that equals its limit?",
      "799.999999 ms and 800 ms against a limit of 800 ms.",
      "Does it matter here that there were few observations?"}},
    {"slo.limit_absent", DIM_SLO, 1, "absent is not computable, infinite is missed",
     "Exercise 2: slo_limit", CHECK_CASES, 8, MAKE_LIMIT_ABSENT, 0, "slo.c",
     {"Three answers, not two.",
      "Which member says that there is a percentile at all? Read it first.",
      "ns means nothing when a percentile is infinite."}},
    {"slo.failure_rate", DIM_SLO, 2, "failure rate against its bound", "Exercise 2: slo_failure_rate",
     CHECK_CASES, 60, MAKE_FAILURE_RATE, 0, "slo.c",
     {"A bound on a rate may be reached. Which comparison is that?",
      "What are the ways in which the data don't hold the answer?",
      "1 of 1,000 against 0.001; 0 of 0."}},
    {"slo.quality_rate", DIM_SLO, 2, "pass rate against its bound", "Exercise 2: slo_quality",
     CHECK_CASES, 60, MAKE_PASS_RATE, 0, "slo.c",
     {"Passed of what: of all, or of those that were evaluated?",
      "Nothing evaluated: did it pass, did it fail?",
      "570 and 569 of 600 against 0.95."}},
    {"slo.throughput", DIM_SLO, 1, "useful responses per second", "Exercise 2: slo_throughput",
     CHECK_CASES, 32, MAKE_THROUGHPUT, 0, "slo.c",
     {"Which count: all, completed or useful?",
      "What must be true of an interval before you divide by it? Think of NaN and infinity, too.",
      "600 useful in 60 s against 10 a second."}},
    {"slo.value", DIM_SLO, 2, "useful responses per unit of the resource",
     "Exercise 2: slo_objective_value", CHECK_CASES, 30, MAKE_VALUE, 0, "slo.c",
     {"The header writes the formula down, line by line.",
      "What is provisioned is more than what is used. Hours or seconds?",
      "Follow the handout's example to 1,216.8."}},
    {"slo.value_not_computable", DIM_SLO, 2, "says what is missing", "Exercise 2: slo_objective_value",
     CHECK_CASES, 60, MAKE_NO_VALUE, 0, "slo.c",
     {"List what the formula needs; each of these can be missing.",
      "The value stays untouched, and the reason must fit into cap bytes.",
      "What does your reason say when two things are missing? And with room for 2 bytes?"}},
    {"slo.verdict", DIM_SLO, 2, "all parts together", "Exercise 2: slo_verdict", CHECK_CASES, 96,
     MAKE_VERDICT, 0, "slo.c",
     {"Missed beats not computable beats met.",
      "A part that the objective doesn't state is not required. How is that told?",
      "Limits of which scope count here?"}},

    /* ---- evidence: 10 ---- */
    {"evidence.record_valid", DIM_EVIDENCE, 2, "record.json is a valid record with the six events",
     "Your two data files: record.json", CHECK_EVIDENCE, 0, 0, 0, "record.json",
     {"`servelab record check record.json` says what is wrong, and where.",
      "Timestamps are whole numbers of nanoseconds.",
      "All six events, and delivered must be true."}},
    {"evidence.record_plausible", DIM_EVIDENCE, 2, "it could have happened",
     "Exercise 1: one record", CHECK_EVIDENCE, 0, 0, 0, "record.json",
     {"Put the events of each clock in order.",
      "Whose time to first token is longer, the person's or the server's? Why?",
      "Work out client_ttft, server_ttft and e2e on paper and compare them."}},
    {"evidence.record_tokens", DIM_EVIDENCE, 1, "a prompt of exactly 2,048 tokens",
     "Exercise 1: one record", CHECK_EVIDENCE, 0, 0, 0, "record.json",
     {"Look at the members of workload.", "How many tokens came, and how many were allowed?",
      "output_tokens is what was achieved."}},
    {"evidence.record_annotated", DIM_EVIDENCE, 1, "every stamp has an observer and a clock call",
     "Your two data files: record.json", CHECK_EVIDENCE, 0, 0, 0, "record.json",
     {"source says who saw it, clock_api which call read the clock.",
      "The handout has a table of which observer fits which event.",
      "Does the clock that you name ever jump? And what does provenance say?"}},
    {"evidence.record_statement", DIM_EVIDENCE, 1, "says what the person experienced",
     "Your two data files: record.json", CHECK_EVIDENCE, 0, 0, 0, "record.json",
     {"One sentence that names an interval by its name.",
      "Which intervals does a person feel?", "The server's intervals are not among them."}},
    {"evidence.objective_valid", DIM_EVIDENCE, 1, "objective.json holds a valid objective",
     "Your two data files: objective.json", CHECK_EVIDENCE, 0, 0, 0, "objective.json",
     {"`servelab record check --objective objective.json record.json` names what is wrong.",
      "The objective stands in the member \"objective\".",
      "What the memo doesn't say stays null."}},
    {"evidence.objective_limits", DIM_EVIDENCE, 1, "limits and measurements as the memo has them",
     "Exercise 3", CHECK_EVIDENCE, 0, 0, 0, "objective.json",
     {"Whose time to first token does the product ask for?",
      "Percentile, limit and scope of each; then what was measured, in milliseconds.",
      "The memo gives 1.4 s; the file wants ms."}},
    {"evidence.objective_verdict", DIM_EVIDENCE, 1, "the verdict, with its reasons", "Exercise 3",
     CHECK_EVIDENCE, 0, 0, 0, "objective.json",
     {"A reason holds the two numbers that decide, with units.",
      "Tokens per second are not useful responses per dollar. What is missing between them?",
      "If a limit is missed, can anything that is measured later save the verdict?"}},

    /* ---- safety: 10 ---- */
    {"safety.memory_intervals", DIM_SAFETY, 2, "intervals.c is clean under ASan and UBSan",
     "Exercise 2: intervals.c", CHECK_SURVIVES, 64, MAKE_ANY_INTERVALS, INTERVALS, "intervals.c",
     {"The message names the kind of error and the line.",
      "Compile your file with -fsanitize=address,undefined and call it with that kind of case.",
      "Ends of arrays, NULL, and products that don't fit are the usual ones."}},
    {"safety.memory_classify", DIM_SAFETY, 2, "classify.c is clean under ASan and UBSan",
     "Exercise 2: classify.c", CHECK_SURVIVES, 60, MAKE_ANY_CLASSIFY, QUALITY, "classify.c",
     {"The message names the kind of error and the line.",
      "Compile your file with -fsanitize=address,undefined and call it with that kind of case.",
      "Ends of arrays, NULL, and texts without room for their end are the usual ones."}},
    {"safety.memory_percentile", DIM_SAFETY, 1, "percentile.c is clean under ASan and UBSan",
     "Exercise 2: percentile.c", CHECK_SURVIVES, 60, MAKE_ANY_PERCENTILE, SLO, "percentile.c",
     {"The message names the kind of error and the line.",
      "What does your rank point to when every request failed?",
      "n_ok of 0, and a rank past the successes, are the usual ones."}},
    {"safety.memory_slo", DIM_SAFETY, 1, "slo.c is clean under ASan and UBSan", "Exercise 2: slo.c",
     CHECK_SURVIVES, 56, MAKE_ANY_SLO, SLO, "slo.c",
     {"The message names the kind of error and the line.",
      "How many bytes may the reason have?",
      "percentiles may be NULL when there is no limit."}},
    {"safety.inputs_unchanged", DIM_SAFETY, 2, "inputs are only read", "Exercise 2", CHECK_READ_ONLY,
     176, MAKE_ANY, EVERYTHING, NULL,
     {"This check lends you inputs that can't be written.",
      "const in a prototype is a promise; did a cast take it back?",
      "Sorting needs a copy."}},
    {"safety.no_leak", DIM_SAFETY, 1, "gives back what it allocates", "Exercise 2", CHECK_HEAP, 44,
     MAKE_ANY, EVERYTHING, NULL,
     {"Each function is called many times; the heap must not grow.",
      "Which of your functions allocate? Do they free on every way out?",
      "Look at the early returns."}},
    {"safety.quiet", DIM_SAFETY, 1, "prints nothing", "Exercise 2", CHECK_QUIET, 44, MAKE_ANY,
     EVERYTHING, NULL,
     {"Printing is fine while you look for an error; take it out when you are done.",
      "A library leaves the terminal to its caller.", "Search your files for printf."}},
};

static const char *const interval_functions[] = {"interval_between", "interval_divide",
                                                 "intervals_compute", "intervals_itl", NULL};
static const char *const classify_functions[] = {"classify_attempt", "classify_request",
                                                 "classify_good", NULL};
static const char *const percentile_functions[] = {"percentile_nearest_rank", NULL};
static const char *const slo_functions[] = {"slo_limit",           "slo_failure_rate", "slo_quality",
                                            "slo_throughput",      "slo_objective_value",
                                            "slo_verdict",         NULL};

static const struct lab_file files[] = {
    {"intervals.c", true, interval_functions}, {"classify.c", true, classify_functions},
    {"percentile.c", true, percentile_functions}, {"slo.c", true, slo_functions},
    {"record.json", false, NULL},              {"objective.json", false, NULL},
};

static const char *const given[] = {"record_event",
                                    "record_last_event",
                                    "event_name",
                                    "clock_name",
                                    "source_name",
                                    "verdict_name",
                                    "interval_name",
                                    "interval_get",
                                    "completion_reason_name",
                                    "slo_answer_name",
                                    "err_bug",
                                    "lab_todo",
                                    NULL};

const struct lab lab01 = {
    .number = "01",
    .name = "01_request_record",
    .first_step = "read \"Before you start\" in labs/01_request_record/README.md, then write "
                  "interval_between in intervals.c: it is the shortest function, and most others "
                  "stand on it",
    .files = files,
    .n_files = sizeof files / sizeof *files,
    .checks = checks,
    .n_checks = sizeof checks / sizeof *checks,
    .child = "lab01",
    .given = given,
    .make = lab01_make,
    .examine = lab01_examine,
};

/* ---- from a check to its cases ---------------------------------------------------------------------------- */

/* The makers whose cases a safety check borrows, one after the other. */
static int borrowed_maker(int maker, int k) {
    static const int first[] = {MAKE_CLIENT_TTFT, MAKE_DELIVERED, MAKE_RANK, MAKE_STRICT,
                                MAKE_CLIENT_TTFT};
    static const int end[] = {MAKE_DELIVERED, MAKE_RANK, MAKE_STRICT, MAKE_N, MAKE_N};
    int which = maker - MAKE_ANY_INTERVALS;
    return first[which] + k % (end[which] - first[which]);
}

static int borrowed_k(int maker, int k) {
    static const int counts[] = {MAKE_DELIVERED - MAKE_CLIENT_TTFT, MAKE_RANK - MAKE_DELIVERED,
                                 MAKE_STRICT - MAKE_RANK, MAKE_N - MAKE_STRICT, MAKE_N};
    return k / counts[maker - MAKE_ANY_INTERVALS];
}

/* FNV-1a over the check's name: each check has its own sequence for one seed. */
static uint64_t sequence(uint64_t seed, const char *id, int k) {
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (const char *p = id; *p; p++) h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return (h ^ (uint64_t)k) * UINT64_C(0x100000001b3);
}

static void set_focus(const char *focus, struct want *wants, size_t n) {
    for (size_t i = 0; focus && i < n; i++) {
        bool in = false;
        for (const char *p = focus; p && !in; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
            in = !strncmp(wants[i].name, p, strcspn(p, "|"));
        wants[i].care &= in;
    }
}

/* Safety checks ask for survival, or for one slot of their own, not for right answers. */
static void set_kind(const struct check_def *def, struct want *wants, size_t n) {
    if (def->kind == CHECK_CASES) return;
    for (size_t i = 0; i < n; i++)
        if (def->kind != CHECK_HEAP || i + 1 < n) wants[i].care = false;
}

static int encode(struct case_in *c, struct hidden_case *out, struct err *e) {
    out->bytes = malloc(WIRE_MAX_PAYLOAD);
    if (!out->bytes) return err_set(e, "no memory for a case");
    struct wire w = wire_writer(out->bytes, WIRE_MAX_PAYLOAD);
    if (case_codec(&w, c)) return err_set(e, "a case is larger than the channel allows");
    out->n_bytes = WIRE_MAX_PAYLOAD - w.left;
    return 0;
}

int lab01_make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
               struct err *e) {
    static struct case_in c;
    struct making m = {.k = k, .c = &c, .kind = out->kind};
    int maker = def->maker, rc = -1;
    rng_seed(&m.rng, sequence(seed, def->id, k));
    if (maker >= MAKE_N) {
        m.k = borrowed_k(maker, k);
        maker = borrowed_maker(maker, k);
    }
    case_init(&c);
    if (maker <= MAKE_GPU)
        make_intervals(&m, (enum maker)maker);
    else if (maker <= MAKE_GOOD_ABSENT)
        make_quality(&m, (enum maker)maker);
    else
        make_slo(&m, (enum maker)maker);
    if (def->kind == CHECK_READ_ONLY) c.memory = MEMORY_READ_ONLY;
    if (def->kind == CHECK_HEAP) c.memory = MEMORY_REPEAT;
    out->n_wants = case_slots(&c);
    out->wants = calloc(out->n_wants, sizeof *out->wants);
    if (!out->wants)
        err_set(e, "no memory for a case");
    else
        rc = encode(&c, out, e);
    if (!rc) {
        oracle(&c, m.strict, out->wants);
        set_focus(m.focus, out->wants, out->n_wants);
        set_kind(def, out->wants, out->n_wants);
        describe_case(&c, out->input, sizeof out->input);
    }
    case_release(&c);
    return rc;
}
