/* fuzz_lab04.c: any bytes as a case of lab 04 on the channel, as a configuration of the machine,
 * and as queries of an engine: refused, or read within the bounds of lab04/cases.h and machine.h.
 * testing/fuzz.h names the two ways to run it. */
#include "lab04/cases.h"

#include "testing/fuzz.h"

#include <string.h>

static void check_case(const uint8_t *data, size_t size) {
    static unsigned char again[WIRE_MAX_PAYLOAD];
    static struct lab04_case c;
    struct wire r = wire_reader(data, size), w = wire_writer(again, sizeof again);
    if (lab04_case_codec(&r, &c)) return;
    INVARIANT(c.n_slots >= 1 && c.n_slots < CASE_MAX_SLOTS);
    INVARIANT(c.n <= CASE_MAX_SCRIPT && c.n_attempts <= CASE_MAX_ATTEMPTS);
    INVARIANT(c.n_points <= CASE_MAX_POINTS && c.rec.n_events <= CASE_MAX_EVENTS);
    INVARIANT(lab04_case_codec(&w, &c) == 0);
}

/* The first number says how many belong to the configuration; the rest are queries of one length.
 */
static void check_machine(const uint8_t *data, size_t size) {
    static int64_t v[4096];
    static struct machine_config config;
    static struct machine m;
    int64_t reply[MACHINE_MAX_REPLY];
    size_t n = size / 8 < 4096 ? size / 8 : 4096;
    memcpy(v, data, n * 8);
    if (n == 0) return;
    size_t at = 1 + (size_t)((uint64_t)v[0] % n);
    memset(&config, 0, sizeof config);
    if (!machine_config_read(&config, v + 1, at - 1)) return;
    machine_init(&m, &config);
    for (size_t length = 1 + (size_t)((uint64_t)v[0] >> 32) % 64; at < n; at += length) {
        size_t left = n - at;
        size_t got = machine_run(&m, v + at, left < length ? left : length, reply);
        INVARIANT(got <= MACHINE_MAX_REPLY);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_case(data, size);
    check_machine(data, size);
    return 0;
}
