/* card.h: one learner's kernel on a GPU: right or wrong, and how fast beside the reference's.
 *
 * Right or wrong comes first, on the hidden shapes of the counted run, against double. Then rounds:
 * each fills inputs from a seed of its own and launches both kernels on them, in turns first, in
 * the same device memory, outputs poisoned and the L2 cache overwritten before each launch; events
 * stand around the launch alone. Every timed output is compared with the reference's, every input
 * with what it was. The card's copy bandwidth and cuBLAS's rate in float are measured by the same
 * process, so a verdict rests on one run. card_run.c has a process for each kernel, ours, which a
 * kernel that fails or never ends takes with it; card.c compiles, waits and prints.
 */
#ifndef SERVELAB_GRADER_LAB03_CARD_H
#define SERVELAB_GRADER_LAB03_CARD_H

#include "backend/gpu_driver.h"
#include "backend/kernel_spec.h"

enum {
    CARD_ROUNDS = 11,
    CARD_SPREAD_PERCENT = 10, /* (upper - lower quartile) / median; above it: too noisy */
    /* Of the measured copy bandwidth. Reading is faster than copying, and what was written last may
     * still lie in the cache when the event is reached; beyond twice, bytes weren't moved. */
    CARD_BYTES_PERCENT = 200,
    CARD_OPERATIONS_PERCENT = 125, /* of cublasSgemm */
    /* The same where tensor cores may be used: bf16 is up to 28 times float on today's cards. */
    CARD_TENSOR_PERCENT = 3200
};

enum card_verdict {
    CARD_UNFINISHED, /* the process ended without a word */
    CARD_NO_DEVICE,  /* `why`: no driver, or no card */
    CARD_FAULT,      /* `why`: ours */
    CARD_REFUSED,    /* `why`: the file, launch.json, or the module, which the driver won't load */
    CARD_WRONG,      /* `why` */
    CARD_FAILED,     /* `why`: the launch */
    CARD_ENDLESS,    /* a launch came to no end */
    CARD_NOT_PHYSICAL,
    CARD_NOISY,
    CARD_TIMED
};

struct card_time {
    double median_us, spread; /* spread as above, 1 is the median */
};

/* In memory that both processes see: the card's writes, ours reads. */
struct card_result {
    enum card_verdict verdict;
    struct gpu_about about;
    double copy_gb_s, sgemm_gflop_s; /* sgemm: 0 without cuBLAS */
    char why[400];
    struct card_time yours, reference;
    double fraction;     /* of the roofline */
    int64_t launched_ns; /* monotonic: when the launch in progress began; 0: none */
};

struct card_job {
    const struct kernel_spec *spec;
    const char *module, *launch;                     /* the learner's files */
    const char *reference_module, *reference_launch; /* ours */
    uint64_t seed;
    bool practice; /* sizes and values may be told */
    bool small;    /* a dry run: times mean nothing, so the timed shape is a small one */
};

/* Only what the card is: fills about, or NO_DEVICE. */
void lab03_card_look(struct card_result *r);
/* Everything; leaves the verdict. For a process of its own that ends afterwards. */
void lab03_card_run(const struct card_job *job, struct card_result *r);

/* What is timed: "rows=1024 d=4096". */
const char *lab03_card_timed_sizes(const char *kernel);

/* From the times: NOT_PHYSICAL, NOISY or TIMED, and the fraction. */
void lab03_card_judge(const struct kernel_sizes *sizes, struct card_result *r);

#endif
