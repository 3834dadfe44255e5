/* card.h: checks one learner's kernel on a GPU and measures how fast it is compared with the
 * reference's.
 *
 * First the outputs are checked against double, on the hidden shapes of the counted run. Then come
 * rounds: each fills the inputs from its own seed and launches both kernels on them, in alternating
 * order, in the same device memory. Before each launch the outputs are poisoned and the L2 cache is
 * overwritten; the events enclose the launch only. Every timed output is compared with the
 * reference's, and every input with its former contents. The card's copy bandwidth and cuBLAS's
 * rate in float are measured by the same process, so a verdict rests on one run. card_run.c runs in
 * one process for each kernel; if a kernel fails or never ends, only this process is lost. card.c
 * compiles, waits and prints.
 */
#ifndef SERVELAB_GRADER_LAB03_CARD_H
#define SERVELAB_GRADER_LAB03_CARD_H

#include "backend/gpu_driver.h"
#include "backend/kernel_spec.h"

enum {
    CARD_ROUNDS = 11,
    CARD_SPREAD_PERCENT = 10, /* (upper - lower quartile) / median; above it: too noisy */
    /* Of the measured copy bandwidth. Reading is faster than copying, and the last writes may still
       be in the cache when the event is reached. Above twice the bandwidth, the bytes were not
       moved. */
    CARD_BYTES_PERCENT = 200,
    CARD_OPERATIONS_PERCENT = 125, /* of cublasSgemm */
    /* The same for kernels that may use tensor cores: bf16 is up to 28 times as fast as float on
       today's cards. */
    CARD_TENSOR_PERCENT = 3200
};

enum card_verdict {
    CARD_UNFINISHED, /* the process ended without a result */
    CARD_NO_DEVICE,  /* `why`: no driver, or no card */
    CARD_FAULT,      /* `why`: the grader's fault */
    CARD_REFUSED,    /* `why`: the file, launch.json, or the module, which the driver won't load */
    CARD_WRONG,      /* `why` */
    CARD_FAILED,     /* `why`: the launch */
    CARD_ENDLESS,    /* a launch did not end */
    CARD_NOT_PHYSICAL,
    CARD_NOISY,
    CARD_TIMED
};

struct card_time {
    double median_us, spread; /* spread as above, as a fraction of the median */
};

/* In memory shared by both processes: the card's process writes, card.c reads. */
struct card_result {
    enum card_verdict verdict;
    struct gpu_about about;
    double copy_gb_s, sgemm_gflop_s; /* sgemm: 0 without cuBLAS */
    char why[400];
    struct card_time yours, reference;
    double fraction;     /* of the roofline */
    int64_t launched_ns; /* monotonic: when the current launch began; 0: none */
};

struct card_job {
    const struct kernel_spec *spec;
    const char *module, *launch;                     /* the learner's files */
    const char *reference_module, *reference_launch; /* the reference's */
    uint64_t seed;
    bool practice; /* sizes and values may be shown */
    bool small;    /* a dry run with a small timed shape; its times have no meaning */
};

/* Fills r->about, or sets NO_DEVICE. */
void lab03_card_look(struct card_result *r);
/* Checks, measures and leaves the verdict in *r. Call it in a process that ends afterwards. */
void lab03_card_run(const struct card_job *job, struct card_result *r);

/* The timed shape: "rows=1024 d=4096". */
const char *lab03_card_timed_sizes(const char *kernel);

/* Sets the verdict from the times (NOT_PHYSICAL, NOISY or TIMED), and the fraction. */
void lab03_card_judge(const struct kernel_sizes *sizes, struct card_result *r);

#endif
