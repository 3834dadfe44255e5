/* chat_template.h: recognises a model's chat template and renders messages with it.
 *
 * GGUF files carry the template as a Jinja program. It is not interpreted: its text is compared
 * with the known templates. Another template is refused, because a guess would give the model a
 * dialogue in a form that it was not trained on.
 */
#ifndef SERVELAB_MODEL_CHAT_TEMPLATE_H
#define SERVELAB_MODEL_CHAT_TEMPLATE_H

#include "base/err.h"
#include "model/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>

enum chat_family {
    CHAT_NONE,   /* the file has no template */
    CHAT_OTHER,  /* an unknown template */
    CHAT_CHATML, /* <|im_start|>role\ncontent<|im_end|>\n; SmolLM2, Qwen2 */
    CHAT_LLAMA3, /* <|start_header_id|>role<|end_header_id|>\n\ncontent<|eot_id|> */
    CHAT_PLAIN   /* the contents one after the other */
};

struct chat_template {
    enum chat_family family;
    char default_system[256]; /* used when the first message is not the system's; "" for none */
    bool starts_with_bos;     /* the template writes bos */
};

/* Recognises template text[0..n); CHAT_OTHER when it isn't known. */
void chat_template_recognise(struct chat_template *c, const char *text, size_t n);

/* Renders the messages as a sequence of calls: `marker` for the text of a special token ("bos" for
 * the model's bos), `text` for ordinary text. 0, or -1 when a call returned non-zero, a role is not
 * "system", "user", "assistant" or "tool" (these templates write a role as it is), there is no
 * message, or the family is CHAT_NONE or CHAT_OTHER
 * (*e).
 */
struct chat_sink {
    int (*marker)(void *ctx, const char *token_text);
    int (*text)(void *ctx, const char *text, size_t n);
    void *ctx;
};
int chat_template_render(const struct chat_template *c, const struct chat_message *messages,
                         size_t n_messages, const struct chat_sink *out, struct err *e);

const char *chat_family_name(enum chat_family f);

#endif
