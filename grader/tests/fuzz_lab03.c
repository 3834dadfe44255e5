/* fuzz_lab03.c: any bytes as a kernel file, as the compiler's assembly, as an object, as the
 * checking runtime's report, and as a launch on the wire: refused with words, or read within
 * bounds. See testing/fuzz.h for the two ways to run it. */
#include "lab03/kernel_object.h"
#include "lab03/kernel_wire.h"
#include "lab03/report.h"
#include "lab03/source.h"

#include "testing/fuzz.h"

static void check_wire(const uint8_t *data, size_t size) {
    static struct kernel_question q;
    struct wire w = wire_reader(data, size);
    memset(&q, 0, sizeof q);
    kernel_question_codec(&w, &q);
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
    if (report_read(text, size, "copy", true, finding, sizeof finding, &counts, &e))
        INVARIANT(e.text[0]);
    else
        for (int i = 0; i < KERNEL_COUNTERS; i++)
            INVARIANT(i == KERNEL_CONFLICTS || counts.value[i] >= 0);
    INVARIANT(memchr(finding, '\0', sizeof finding));
    finding[0] = '\0';
    report_from_output(text, size, true, finding, sizeof finding);
    INVARIANT(memchr(finding, '\0', sizeof finding));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct err e = {0};
    char *text = malloc(size + 1); /* exactly: a read beyond it is seen */
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (source_check("copy.cu", text, size, &e)) INVARIANT(!strncmp(e.text, "copy.cu:", 8));
    INVARIANT(source_line_of(text, size, "copy") >= 0);
    if (kernel_check_assembly("copy.cu", text, size, &e)) INVARIANT(e.text[0]);
    if (kernel_check_symbols("copy.cu", "copy", data, size, text, size, &e)) INVARIANT(e.text[0]);
    check_report(text, size);
    check_wire(data, size);
    free(text);
    return 0;
}
