/* annotate.c: prints the source with the counts of a checked run in its margin.
 *
 * A line whose count is above its ideal is followed by a line of advice with the metric's name.
 */
#include "command.h"
#include "report_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Advice above these; the edge of a matrix is a few per cent over the ideal. */
static const double SECTORS_TOO_MANY = 1.25, WAVES_TOO_MANY = 1.25;

struct margin { /* of one line, summed over kernels */
    double requests, sectors, ideal, shared, waves, ideal_waves, barriers, divergent, atomics;
};

static void margin_add(struct margin *m, const cJSON *line) {
    m->requests +=
        report_count(line, "global_load_requests") + report_count(line, "global_store_requests");
    m->sectors +=
        report_count(line, "global_load_sectors") + report_count(line, "global_store_sectors");
    m->ideal += report_count(line, "global_load_sectors_ideal") +
                report_count(line, "global_store_sectors_ideal");
    m->shared += report_count(line, "shared_requests");
    m->waves += report_count(line, "shared_wavefronts");
    m->ideal_waves += report_count(line, "shared_wavefronts_ideal");
    m->barriers += report_count(line, "barriers");
    m->divergent += report_count(line, "divergent_branches");
    m->atomics += report_count(line, "global_atomic_requests");
}

static struct margin margin_of(const cJSON *report, const char *file, int number) {
    struct margin m = {0};
    const cJSON *kernel, *line;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(report, "kernels")) cJSON_ArrayForEach(
        line, cJSON_GetObjectItem(kernel, "lines")) if ((int)report_count(line, "line") == number &&
                                                        strcmp(report_text(line, "file"), file) ==
                                                            0) margin_add(&m, line);
    return m;
}

/* Whether `path` is the file that the report calls `name`. The report has the name that the
 * compiler was given; seen from another folder the path ends in that name. */
static bool path_is_of(const char *path, const char *name) {
    size_t p = strlen(path), n = strlen(name);
    if (n == 0 || p < n || strcmp(path + p - n, name) != 0) return false;
    return p == n || path[p - n - 1] == '/';
}

static void print_margin(const struct margin *m) {
    char global[24] = "", shared[24] = "", other[24] = "";
    if (m->requests + m->atomics > 0)
        snprintf(global, sizeof global, "%.0f x %.1f", m->requests + m->atomics,
                 m->requests > 0 ? m->sectors / m->requests : 0);
    if (m->shared > 0)
        snprintf(shared, sizeof shared, "%.0f x %.1f", m->shared, m->waves / m->shared);
    if (m->barriers > 0)
        snprintf(other, sizeof other, "%.0f bar", m->barriers);
    else if (m->divergent > 0)
        snprintf(other, sizeof other, "%.0f div", m->divergent);
    printf("%14s %14s %10s | ", global, shared, other);
}

static void print_advice(const struct margin *m) {
    static const char indent[] = "                                          |   ^ ";
    if (m->requests > 0 && m->sectors > SECTORS_TOO_MANY * m->ideal)
        printf("%s%.1f sectors a request where %.1f would do: let neighbouring threads touch "
               "neighbouring addresses (l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum, _st.sum)\n",
               indent, m->sectors / m->requests, m->ideal / m->requests);
    if (m->shared > 0 && m->waves > WAVES_TOO_MANY * m->ideal_waves)
        printf("%s%.1f wavefronts a request where %.1f would do: lanes meet in one bank; pad the "
               "row by one element or swap the indices "
               "(l1tex__data_pipe_lsu_wavefronts_mem_shared.sum)\n",
               indent, m->waves / m->shared, m->ideal_waves / m->shared);
}

static void print_errors(const cJSON *report, const char *file, int number) {
    const cJSON *e;
    cJSON_ArrayForEach(
        e, cJSON_GetObjectItem(report, "errors")) if ((int)report_count(e, "line") == number &&
                                                      strcmp(report_text(e, "file"), file) == 0)
        printf("%42s!   ^ %s: %s\n", "", report_text(e, "kind"), report_text(e, "message"));
}

/* Prints the text at `path` with the counts of the file that the report calls `file`. */
static int annotate_file(const cJSON *report, const char *file, const char *path) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    if (!f) {
        fprintf(stderr,
                "simtcc: can't read %s, which the report names: give the file's path after the "
                "report's, or run simtcc --annotate in the folder that it was compiled in\n",
                path);
        return 2;
    }
    printf("%s\n%14s %14s %10s |\n%14s %14s %10s |\n", path, "global", "shared", "", "requests x",
           "requests x", "barriers");
    printf("%14s %14s %10s |\n", "sectors each", "waves each", "divergent");
    for (int number = 1; getline(&text, &room, f) >= 0; number++) {
        struct margin m = margin_of(report, file, number);
        print_margin(&m);
        printf("%4d  %s%s", number, text, strchr(text, '\n') ? "" : "\n");
        print_errors(report, file, number);
        print_advice(&m);
    }
    free(text);
    fclose(f);
    return 0;
}

static void print_kernels(const cJSON *report) {
    const cJSON *k;
    cJSON_ArrayForEach(k, cJSON_GetObjectItem(report, "kernels")) {
        double sectors = report_count(k, "global_load_sectors") +
                         report_count(k, "global_store_sectors") +
                         report_count(k, "global_atomic_sectors");
        double footprint = report_count(k, "footprint_bytes");
        printf("kernel %s: %.0f launches, %.0f bytes moved, %.0f at least (ratio %.2f), %.0f "
               "barriers\n",
               report_text(k, "name"), report_count(k, "launches"), 32 * sectors, footprint,
               footprint > 0 ? 32 * sectors / footprint : 0, report_count(k, "barriers"));
    }
}

int annotate_main(int argc, char **argv) {
    if (argc < 1 || argc > 2) {
        fputs("simtcc: --annotate REPORT.json [FILE.cu]\n", stderr);
        return 2;
    }
    cJSON *report = report_read(argv[0]);
    if (!report) return 2;
    int rc = 0;
    const char *done[64];
    int count = 0;
    const cJSON *kernel, *line;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(report, "kernels"))
        cJSON_ArrayForEach(line, cJSON_GetObjectItem(kernel, "lines")) {
        const char *file = report_text(line, "file");
        int i = 0;
        while (i < count && strcmp(done[i], file) != 0) i++;
        if (i < count || count == 64 || (argc == 2 && !path_is_of(argv[1], file)) ||
            strcmp(file, "?") == 0)
            continue;
        done[count++] = file;
        if (rc == 0) rc = annotate_file(report, file, argc == 2 ? argv[1] : file);
    }
    if (argc == 2 && count == 0) {
        fprintf(stderr, "simtcc: the report %s has no line of %s\n", argv[0], argv[1]);
        rc = 2;
    }
    if (rc == 0) print_kernels(report);
    cJSON_Delete(report);
    return rc;
}
