/* rubric.c: lab 03's checks with their points. The three hints of a check say where to look, what
 * to ask oneself, and give an example worked by hand; none says what to write.
 *
 * Intervals: from event stamps to a fraction of the roofline. Quality: the kernels against sums in
 * double, and the comparator. SLO: the counted budgets of the kernels' versions. Evidence: the
 * roofline, computed before anything is measured. Safety: the memory and race checks.
 *
 * Not formatted by clang-format: it would put one field on each line.
 */
#include "lab03/lab03.h"

// clang-format off
#define QUALITY (1u << DIM_QUALITY)
#define COMPARE "Exercise 3: kernel_compare"
#define FILES   "Your two data files: roofline.json"

#define RIGHT(KERNEL, POINTS, HINT)                                                                \
    {"quality." KERNEL, DIM_QUALITY, POINTS, KERNEL " is right for all sizes", "Kernel: " KERNEL, \
     CHECK_OWN, 4, JUDGE_KERNEL_RIGHT, 0, KERNEL ".cu",                                              \
     {"backend/kernels.h says what goes in, what comes out, and what sizes may be.", HINT,         \
      "Take the smallest size that the header allows and go through one block by hand."}}
#define VERSION(KERNEL, N, HINT)                                                                   \
    {"slo." KERNEL ".v" #N, DIM_SLO, 1, KERNEL " meets the budgets up to version " #N, "Kernel: " KERNEL, \
     CHECK_OWN, 1, JUDGE_KERNEL_VERSION + N, 0, KERNEL ".cu",                                        \
     {"The handout's table has the budget, and the idea that meets it.", HINT,                     \
      "simtcc --annotate shows the counts line by line: which line has more than its share?"}}
#define CLEAN(NAME, TITLE, FILE, SECTION)                                                          \
    {"safety." NAME, DIM_SAFETY, 1, TITLE, SECTION, CHECK_OWN, 4, JUDGE_KERNEL_CLEAN, 0, FILE,       \
     {"The message names the line and both threads.",                                              \
      "Which barrier, or which comparison with a size, is between the two?",                   \
      "Two threads, one word, and at least one of them writes: what orders them?"}}

