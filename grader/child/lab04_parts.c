/* child/lab04_parts.c: what the engine's other files need besides the learner's: a tokenizer with
 * one character a token, no energy meter, no connection and no log. */
#include "child/lab04_engine.h"

#include "backend/energy.h"
#include "backend/paced.h"
#include "serve/engine.h"

#include <stdlib.h>

bool tokenizer_ends(const struct tokenizer *t, int32_t id) {
    (void)t;
    return id == MACHINE_END;
}

int32_t tokenizer_vocab_size(const struct tokenizer *t) {
    (void)t;
    return MACHINE_VOCAB;
}

const char *tokenizer_token_bytes(const struct tokenizer *t, int32_t id, bool special, size_t *n) {
    (void)special;
    *n = id >= 0 && id < MACHINE_VOCAB;
    return *n ? &t->text[id] : "";
}

size_t detokenize(const struct tokenizer *t, struct detokenizer *d, int32_t id, char *out) {
    (void)d;
    if (id < 0 || id >= MACHINE_VOCAB) return 0;
    *out = t->text[id];
    return 1;
}

size_t detokenize_end(struct detokenizer *d, char *out) {
    (void)d;
    (void)out;
    return 0;
}

/* No meter, no connection and no log: nothing here is ever called with one. */
double energy_joules(struct energy_meter *m) {
    (void)m;
    return 0;
}

void MHD_suspend_connection(struct MHD_Connection *c);
void MHD_resume_connection(struct MHD_Connection *c);
void MHD_suspend_connection(struct MHD_Connection *c) {
    (void)c;
}
void MHD_resume_connection(struct MHD_Connection *c) {
    (void)c;
}
void live_share(struct records *rs, struct live_record *l) {
    (void)rs;
    (void)l;
}
void live_end(struct records *rs, struct live_record *l) {
    (void)rs;
    (void)l;
}
struct sim_work backend_work(const struct backend_batch *batch) {
    (void)batch;
    abort();
}
void step_log_add(struct step_log *log, const struct step *s) {
    (void)log;
    (void)s;
    abort();
}
