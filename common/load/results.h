/* results.h: keeps one row for each request of a load, and decides whether the run is valid.
 *
 * The rows are in the order of the schedule. Times are ns of CLOCK_MONOTONIC, -1 where there is
 * none. Latencies are computed in summary.h; here are the counts, the lag and the validity, which
 * need no function of a lab, so that a run file is written even if a lab's file is unfinished.
 *
 * The measured window is closed: it holds the requests whose scheduled send lies in [first + warm
 * up, end - cool down], where `first` is when the schedule began, and `end` is --duration-s later,
 * or the last scheduled send where no duration was given. A request that was scheduled before the
 * window and ended in it, or was scheduled in it and ended after, straddles: it counts by its
 * schedule, and how many did so is reported for both sides.
 *
 * A client that can't keep up measures itself. A run is invalid when
 *   - the lag (actual minus scheduled send) at p99 is above 5 % of the median TTFT, but not below
 *     1 ms (what a process on a shared machine can promise, and less than a limit resolves) nor
 *     above 10 ms (the pace of a fast server's tokens): the lag is part of what is reported;
 *   - its thread computed or waited for a core during more than 90 % of the time: an event that
 *     comes then is stamped late;
 *   - its thread stood still for 100 ms or more (stopped, asleep, or busy in one turn) while more
 *     than 1 % of the requests were in flight: what came in that time is stamped late;
 *   - it was interrupted, nothing was completed, or the paced server was late at more than 1 % of
 *     its steps;
 *   - no request was scheduled in the window, or the window is one instant: there are no rates.
 */
#ifndef SERVELAB_LOAD_RESULTS_H
#define SERVELAB_LOAD_RESULTS_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_LAG_SHARE    0.05
#define LOAD_LAG_LEAST_NS INT64_C(1000000)
#define LOAD_LAG_MOST_NS  INT64_C(10000000)
#define LOAD_BUSY_MOST    0.9
#define LOAD_LATE_MOST    0.01
#define LOAD_STALL_NS     INT64_C(100000000)
#define LOAD_STALLED_MOST 0.01

struct load_row {
    int64_t scheduled_ns, submitted_ns, first_ns, last_ns, ended_ns;
    int32_t prompt_tokens, output_tokens;             /* asked for */
    int32_t usage_prompt_tokens, usage_output_tokens; /* the server's usage; -1: none */
    int32_t chunks;                                   /* with text */
    int16_t http_status;
    bool check;       /* a prompt with a checkable answer */
    bool whole;       /* the answer came to its end, without a problem */
    bool timed_out;   /* by --timeout-s */
    bool interrupted; /* it ran when the load was stopped */
    bool resent;      /* libcurl would have sent it again */
};

struct load_results {
    struct load_row *rows;
    int64_t n, cap;
    int64_t first_ns;    /* when the schedule began */
    int64_t duration_ns; /* as asked for; 0: until the last request */
    int64_t warm_up_ns, cool_down_ns;
    int64_t sending_end_ns;    /* when the last request had been sent, or the load was stopped */
    int64_t cpu_ns, waited_ns; /* of the thread while it sent: computing; runnable without a core */
    int64_t longest_turn_ns;   /* wire.h */
    int64_t stalled; /* requests in flight when the thread stood still; each stall counts */
    bool real_time;  /* the thread had a real-time priority */
    bool interrupted;
    bool streams_full;             /* some send had to wait because no more streams can be open */
    int64_t pace_steps, pace_late; /* of a paced server during the run; -1: it doesn't say */
    char failure[400];             /* why it broke off, or its records are not all there; or "" */
    char first_problem[400];       /* the first answer that wasn't whole: "ID: PROBLEM"; or "" */
};

void load_results_release(struct load_results *r);
/* A new row, all its times -1. Its number, or -1 when memory is out. */
int64_t load_results_add(struct load_results *r);

/* Both ends belong to it. to_ns < from_ns: there is none. */
struct load_window {
    int64_t from_ns, to_ns;
};
struct load_window load_window_of(const struct load_results *r);
static inline bool load_window_has(const struct load_window *w, int64_t t_ns) {
    return t_ns >= w->from_ns && t_ns <= w->to_ns;
}

struct load_counts {
    int64_t requests; /* scheduled */
    int64_t sent, whole, timed_out, interrupted, http_errors, no_answer;
    int64_t measured;          /* scheduled in the window: the population of every figure */
    int64_t straddle_warm_up;  /* scheduled before the window, ended in it */
    int64_t straddle_end;      /* scheduled in the window, ended after it */
    int64_t checks;            /* prompts with a checkable answer */
    int64_t short_answers;     /* whole, but with fewer tokens than were asked for (no checks) */
    int64_t wrong_prompts;     /* the server counted other prompt tokens than were sent as ids */
    int64_t chunks_over_usage; /* more chunks with text than tokens: its usage can't be right */
    int64_t over_asked;        /* more tokens by the usage than were asked for at most: the same */
    int64_t resent;
};
void load_count(const struct load_results *r, struct load_counts *out);

/* Of the requests in the window. -1 where there is none. */
struct load_lag {
    int64_t p50_ns, p99_ns, max_ns;
    int64_t median_ttft_ns; /* from the scheduled send, of what began */
    int64_t limit_ns;       /* of p99_ns, by the rule above */
    double busy;            /* share of the time; NaN when nothing was sent */
};
void load_lag_of(const struct load_results *r, struct load_lag *out);

/* Appends the reasons why the run is invalid, as a JSON list of sentences. Returns how many. */
int load_invalid(const struct load_results *r, struct buffer *json);

#endif