const struct check_def lab03_checks[LAB03_CHECKS] = {
    /* ---- intervals: 30 ---- */
    {"intervals.launch_time", DIM_INTERVALS, 3, "one launch's time", "Exercise 1: kernel_run_ns", CHECK_CASES, 16, MAKE_RUN, 0, "kernel_time.c",
     {"kernel_time.h: (end - start) / launches, to the nearest nanosecond.",
      "Whole numbers only: which remainder is a half or more?",
      "15 ns for 10 launches: 1 or 2?"}},
    {"intervals.not_timed", DIM_INTERVALS, 2, "repetitions that say nothing", "Exercise 1: kernel_run_ns", CHECK_CASES, 22, MAKE_RUN_EMPTY, 0, "kernel_time.c",
     {"kernel_time.h lists them in one sentence.",
      "What does the host's clock know about when a launch began?",
      "A start of 0 is a stamp. Which number is an absent one?"}},
    {"intervals.median", DIM_INTERVALS, 3, "the median", "Exercise 1: kernel_time_ns", CHECK_CASES, 20, MAKE_TIME, 0, "kernel_time.c",
     {"Lab 01's nearest rank: an observation, never a mean of two.",
      "Of 4 times, which one is the smallest with at least half at or below it?",
      "10, 20, 30, 40: 20."}},
    {"intervals.mixed", DIM_INTERVALS, 3, "the median of what says something", "Exercise 1: kernel_time_ns", CHECK_CASES, 20, MAKE_TIME_FEW, 0, "kernel_time.c",
     {"Repetitions that say nothing don't count as zeros either.",
      "What is the median when none says anything?",
      "A warm-up of 90, then 10 and 12: of which two is it the median?"}},
    {"intervals.spread", DIM_INTERVALS, 3, "the spread", "Exercise 1: kernel_spread", CHECK_CASES, 20, MAKE_SPREAD, 0, "kernel_time.c",
     {"(greatest - smallest) / median, of the same repetitions as the median's.",
      "One repetition has a spread. Which?",
      "100, 104, 110: 10 over what?"}},
    {"intervals.bandwidth", DIM_INTERVALS, 2, "effective bandwidth", "Exercise 2: effective_bandwidth", CHECK_CASES, 16, MAKE_BANDWIDTH, 0, "kernel_time.c",
     {"Bytes per second; the time is in nanoseconds.",
      "What can be said when the time is 0 or absent?",
      "4000 bytes in 2 ns are 2000 GB/s: as a double, 2e12."}},
    {"intervals.intensity", DIM_INTERVALS, 2, "arithmetic intensity", "Exercise 2: arithmetic_intensity", CHECK_CASES, 16, MAKE_INTENSITY, 0, "kernel_time.c",
     {"Operations over bytes, as doubles.",
      "A copy has an intensity. Has a kernel that moves nothing?",
      "5 operations for 8 bytes: 0.625."}},
    {"intervals.ridge", DIM_INTERVALS, 1, "the ridge", "Exercise 2: roofline_ridge", CHECK_CASES, 8, MAKE_RIDGE, 0, "kernel_time.c",
     {"Where the two lines of the roofline meet.",
      "Which of the card's two numbers is the numerator, by its unit?",
      "10 TFLOP/s and 1 TB/s: 10 operations a byte."}},
    {"intervals.limit", DIM_INTERVALS, 2, "the most that the card allows", "Exercise 2: roofline_limit", CHECK_CASES, 18, MAKE_LIMIT, 0, "kernel_time.c",
     {"The smaller of two rates.",
      "Both are in operations per second: how does a bandwidth become one?",
      "1 TB/s at 0.25 operations a byte: 250 GFLOP/s."}},
    {"intervals.bound", DIM_INTERVALS, 2, "which limit holds it back", "Exercise 2: kernel_bound", CHECK_CASES, 21, MAKE_BOUND, 0, "kernel_time.c",
     {"Compare the intensity with the ridge.",
      "kernel_time.h says what happens at the ridge itself.",
      "Decoding one token reads each weight for two operations: on which side is that?"}},
    {"intervals.least_time", DIM_INTERVALS, 2, "the least time", "Exercise 2: roofline_time_ns", CHECK_CASES, 16, MAKE_LEAST_TIME, 0, "kernel_time.c",
     {"Moving and computing overlap: the longer one decides.",
      "In nanoseconds, not rounded.",
      "1 GB at 1 TB/s and 1 GFLOP at 1 TFLOP/s: 1e6 ns."}},
    {"intervals.fraction", DIM_INTERVALS, 2, "fraction of the roofline", "Exercise 2: roofline_fraction", CHECK_CASES, 18, MAKE_FRACTION, 0, "kernel_time.c",
     {"The least time over the time it took.",
      "Does it still mean something for a copy, which computes nothing?",
      "Least 80 ns, took 100 ns: 0.8."}},
    {"intervals.verdict", DIM_INTERVALS, 3, "may the timing be believed", "Exercise 2: kernel_time_verdict", CHECK_CASES, 28, MAKE_VERDICT, 0, "kernel_time.c",
     {"kernel_time.h gives the order in which the verdicts are asked.",
      "Noisy and impossible at once: which is reported?",
      "A fraction of 1.2 means that something wasn't done, or wasn't timed."}},

    /* ---- quality: 25 ---- */
    RIGHT("copy", 1, "What do the threads do that lie beyond n?"),
    RIGHT("copy_strided", 1, "Where does row r begin in `in`, and where in `out`?"),
    RIGHT("rmsnorm", 2, "residual is an output, too; and the mean is over d, not over the block."),
    RIGHT("softmax", 1, "exp of 300 is infinite in float. What is subtracted first?"),
    RIGHT("rope", 2, "Which two values of a head turn together, and where in a block of 16 does slot 21 lie?"),
    RIGHT("swiglu", 1, "A row of gate_up has 2 d values: where does the up half begin?"),
    RIGHT("embedding", 1, "A bf16 widens to a float exactly."),
    RIGHT("gemm", 2, "m is free: what do tiles do at the edges, in loads and in stores?"),
    RIGHT("gemv", 1, "Every lane has a part of the row's sum: who adds them up, and who writes?"),
    RIGHT("gemv_int8", 1, "Where does the row's scale go, inside the sum or after it?"),
    RIGHT("attention_prefill", 2, "Token t is at position pos0 + t. How many keys does it see, and in which block is each?"),
    RIGHT("attention_decode", 2, "What does a split leave that has no keys?"),
    RIGHT("attention_merge", 1, "A split with a sum of 0 has no maximum either."),
    RIGHT("argmax", 1, "On a tie the lowest index wins: also between warps."),
    RIGHT("sample", 1, "Which tokens are kept when several have the weight at the border?"),
    {"quality.compare.tolerance", DIM_QUALITY, 1, "right and wrong by the tolerance", COMPARE, CHECK_CASES, 24, MAKE_COMPARE, 0, "kernel_compare.c",
     {"kernel_compare.h: relative to the greatest |want|, not to each.",
      "A small value among large ones: how far off may it be?",
      "want 1000 and 0.001, got 1000 and 0: an error of 1e-6."}},
    {"quality.compare.worst", DIM_QUALITY, 1, "the worst element", COMPARE, CHECK_CASES, 15, MAKE_COMPARE_WORST, 0, "kernel_compare.c",
     {"The greatest |got - want|; the first on a tie.",
      "Differences in double: got is a float, want is not.",
      "Nothing off: which element is the worst?"}},
    {"quality.compare.finite", DIM_QUALITY, 1, "NaN and infinities never pass", COMPARE, CHECK_CASES, 24, MAKE_COMPARE_FINITE, 0, "kernel_compare.c",
     {"Every comparison with NaN is false; `diff > tolerance` too.",
      "Which bits of a float are all ones in NaN and infinity, and in nothing else?",
      "The largest float is finite, and so is a denormal."}},
    {"quality.compare.zeros", DIM_QUALITY, 1, "zeros don't pass for small numbers", COMPARE, CHECK_CASES, 18, MAKE_COMPARE_ZEROS, 0, "kernel_compare.c",
     {"An absolute tolerance lets zeros pass wherever the numbers are small.",
      "What is the error of all zeros, relative to the greatest |want|?",
      "want 1e-20, got 0: an error of 1."}},
    {"quality.compare.no_answer", DIM_QUALITY, 1, "references that tell nothing", COMPARE, CHECK_CASES, 24, MAKE_COMPARE_NO_ANSWER, 0, "kernel_compare.c",
     {"kernel_compare.h names three of them.",
      "What is divided by, when all wanted values are 0?",
      "want holds a NaN and got doesn't: who is wrong?"}},

    /* ---- slo: 25 ---- */
    VERSION("copy", 3, "A warp that moves 16 bytes a lane needs a quarter of the requests."),
    VERSION("copy_strided", 3, "A row of 40 fours leaves 24 of 64 lanes idle. What if lanes don't stop at a row's end?"),
    VERSION("rmsnorm", 2, "Neighbouring threads should take neighbouring values of one row."),
    VERSION("rmsnorm", 4, "The second pass reads again what the thread had in its hands."),
    VERSION("softmax", 3, "Maximum and sum in one pass: what becomes of the sum when a greater maximum comes?"),
    VERSION("softmax", 4, "Four values an access, and only one barrier between warps."),
    VERSION("rope", 2, "A thread a pair, neighbouring pairs to neighbouring threads."),
    VERSION("rope", 3, "Four pairs lie side by side, and so do their partners."),
    VERSION("swiglu", 3, "gate and up of four values: two loads of 16 bytes, one store."),
    VERSION("embedding", 3, "Four bf16 are 8 bytes: one load."),
    VERSION("gemm", 3, "A tile of a and one of b, in shared memory, are read many times and loaded once."),
    VERSION("gemm", 4, "32 banks of 4 bytes: in which bank does element [i][j] of a 32 by 32 tile lie?"),
    VERSION("gemm", 5, "Each value that is read from shared memory should be used more than once."),
    VERSION("gemv", 3, "Four bf16 a lane and a load."),
    VERSION("gemv", 4, "x is read again for every row. What if a warp takes several rows?"),
    VERSION("gemv_int8", 3, "x is read again for every row. What if a warp takes several rows?"),
    VERSION("attention_prefill", 2, "With a running maximum and sum no scores have to be kept."),
    VERSION("attention_prefill", 3, "16 queries need the same keys: load a block of them once for all."),
    VERSION("attention_prefill", 4, "nvcuda::wmma multiplies 16 by 16 tiles without going through shared memory for each product."),
    VERSION("attention_decode", 2, "With a running maximum and sum no scores have to be kept."),
    VERSION("attention_decode", 3, "The query heads of a group read the same keys."),
    VERSION("attention_merge", 2, "Neighbouring threads: neighbouring values of one head."),
    VERSION("argmax", 2, "Neighbouring threads should read neighbouring logits."),
    VERSION("argmax", 3, "A warp needs no barrier to find its greatest."),
    VERSION("sample", 2, "A pass over the row settles one bit. How many can it settle with a histogram of 256?"),

    /* ---- evidence: 10 ---- */
    {"evidence.card", DIM_EVIDENCE, 1, "a card and its ridge", FILES, CHECK_EVIDENCE, 0, EV_CARD, 0, "roofline.json",
     {"A data sheet gives both numbers; say which unit's operations you took.",
      "The ridge is the quotient of the two.",
      "1.555e12 bytes/s and 19.5e12 operations/s meet at 12.5."}},
    {"evidence.bytes", DIM_EVIDENCE, 2, "what each of three kernels must move", FILES, CHECK_EVIDENCE, 0, EV_BYTES, 0, "roofline.json",
     {"The handout has a closed form for each kernel.",
      "Tensors' elements, once each: weights count for every kernel that reads them.",
      "A copy of 1,000,000 floats: 8,000,000 bytes."}},
    {"evidence.operations", DIM_EVIDENCE, 1, "what each of them must compute", FILES, CHECK_EVIDENCE, 0, EV_OPERATIONS, 0, "roofline.json",
     {"The handout has a closed form for each kernel.",
      "A multiplication and an addition are two.",
      "A 1000 by 1000 GEMV: 2,000,000."}},
    {"evidence.bound", DIM_EVIDENCE, 2, "what holds each back, and its least time", FILES, CHECK_EVIDENCE, 0, EV_BOUND, 0, "roofline.json",
     {"Compare the intensity with your card's ridge.",
      "The least time is the longer of two.",
      "2,008,000 bytes at 1.555e12 bytes/s: 1291 ns."}},

    {"evidence.predictions", DIM_EVIDENCE, 2, "two counts, predicted and explained", FILES, CHECK_EVIDENCE, 0, EV_PREDICTIONS, 0, "roofline.json",
     {"Write the prediction before you change the kernel. A wrong one earns the points, too.",
      "KEEP=1 leaves the report; simtcc --annotate shows the counts line by line.",
      "One access of 16 bytes instead of four of 4: a quarter of the requests, and the same bytes."}},
    {"evidence.choice", DIM_EVIDENCE, 2, "two kernels: which one do you take?", FILES, CHECK_EVIDENCE, 0, EV_CHOICE, 0, "roofline.json",
     {"Operations that the result doesn't need have no value.",
      "How many products are finished in a second?",
      "3e9 operations in 2 ms are 1.5e12 a second, and 500 results a second."}},

    /* ---- safety: 10 ---- */
    CLEAN("rmsnorm", "rmsnorm without races and stray accesses", "rmsnorm.cu", "Kernel: rmsnorm"),
    CLEAN("softmax", "softmax without races and stray accesses", "softmax.cu", "Kernel: softmax"),
    CLEAN("rope", "rope without races and stray accesses", "rope.cu", "Kernel: rope"),
    CLEAN("gemm", "gemm without races and stray accesses", "gemm.cu", "Kernel: gemm"),
    CLEAN("attention_prefill", "attention_prefill without races and stray accesses", "attention_prefill.cu", "Kernel: attention_prefill"),
    CLEAN("attention_decode", "attention_decode without races and stray accesses", "attention_decode.cu", "Kernel: attention_decode"),
    CLEAN("argmax", "argmax without races and stray accesses", "argmax.cu", "Kernel: argmax"),
    CLEAN("sample", "sample without races and stray accesses", "sample.cu", "Kernel: sample"),
    CLEAN("others", "the other kernels without races and stray accesses", NULL, "Safety"),
    {"safety.memory", DIM_SAFETY, 1, "the C functions under the sanitizers", "Safety", CHECK_SURVIVES, 54, MAKE_ANY, 0, NULL,
     {"The message names the line.",
      "Arrays may have no element at all.",
      "n is 0: what is runs[0] then?"}},
};
