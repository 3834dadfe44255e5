/* fuzz_lab03.c: any bytes, as a kernel file, as the compiler's assembly, as an object, as the
 * checking runtime's report, and as a case and a launch on the channel: refused with a message, or
 * read within bounds. testing/fuzz.h names the two ways to run it. */
#include "lab03/cases.h"
#include "lab03/kernel_object.h"
#include "lab03/kernel_report.h"
#include "lab03/kernel_source.h"
#include "lab03/kernel_wire.h"

#include "testing/fuzz.h"

static void check_case(const uint8_t *data, size_t size) {
    static unsigned char again[WIRE_MAX_PAYLOAD];
    static struct lab03_case c;
    struct wire r = wire_reader(data, size), w = wire_writer(again, sizeof again);
    if (lab03_case_codec(&r, &c)) return;
    INVARIANT(c.n_runs <= CASE_MAX_RUNS && c.n_values <= CASE_MAX_VALUES);
    INVARIANT(lab03_case_codec(&w, &c) == 0);
}

static void check_wire(const uint8_t *data, size_t size) {
    static struct lab03_launch q;
    struct wire w = wire_reader(data, size);
    memset(&q, 0, sizeof q);
    lab03_launch_codec(&w, &q);
    if (w.bad) return;
    INVARIANT(q.n_params >= 0 && q.n_params <= KERNEL_WIRE_PARAMS);
    for (int i = 0; i < q.n_params; i++) {
        const uint8_t *at = q.param[i].data;
        if (q.param[i].kind != KWIRE_INPUT) continue;
        INVARIANT(at >= data && q.param[i].bytes <= (size_t)(data + size - at));
    }
}

static void check_report(const char *text, size_t size) {
    struct kernel_counts counts;
    char finding[200] = "";
    struct err e = {0};
    if (lab03_report_read(text, size, "copy", true, finding, sizeof finding, &counts, &e))
        INVARIANT(e.text[0]);
    else
        for (int i = 0; i < KERNEL_COUNTERS; i++)
            INVARIANT(i == KERNEL_CONFLICTS || counts.value[i] >= 0);
    INVARIANT(memchr(finding, '\0', sizeof finding));
    finding[0] = '\0';
    lab03_report_from_output(text, size, true, finding, sizeof finding);
    INVARIANT(memchr(finding, '\0', sizeof finding));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct err e = {0};
    char *text = malloc(size + 1); /* of the exact size, so that a read beyond it is detected */
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (lab03_source_check("copy.cu", text, size, &e)) INVARIANT(!strncmp(e.text, "copy.cu:", 8));
    INVARIANT(lab03_source_line_of(text, size, "copy") >= 0);
    if (lab03_kernel_check_assembly("copy.cu", text, size, &e)) INVARIANT(e.text[0]);
    if (lab03_kernel_check_symbols("copy.cu", "copy", data, size, text, size, &e))
        INVARIANT(e.text[0]);
    check_report(text, size);
    check_wire(data, size);
    check_case(data, size);
    free(text);
    return 0;
}
