/* to_read.c: see to_read.h. */
#include "core/to_read.h"

#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names, paths and choices are shorter. The members that the labs ask for count with any text. */
static bool is_sentence(const char *member, const char *text) {
    static const char *const asked[] = {"statement", "reason", "conclusion", "why"};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (member && !strcmp(member, asked[i])) return true;
    return n > 30 || (n > 20 && strchr(text, ' '));
}

/* Appends every sentence below v, in the order of the file: "record.json: statement: TEXT". */
static void walk(const cJSON *v, const char *file, const char *path, struct grade_verdict *out) {
    char below[160], line[700], shown[600];
    int i = 0;
    if (cJSON_IsString(v) && is_sentence(v->string, v->valuestring)) {
        text_clean(shown, sizeof shown, v->valuestring, strlen(v->valuestring));
        snprintf(line, sizeof line, "%.60s: %.100s: %.500s\n", file, path, shown);
        text_append(out->to_read, sizeof out->to_read, "%s", line);
    }
    for (const cJSON *child = v->child; child; child = child->next, i++) {
        if (child->string)
            snprintf(below, sizeof below, "%.100s%s%.50s", path, path[0] ? "." : "", child->string);
        else
            snprintf(below, sizeof below, "%.140s[%d]", path, i);
        walk(child, file, below, out);
    }
}

void to_read_collect(const struct lab *lab, const struct workplace *w, struct grade_verdict *out) {
    for (size_t i = 0; i < lab->n_files; i++) {
        const struct lab_file *f = &lab->files[i];
        size_t n = 0;
        struct err e;
        if (f->code || strchr(f->name, '/') || w->file[i].state != FILE_OK) continue;
        char *text = collect_read(w->src, f->name, COLLECT_MAX_DATA_BYTES, &n);
        cJSON *doc = text ? json_parse(text, n, 1, &e) : NULL;
        if (doc) walk(doc, f->name, "", out);
        cJSON_Delete(doc);
        free(text);
    }
}
