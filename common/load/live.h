/* live.h: the line that shows how a load is going: rate, in flight, latencies, failures, what is
 * left. On a terminal one line that changes four times a second, elsewhere a line each two seconds.
 */
#ifndef SERVELAB_LOAD_LIVE_H
#define SERVELAB_LOAD_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LIVE_RECENT = 512 }; /* the percentiles are of so many last answers: sorted in 30 us */

struct live {
    FILE *out;         /* NULL: nothing is shown */
    const char *label; /* in front of the line: which load; "" */
    bool tty, shown;
    int64_t first_ns, next_ns;
    int64_t sent, ended, failed, in_flight;
    double left_s;       /* of sending; <= 0: all is sent; NaN: unknown */
    int64_t recent_sent; /* at the last line, for the rate */
    int64_t recent_ns;
    int64_t ttft_ns[LIVE_RECENT], e2e_ns[LIVE_RECENT]; /* rings */
    int64_t n_ttft, n_e2e;
};

void live_init(struct live *l, FILE *out, bool tty, const char *label, int64_t first_ns);
/* An answer came whole. */
void live_add(struct live *l, int64_t ttft_ns, int64_t e2e_ns);
/* Shows the line if it is time; sets next_ns. */
void live_show(struct live *l, int64_t now_ns);
/* Takes the line off the terminal. */
void live_clear(struct live *l);

#endif
