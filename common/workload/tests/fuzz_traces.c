/* fuzz_traces.c: any bytes as a trace: refused with a line and a message, or rows that are sorted,
 * within limits, and the same ones that reading line by line gives. The first byte chooses the
 * format. See testing/fuzz.h for the two ways to run it. */
#include "workload/traces_internal.h"

#include "testing/fuzz.h"
#include "workload/spec.h"

#include "trace_text.h"

static void check_rows(const struct trace *t) {
    int64_t zero = 0, prompt = 0, output = 0;
    INVARIANT(t->n >= 1 && t->rows[0].at_ns == 0 && t->facts.rows == t->n);
    for (int64_t i = 0; i < t->n; i++) {
        const struct trace_row *r = &t->rows[i];
        INVARIANT(i == 0 || r[-1].at_ns < r->at_ns ||
                  (r[-1].at_ns == r->at_ns && r[-1].line < r->line));
        INVARIANT(r->prompt_tokens >= 1 && r->prompt_tokens <= SPEC_MAX_TOKENS);
        INVARIANT(r->output_tokens >= 1 && r->output_tokens <= t->longest_output);
        INVARIANT(r->n_prefix >= 0 && r->prefix_at + r->n_prefix <= t->n_prefixes);
        for (int32_t k = 0; k < r->n_prefix; k++) INVARIANT(t->prefixes[r->prefix_at + k] != 0);
        zero += r->prompt_tokens == 1 || r->output_tokens == 1; /* at least those kept with one */
        prompt += r->prompt_tokens;
        output += r->output_tokens;
    }
    INVARIANT(t->facts.zero_token_rows <= zero);
    INVARIANT(prompt - t->facts.prompt_tokens <= zero && prompt >= t->facts.prompt_tokens);
    INVARIANT(output - t->facts.output_tokens <= zero && output >= t->facts.output_tokens);
}

/* Each line by itself, in memory of just its size: good ones, and bad ones in *bad. */
static int64_t rows_line_by_line(enum trace_format format, const char *text, size_t n,
                                 int64_t *bad) {
    struct trace t = {0};
    struct csv_columns columns;
    bool first = true, has_columns = format == TRACE_MOONCAKE;
    int64_t good = 0;
    *bad = 0;
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t whole = end ? (size_t)(end - text) + 1 : n, len = whole - (end != NULL), skip = 0;
        if (len > 0 && text[len - 1] == '\r') len--;
        if (first && len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) skip = 3;
        first = false;
        char *line = malloc(len - skip ? len - skip : 1);
        INVARIANT(line != NULL);
        memcpy(line, text + skip, len - skip);
        struct trace_row row = {0};
        struct err e = {0};
        int rc = 0;
        if (len - skip > 0) {
            if (!has_columns) {
                rc = csv_header(format, line, len - skip, &columns, &e);
                has_columns = true;
                if (rc) n = whole; /* the last line that counts */
            } else {
                rc = format == TRACE_MOONCAKE
                         ? mooncake_row(&t, line, len - skip, &row, &e)
                         : csv_row(format, &columns, line, len - skip, &row, &e);
                good += rc == 0;
                *bad += rc != 0;
            }
            INVARIANT(rc == 0 || e.text[0]);
        }
        free(line);
        text += whole;
        n -= whole;
    }
    trace_clear(&t);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    enum trace_format format = (enum trace_format)(data[0] & 3);
    const char *text = (const char *)data + 1;
    size_t n = size - 1;
    int lines = 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    struct trace strict, lenient;
    struct err e = {0}, unread = {0};
    int rc = trace_of_text(&strict, text, n, format, false, &e);
    int rc_skip = trace_of_text(&lenient, text, n, format, true, &unread);
    int64_t bad, good = rows_line_by_line(format, text, n, &bad);
    if (rc) {
        INVARIANT(e.text[0] && e.line >= 0 && e.line <= lines && !strict.rows && !strict.prefixes);
    } else {
        INVARIANT(rc_skip == 0 && strict.n == lenient.n && lenient.facts.skipped == 0);
        check_rows(&strict);
    }
    if (rc_skip) {
        INVARIANT(rc && good == 0 && !lenient.rows);
    } else {
        INVARIANT(lenient.n == good && lenient.facts.skipped == bad);
        INVARIANT((rc != 0) == (bad > 0) &&
                  (bad == 0 || lenient.facts.first_skipped_line == e.line));
        check_rows(&lenient);
    }
    trace_clear(&strict);
    trace_clear(&lenient);
    return 0;
}
