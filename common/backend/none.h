/* none.h: a backend that computes nothing: every sequence continues with one filler token.
 *
 * For load tests of the server, which then measure everything but the model, and for runs in
 * virtual time. Answers carry no information, so their quality is not_evaluated.
 */
#ifndef SERVELAB_BACKEND_NONE_H
#define SERVELAB_BACKEND_NONE_H

#include "backend/backend.h"

/* limits->name, kv_bytes_per_token and weight_bytes are ignored; the other members are the
 * backend's limits. filler: the token id that every step answers, within the vocabulary. The caller
 * frees it with backend_free. NULL and *e when memory is out or a limit is below 1. */
struct backend *backend_none_create(const struct backend_info *limits, int32_t filler,
                                    struct err *e);

#endif
