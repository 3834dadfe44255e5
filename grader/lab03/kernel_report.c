/* kernel_report.c: see kernel_report.h. */
#include "lab03/kernel_report.h"

#include "base/text.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_finding(const char *kind, const char *file, int64_t line, const char *message,
                        bool practice, char *finding, size_t cap) {
    char clean[300], shown_kind[40], shown_file[80];
    if (finding[0]) return;
    text_clean(shown_kind, sizeof shown_kind, kind, strlen(kind));
    text_clean(shown_file, sizeof shown_file, base_name(file), strlen(base_name(file)));
    text_clean(clean, sizeof clean, message, strlen(message));
    if (practice)
        text_append(finding, cap, "%s:%lld: %s: %s", shown_file, (long long)line, shown_kind,
                    clean);
    else if (!strcmp(kind, "time-limit")) /* the trial looks for it */
        text_append(finding, cap, "%s: %s", shown_file, shown_kind);
    else /* a line, or a kind, could tell of the hidden data: the kernel chooses where it fails */
        text_append(finding, cap, "%s: a finding of the checks; a practice seed shows it",
                    shown_file);
}

static int read_errors(const cJSON *doc, bool practice, char *finding, size_t cap, struct err *e) {
    const cJSON *list, *one;
    if (json_get_array(doc, "", "errors", &list, e)) return -1;
    cJSON_ArrayForEach(one, list) {
        const char *kind, *file, *message;
        int64_t line;
        if (json_get_string(one, "errors", "kind", &kind, e) ||
            json_get_string(one, "errors", "file", &file, e) ||
            json_get_string(one, "errors", "message", &message, e) ||
            json_get_int(one, "errors", "line", 0, 1 << 24, &line, e))
            return -1;
        put_finding(kind, file, line, message, practice, finding, cap);
    }
    return 0;
}

static int add(const cJSON *k, const char *key, int64_t times, int64_t *to, struct err *e) {
    int64_t v;
    if (json_get_int(k, "kernels", key, 0, INT64_C(1) << 46, &v, e)) return -1;
    *to += v * times;
    return 0;
}

/* An atomic counts as a request and as the sectors that it moves. */
static int read_counts(const cJSON *k, struct kernel_counts *c, struct err *e) {
    int64_t dropped = 0, *v = c->value;
    bool found;
    memset(c, 0, sizeof *c);
    if (json_get_int_opt(k, "kernels", "records_dropped", 0, INT64_C(1) << 46, &dropped, &found, e))
        return -1;
    if (dropped > 0)
        return err_set(e, "it makes more accesses between two barriers than can be counted");
    return add(k, "global_load_sectors", 32, &v[KERNEL_BYTES], e) ||
                   add(k, "global_store_sectors", 32, &v[KERNEL_BYTES], e) ||
                   add(k, "global_atomic_sectors", 32, &v[KERNEL_BYTES], e) ||
                   add(k, "global_load_requests", 1, &v[KERNEL_REQUESTS], e) ||
                   add(k, "global_store_requests", 1, &v[KERNEL_REQUESTS], e) ||
                   add(k, "global_atomic_requests", 1, &v[KERNEL_REQUESTS], e) ||
                   add(k, "shared_wavefronts", 1, &v[KERNEL_WAVEFRONTS], e) ||
                   add(k, "shared_wavefronts", 1, &v[KERNEL_CONFLICTS], e) ||
                   add(k, "shared_wavefronts_ideal", -1, &v[KERNEL_CONFLICTS], e) ||
                   add(k, "barriers", 1, &v[KERNEL_BARRIERS], e)
               ? -1
               : 0;
}

static int read_kernel(const cJSON *doc, const char *kernel, struct kernel_counts *counts,
                       struct err *e) {
    const cJSON *list, *one;
    const char *name;
    if (json_get_array(doc, "", "kernels", &list, e)) return -1;
    cJSON_ArrayForEach(one, list) {
        if (json_get_string(one, "kernels", "name", &name, e)) return -1;
        if (!strcmp(name, kernel)) return counts ? read_counts(one, counts, e) : 0;
    }
    return err_set(e, "the kernel isn't in it");
}

int lab03_report_read(const char *text, size_t n, const char *kernel, bool practice, char *finding,
                      size_t cap, struct kernel_counts *counts, struct err *e) {
    cJSON *doc = json_parse(text, n, 1, e);
    if (!doc) return -1;
    int rc = read_errors(doc, practice, finding, cap, e);
    /* a refused launch leaves a finding and no counts */
    if (!rc && !(finding[0] && !counts)) rc = read_kernel(doc, kernel, counts, e);
    cJSON_Delete(doc);
    return rc;
}

/* "simt: error: out-of-bounds: rmsnorm.cu:17: kernel rmsnorm: text" */
static void finding_line(const char *p, const char *end, bool practice, char *finding, size_t cap) {
    char line[400], *kind = line, *rest = NULL;
    size_t n = (size_t)(end - p) < sizeof line - 1 ? (size_t)(end - p) : sizeof line - 1;
    memcpy(line, p, n);
    line[n] = '\0';
    char *file = strstr(kind, ": ");
    if (!file) return;
    *file = '\0';
    file += 2;
    char *place = strchr(file, ':');
    if (!place) return;
    *place = '\0';
    long number = strtol(place + 1, &rest, 10);
    put_finding(kind, file, number, rest[0] == ':' && rest[1] ? rest + 2 : rest, practice, finding,
                cap);
}

void lab03_report_from_output(const char *output, size_t n, bool practice, char *finding,
                              size_t cap) {
    static const char mark[] = "simt: error: ", bounds[] = "bounds: ";
    const char *end = output + n;
    for (const char *p = output; p && p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop) stop = end;
        if ((size_t)(stop - p) > sizeof mark && !memcmp(p, mark, sizeof mark - 1)) {
            finding_line(p + sizeof mark - 1, stop, practice, finding, cap);
        } else if ((size_t)(stop - p) > sizeof bounds && !memcmp(p, bounds, sizeof bounds - 1)) {
            const char *file = p + sizeof bounds - 1;
            const char *colon = memchr(file, ':', (size_t)(stop - file));
            char name[80] = "";
            if (colon) snprintf(name, sizeof name, "%.*s", (int)(colon - file), file);
            put_finding("out-of-bounds", name, colon ? atoi(colon + 1) : 0,
                        "an index past the end of an array", practice, finding, cap);
        }
        p = stop + 1;
    }
}
