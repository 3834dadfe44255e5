/* fuzz_lab01.c: any bytes as a case of lab 01 on the channel: refused, or read within the bounds of
 * lab01/cases.h and written again. testing/fuzz.h names the two ways to run it. */
#include "lab01/cases.h"

#include "testing/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static unsigned char again[WIRE_MAX_PAYLOAD];
    struct lab01_case c;
    struct wire r = wire_reader(data, size), w = wire_writer(again, sizeof again);
    if (lab01_case_codec(&r, &c)) return 0;
    INVARIANT(lab01_case_slots(&c) >= 1 && lab01_case_slots(&c) <= CASE_MAX_SLOTS);
    INVARIANT(lab01_case_codec(&w, &c) == 0);
    lab01_case_release(&c);
    return 0;
}
