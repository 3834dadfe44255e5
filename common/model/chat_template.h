/* chat_template.h: recognises a model's chat template and renders messages with it.
 *
 * Model files carry the template as a Jinja program. It is not interpreted: its text is compared
 * with the known templates, and so is the SHA-256 of longer ones. Another template is refused,
 * because a guess would give the model a dialogue in a form that it was not trained on. What a
 * template renders is C here (chat_render.c), compared with transformers' apply_chat_template by
 * tests/check_chat_template.py.
 */
#ifndef SERVELAB_MODEL_CHAT_TEMPLATE_H
#define SERVELAB_MODEL_CHAT_TEMPLATE_H

#include "base/err.h"
#include "model/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>

enum chat_family {
    CHAT_NONE,    /* the file has no template */
    CHAT_OTHER,   /* an unknown template */
    CHAT_CHATML,  /* <|im_start|>role\ncontent<|im_end|>\n; SmolLM2, Qwen2 */
    CHAT_QWEN25,  /* the same, but tools' answers are in turns of the user */
    CHAT_LLAMA3,  /* <|start_header_id|>role<|end_header_id|>\n\ncontent<|eot_id|> */
    CHAT_LLAMA31, /* the same after a system message with a date; tools' answers as JSON */
    CHAT_INST,    /* [INST] content [/INST] answer</s>; Llama 2, Mistral */
    CHAT_PLAIN    /* the contents one after the other */
};

struct chat_inst; /* how [INST] is written (chat_render.c) */

struct chat_template {
    enum chat_family family;
    char default_system[256]; /* used when the first message is not the system's; "" for none */
    bool starts_with_bos;     /* the template writes bos */
    const struct chat_inst *inst;
    char sha256[65]; /* of the text, of CHAT_OTHER */
};

/* Recognises template text[0..n); CHAT_OTHER when it isn't known. */
void chat_template_recognise(struct chat_template *c, const char *text, size_t n);
/* A known template by its name, "mistral-v0.3"; false: there is none of this name. */
bool chat_template_named(struct chat_template *c, const char *name);

/* Renders the messages as a sequence of calls: `marker` for the text of a special token ("bos" and
 * "eos" for the model's bos and eos), `word` for a text that is a special token in some
 * vocabularies, `text` for ordinary text. 0, or -1 when a call returned non-zero, or *e: the family
 * is CHAT_NONE or CHAT_OTHER, there is no message, a role is none that the template has, or
 * the roles are in an order that it refuses.
 */
struct chat_sink {
    int (*marker)(void *ctx, const char *token_text);
    int (*word)(void *ctx, const char *token_text);
    int (*text)(void *ctx, const char *text, size_t n);
    void *ctx;
};
int chat_template_render(const struct chat_template *c, const struct chat_message *messages,
                         size_t n_messages, const struct chat_sink *out, struct err *e);

const char *chat_family_name(const struct chat_template *c);

/* ---- between chat_template.c and chat_render.c ---- */

/* The form of [INST] of a named template; NULL: another name. */
const struct chat_inst *chat_inst_named(const char *name);

#endif
