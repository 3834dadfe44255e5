/* report_file.c: see report_file.h. */
#include "report_file.h"

#include "base/err.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

cJSON *report_read(const char *path) {
    struct err e = {0};
    char text[1024];
    cJSON *tree = json_parse_file(path, &e);
    if (!tree) {
        fprintf(stderr, "simtcc: %s\n", err_format(&e, path, text, sizeof text));
        return NULL;
    }
    if (strcmp(report_text(tree, "schema"), "servelab.simt-report.v1") == 0) return tree;
    fprintf(stderr,
            "simtcc: %s is not a report of a checked program: run the program with SIMT_REPORT=%s "
            "first\n",
            path, path);
    cJSON_Delete(tree);
    return NULL;
}

double report_count(const cJSON *object, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

const char *report_text(const cJSON *object, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(v) ? v->valuestring : "";
}
