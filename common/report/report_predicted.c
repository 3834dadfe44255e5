/* report_predicted.c: see report_predicted.h. */
#include "report/report_predicted.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define SWEEP_SCHEMA "servelab.sweep.v1"

/* {"ns", "infinite"} of the sweep's percentile `from`. */
static int add_percentile(cJSON *o, const char *key, const cJSON *point, const char *from,
                          struct err *e) {
    const cJSON *p;
    double ns = 0;
    bool infinite, found = false;
    if (json_get_object(point, "points", from, &p, e) ||
        json_get_bool(p, from, "infinite", &infinite, e) ||
        json_get_number_opt(p, from, "ns", &ns, &found, e))
        return -1;
    cJSON *made = cJSON_AddObjectToObject(o, key);
    if (found && !infinite && ns >= 0 && ns <= (double)JSON_MAX_INT)
        json_add_int(made, "ns", (int64_t)ns);
    else
        cJSON_AddNullToObject(made, "ns");
    cJSON_AddBoolToObject(made, "infinite", infinite);
    return 0;
}

static int add_point(cJSON *points, const cJSON *from, struct err *e) {
    double offered_rps;
    if (json_get_number(from, "points", "offered_rps", &offered_rps, e)) return -1;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(points, o);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(o, "rates"), "offered_rps", offered_rps);
    cJSON *latency = cJSON_AddObjectToObject(o, "latency");
    cJSON *ttft = cJSON_AddObjectToObject(latency, "client_ttft");
    cJSON *e2e = cJSON_AddObjectToObject(latency, "e2e");
    return add_percentile(ttft, "p50", from, "ttft_p50", e) ||
                   add_percentile(ttft, "p99", from, "ttft_p99", e) ||
                   add_percentile(e2e, "p99", from, "e2e_p99", e)
               ? -1
               : 0;
}

static int read_sweep(cJSON *out, const cJSON *sweep, struct err *e) {
    const char *schema, *machine, *policy;
    const cJSON *policies, *points, *p;
    if (json_get_string(sweep, "", "schema", &schema, e)) return -1;
    if (strcmp(schema, SWEEP_SCHEMA) != 0)
        return err_at(e, 0, "schema",
                      "is '%.60s', not '" SWEEP_SCHEMA "': take sweep.json of `servelab sim sweep`",
                      schema);
    if (json_get_string(sweep, "", "machine", &machine, e) ||
        json_get_array(sweep, "", "policies", &policies, e))
        return -1;
    if (!policies->child) return err_at(e, 0, "policies", "is empty");
    if (json_get_string(policies->child, "policies[0]", "policy", &policy, e) ||
        json_get_array(policies->child, "policies[0]", "points", &points, e))
        return -1;
    cJSON_AddStringToObject(out, "machine", machine);
    cJSON_AddStringToObject(out, "policy", policy);
    cJSON *made = cJSON_AddArrayToObject(out, "points");
    cJSON_ArrayForEach(p, points) if (add_point(made, p, e)) return -1;
    return 0;
}

cJSON *report_predicted_read(const char *path, struct err *e) {
    cJSON *sweep = json_parse_file(path, e), *out = sweep ? cJSON_CreateObject() : NULL;
    if (sweep && read_sweep(out, sweep, e)) {
        cJSON_Delete(out);
        out = NULL;
    }
    cJSON_Delete(sweep);
    return out;
}
