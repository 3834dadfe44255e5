/* http_presets.c: prompts with a checkable answer, offered to the page, and their verdict.
 *
 *   GET /v1/presets?seed=S     one prompt of each kind, exactly 2,048 tokens under this model;
 *                              without a seed, that of DEFAULT_SEED. &wording=grammar or plain:
 *                              otherwise the wording for this model (quality/questions.h)
 *   X-Quality-Check: NAME:S    on a completion: judges the answer by that check, against the answer
 *                              of the preset of that name and seed, and writes the verdict into the
 *                              record. The prompt itself is not compared: another question under
 *                              this name gets "failed", as a wrong answer does.
 *
 * Making a prompt takes some ten milliseconds of the library's thread, and every other connection
 * waits for that: under a flood of new seeds half of the other requests took 52 ms and more. So the
 * last ones are kept, and the answer is judged when the reply is over: no stamp of its own request
 * waits for that.
 */
#include "serve/http_reply.h"

#include "quality/checks.h"

#include <stdlib.h>
#include <string.h>

/* Its count has 176 tokens: at the pace of a 7B model on an A100 it can be watched for two seconds.
 */
enum { DEFAULT_SEED = 4 };

/* "key-recall/1:7" -> kind and seed. */
static bool parse_name(const char *name, enum question_kind *kind, uint64_t *seed) {
    char check[32];
    const char *colon = strrchr(name, ':');
    if (!colon || (size_t)(colon - name) >= sizeof check) return false;
    memcpy(check, name, (size_t)(colon - name));
    check[colon - name] = '\0';
    size_t digits = strlen(colon + 1);
    if (digits < 1 || digits > 9 || strspn(colon + 1, "0123456789") != digits) return false;
    int k = question_from_check(check);
    *seed = strtoull(colon + 1, NULL, 10);
    *kind = (enum question_kind)k;
    return k >= 0;
}

bool preset_valid_name(const char *name) {
    enum question_kind kind;
    uint64_t seed;
    return parse_name(name, &kind, &seed);
}

static struct preset *find(struct http *h, enum question_kind kind, uint64_t seed, struct err *e) {
    struct preset *p;
    for (int i = 0; i < PRESETS_KEPT; i++) {
        p = &h->presets[i];
        if (p->prompt && p->question.kind == kind && p->seed == seed) return p;
    }
    p = &h->presets[h->next_preset++ % PRESETS_KEPT];
    free(p->prompt);
    *p = (struct preset){.seed = seed};
    return question_prompt(h->o.tokenizer, kind, seed, 0, QUESTION_PROMPT_TOKENS, &p->prompt,
                           &p->question, e)
               ? NULL
               : p;
}

enum MHD_Result presets_route(struct exchange *x) {
    static const char *const titles[QUESTION_ALL_KINDS] = {
        "Recall", "Add", "Call a tool", "Count on", "Find a line", "Add", "Find two lines"};
    /* the long answer first: it can be watched as it is streamed */
    static const enum question_kind order[QUESTION_ALL_KINDS] = {
        QUESTION_COUNT,        QUESTION_RECALL,    QUESTION_SUM,       QUESTION_TOOL,
        QUESTION_PLAIN_RECALL, QUESTION_PLAIN_SUM, QUESTION_PLAIN_PAIR};
    const char *text = request_query(x, "seed"), *wording = request_query(x, "wording");
    uint64_t seed = text ? strtoull(text, NULL, 10) : DEFAULT_SEED;
    if (text &&
        (strlen(text) < 1 || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text)))
        return reply_error(x, 400, "seed", NULL, "seed: must be a whole number below 10^9");
    enum question_wording asked = question_wording_for(x->h->o.tokenizer);
    for (int i = 0; wording && i <= WORDINGS; i++) {
        if (i == WORDINGS)
            return reply_error(x, 400, "wording", NULL, "wording: must be grammar or plain");
        asked = (enum question_wording)i;
        if (!strcmp(wording, question_wording_name(asked))) break;
    }
    struct question_set set = question_set(asked);
    cJSON *tree = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(tree, "presets");
    /* a model whose context is too short for them has no presets, which is not an error */
    bool room = x->h->o.engine->backend->info.max_seq_tokens > QUESTION_PROMPT_TOKENS;
    for (int i = set.first; room && i < set.first + set.n; i++) {
        enum question_kind k = order[i];
        struct err e;
        struct preset *p = find(x->h, k, seed, &e);
        if (!p) continue;
        char name[48];
        snprintf(name, sizeof name, "%s:%llu", question_check(k), (unsigned long long)seed);
        int32_t left = x->h->o.engine->backend->info.max_seq_tokens - QUESTION_PROMPT_TOKENS;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", name);
        cJSON_AddStringToObject(o, "title", titles[k]);
        cJSON_AddStringToObject(o, "check", question_check(k));
        cJSON_AddStringToObject(o, "prompt", p->prompt);
        cJSON_AddStringToObject(o, "expected", p->question.answer);
        cJSON_AddNumberToObject(o, "prompt_tokens", QUESTION_PROMPT_TOKENS);
        cJSON_AddNumberToObject(o, "max_tokens",
                                left < set.answer_tokens ? left : set.answer_tokens);
        cJSON_AddItemToArray(list, o);
    }
    return reply_tree(x, 200, tree);
}

void preset_judge(struct exchange *x) {
    enum question_kind kind;
    uint64_t seed;
    struct err e;
    struct quality_result result;
    if (x->h->o.synthetic || !x->check[0] || !parse_name(x->check, &kind, &seed)) return;
    struct preset *p = find(x->h, kind, seed, &e);
    const char *check = question_check(kind), *answer = x->answer.bytes ? x->answer.bytes : "";
    if (!p || x->answer.failed ||
        quality_judge(check, p->question.answer, answer, x->answer.n, &result, &e))
        return; /* the record keeps "not_evaluated" */
    pthread_mutex_lock(&x->live->lock);
    quality_write(&x->live->record, check, &result);
    pthread_mutex_unlock(&x->live->lock);
}

void presets_release(struct http *h) {
    for (int i = 0; i < PRESETS_KEPT; i++) free(h->presets[i].prompt);
}
