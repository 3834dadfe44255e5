/* fuzz_openai.c: any bytes as the body of a completion request: refused with a message, or accepted
 * and then within every bound that openai.h states. See testing/fuzz.h for the two ways to run it.
 */
#include "serve/openai.h"
#include "testing/fuzz.h"

#include <math.h>

enum { VOCAB = 1000 };

static void check(const struct openai_request *r) {
    INVARIANT(r->model);
    INVARIANT(isfinite(r->sampling.temperature) && r->sampling.temperature >= 0 &&
              r->sampling.temperature <= 2);
    INVARIANT(r->sampling.top_p > 0 && r->sampling.top_p <= 1);
    INVARIANT(r->max_tokens >= (r->echo ? 0 : 1) || r->max_tokens == -1);
    INVARIANT(r->n_stops >= 0 && r->n_stops <= ANSWER_MAX_STOPS);
    for (int32_t i = 0; i < r->n_stops; i++) {
        size_t n = r->stops[i].n;
        INVARIANT(n >= 1 && n <= ANSWER_MAX_STOP_BYTES);
    }
    if (r->api == OPENAI_COMPLETIONS) {
        INVARIANT(r->n_prompts >= 1 && r->n * r->n_prompts <= OPENAI_MAX_CHOICES);
        for (int32_t k = 0; k < r->n_prompts; k++) {
            const struct openai_prompt *p = &r->prompts[k];
            INVARIANT(!p->text != !p->ids);
            for (int32_t i = 0; i < p->n_ids; i++) INVARIANT(p->ids[i] >= 0 && p->ids[i] < VOCAB);
        }
        return;
    }
    INVARIANT(r->n_messages >= 1 && r->n_messages <= OPENAI_MAX_MESSAGES);
    for (size_t i = 0; i < r->n_messages; i++)
        INVARIANT(r->messages[i].role && r->messages[i].content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int api = OPENAI_CHAT; api <= OPENAI_COMPLETIONS; api++) {
        struct openai_request r;
        struct err e = {0};
        if (openai_parse(&r, api, (const char *)data, size, VOCAB, &e)) {
            INVARIANT(e.text[0]);
            continue;
        }
        check(&r);
        openai_request_release(&r);
    }
    return 0;
}
