/* small_vocab.h: the tokenizer over the vocabulary of gguf_write.h, and its ids by name: 256 byte
 * tokens with ids equal to the bytes, 18 merges from id 256 on, markers after them. */
#ifndef SERVELAB_MODEL_TESTS_SMALL_VOCAB_H
#define SERVELAB_MODEL_TESTS_SMALL_VOCAB_H

#include "model/gguf.h"
#include "model/tokenizer.h"
#include "testing/check_main.h"

#include "gguf_write.h"

enum { /* ids of merges, in gw_merges' order */
       HE = 256,
       LL,
       HELL,
       HELLO,
       SP_W,
       OR,
       ORL,
       SP_WORL,
       SP_WORLD,
       E_ACUTE,
       F0_9F,
       F0_9F_98,
       AA,
       AAAA,
       AB,
       SP_SP,
       ONE_TWO,
       LF_LF,
       END_OF_TEXT = GW_FIRST_MARKER,
       IM_START,
       IM_END,
       IM_PREFIX,
       U_UMLAUT
};

#define CHATML_LIKE                                                                                \
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"         \
    "{{ '<|im_start|>system\nhello<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] "  \
    "+ '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt "  \
    "%}{{ '<|im_start|>assistant\n' }}{% endif %}"
#define PLAIN_LIKE "{% for message in messages %}{{ message['content'] }}{% endfor %}"

static inline struct tokenizer *make_with(const char *pre, const char *template, int add_bos) {
    struct gw w = {0};
    gw_vocabulary(&w, pre);
    if (template) gw_key_str(&w, "tokenizer.chat_template", template);
    if (add_bos >= 0) gw_key_bool(&w, "tokenizer.ggml.add_bos_token", (uint8_t)add_bos);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_msg(g != NULL, "%s: %s", e.field, e.text);
    struct tokenizer *t = tokenizer_create(g, &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.text);
    gguf_close(g); /* the tokenizer owns copies */
    free(file);
    return t;
}
static inline struct tokenizer *make(void) {
    return make_with("smollm", CHATML_LIKE, -1);
}

/* ids as "256 32 ...", for messages. */
static inline const char *shown(const int32_t *ids, int32_t n) {
    static char text[2][2048];
    static int turn;
    char *out = text[turn++ % 2];
    size_t at = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < n && at < 2000; i++)
        at += (size_t)snprintf(out + at, 2048 - at, "%d ", ids[i]);
    return out;
}

#endif
