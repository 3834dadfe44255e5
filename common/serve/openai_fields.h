/* openai_fields.h: typed reading of a request's fields, shared by the files that read requests
 * (openai.c). Private to serve/.
 *
 * Each function reads one value that is not null. It returns 0, or -1 with *e naming `name`.
 */
#ifndef SERVELAB_SERVE_OPENAI_FIELDS_H
#define SERVELAB_SERVE_OPENAI_FIELDS_H

#include "serve/openai.h"

typedef int field_reader(struct openai_request *r, const cJSON *v, const char *name, struct err *e);

/* "a string", "an array", ...: for messages. */
const char *field_type(const cJSON *v);
int field_wrong_type(const cJSON *v, const char *name, const char *want, struct err *e);
int field_bool(const cJSON *v, const char *name, bool *out, struct err *e);
int field_int(const cJSON *v, const char *name, int64_t lo, int64_t hi, int64_t *out,
              struct err *e);
int field_real(const cJSON *v, const char *name, double lo, double hi, double *out, struct err *e);
/* A string without NUL. */
int field_string(const cJSON *v, const char *name, struct err *e);

field_reader read_messages;                /* openai_messages.c */
field_reader read_tools, read_tool_choice; /* openai_tools.c */

/* How tokens are chosen (openai_sampling.c). */
field_reader read_temperature, read_top_p, read_top_k, read_min_p, read_seed, read_min_tokens,
    read_presence_penalty, read_frequency_penalty, read_repetition_penalty, read_logit_bias;

#endif
