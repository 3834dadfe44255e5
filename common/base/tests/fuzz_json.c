/* fuzz_json.c: any bytes as JSON: refused with a message, or a tree that prints, reads back and
 * prints the same. See testing/fuzz.h for the two ways to run it. */
#include "base/json.h"
#include "base/json_scan.h"
#include "testing/fuzz.h"

/* What the scan accepts cJSON must accept, and what we print we must read. */
static void check_accepted(const char *text, size_t n) {
    struct err e = {0};
    cJSON *tree = json_parse(text, n, 1, &e);
    INVARIANT(tree != NULL);
    char *once = json_print(tree);
    INVARIANT(once != NULL);
    cJSON *again = json_parse(once, strlen(once), 1, &e);
    INVARIANT(again != NULL);
    char *twice = json_print(again);
    INVARIANT(twice != NULL && !strcmp(once, twice));
    INVARIANT(!strchr(once, '\n'));
    cJSON_free(once);
    cJSON_free(twice);
    cJSON_Delete(tree);
    cJSON_Delete(again);
}

static void check_refused(const char *text, size_t n, const struct err *e, bool cut_off) {
    int lines = 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    INVARIANT(e->text[0] && e->line >= 1 && e->line <= lines);
    struct err unread;
    INVARIANT(json_parse(text, n, 1, &unread) == NULL);
    INVARIANT(unread.line == e->line && !strcmp(unread.text, e->text));
    if (!cut_off) return;
    /* white space is not what is missing */
    char *longer = malloc(n + 1);
    INVARIANT(longer != NULL);
    memcpy(longer, text, n);
    longer[n] = ' ';
    INVARIANT(json_parse(longer, n + 1, 1, NULL) == NULL);
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    struct json_scan_result scan;
    struct err e = {0};
    if (json_scan(text, size, 1, &scan, &e)) {
        INVARIANT(!scan.literals && !scan.n_literals);
        check_refused(text, size, &e, scan.cut_off);
        return 0;
    }
    free(scan.literals);
    check_accepted(text, size);
    static const char *const paths[] = {"a", "a[1].b", "[0]", "events[2].t_ns", "", "a.b.c"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        INVARIANT(json_line_of(text, size, 7, paths[i]) >= 7);
    return 0;
}
