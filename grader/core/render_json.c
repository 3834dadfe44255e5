/* render_json.c: the verdict as JSON, schema "servelab.grade.v1". See render.h. Empty texts are
 * left out; points and counts are integers. */
#include "core/render.h"

#include <cjson/cJSON.h>
#include <string.h>

static void add_text(cJSON *o, const char *key, const char *text) {
    if (text && text[0]) cJSON_AddStringToObject(o, key, text);
}

/* One element for each line. */
static void add_lines(cJSON *o, const char *key, const char *text) {
    cJSON *list = cJSON_AddArrayToObject(o, key);
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        char line[800];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n"), p);
        cJSON_AddItemToArray(list, cJSON_CreateString(line));
    }
}

static void add_totals(cJSON *o, struct totals t) {
    cJSON_AddNumberToObject(o, "points_earned", t.earned);
    cJSON_AddNumberToObject(o, "points_total", t.total);
    cJSON_AddNumberToObject(o, "points_of_grader_faults", t.faults);
}

static void add_check(cJSON *list, const struct check_result *c) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(list, o);
    add_text(o, "id", c->id);
    add_text(o, "dimension", dimension_name(c->dimension));
    add_text(o, "title", c->title);
    add_text(o, "outcome", outcome_name(c->outcome));
    cJSON_AddNumberToObject(o, "points", c->points);
    cJSON_AddNumberToObject(o, "points_earned", c->outcome == OUTCOME_EARNED ? c->points : 0);
    cJSON_AddNumberToObject(o, "cases", c->cases);
    cJSON_AddNumberToObject(o, "cases_right", c->cases_right);
    cJSON_AddBoolToObject(o, "todo", c->todo);
    add_text(o, "message", c->message);
    add_text(o, "kind", c->kind);
    add_text(o, "input", c->input);
    add_text(o, "got", c->got);
    add_text(o, "want", c->want);
    add_text(o, "printed", c->printed);
    add_text(o, "file", c->file);
    add_text(o, "section", c->section);
    add_text(o, "rerun", c->rerun);
    add_text(o, "hint", c->hint);
    add_text(o, "note", c->note);
}

int render_json(const struct grade_verdict *v, FILE *out) {
    cJSON *root = cJSON_CreateObject();
    struct totals t = verdict_totals(v);
    add_text(root, "schema", "servelab.grade.v1");
    add_text(root, "grader_version", GRADER_VERSION);
    add_text(root, "lab", v->lab);
    add_text(root, "submission", v->folder);
    if (v->practice) cJSON_AddNumberToObject(root, "seed", (double)v->seed);
    add_text(root, "seed_kind", v->practice ? "practice" : "instructor");
    add_text(root, "sandbox", v->sandbox);
    if (v->counting[0]) add_text(root, "counting", v->counting);
    add_text(root, "machine_class", v->machine_class);
    cJSON_AddBoolToObject(root, "attempted", v->attempted);
    cJSON_AddBoolToObject(root, "complete", t.complete);
    cJSON_AddBoolToObject(root, "partial", v->partial);
    add_totals(root, t);
    cJSON_AddNumberToObject(root, "exit_status", verdict_exit_status(v));
    add_text(root, "problem", v->problem);
    add_text(root, "warnings", v->warnings);
    add_lines(root, "to_read", v->to_read);
    cJSON *dimensions = cJSON_AddArrayToObject(root, "dimensions");
    for (int d = 0; d < DIM_N; d++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(dimensions, o);
        add_text(o, "name", dimension_name((enum dimension)d));
        add_totals(o, verdict_dimension_totals(v, (enum dimension)d));
    }
    cJSON *checks = cJSON_AddArrayToObject(root, "checks");
    for (size_t i = 0; i < v->n; i++) add_check(checks, &v->checks[i]);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (!text) return -1;
    fprintf(out, "%s\n", text);
    cJSON_free(text);
    return 0;
}
