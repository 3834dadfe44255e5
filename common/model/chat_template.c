/* chat_template.c: the known templates and what they render to. See chat_template.h. For another
 * model, add a line to `known`; a template that renders in a new way needs a family. */
#include "model/chat_template.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define CHATML_MESSAGES                                                                            \
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"       \
    "{% endfor %}"
#define CHATML_OPENING "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
#define LLAMA3_MESSAGES                                                                            \
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "        \
    "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | "     \
    "trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"       \
    "{% endif %}{{ content }}{% endfor %}"
#define LLAMA3_OPENING "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"

/* The text of each, with a line feed for Jinja's escape \n. Where `after` is not NULL, the default
 * system message is between the two parts. */
static const struct {
    enum chat_family family;
    const char *text, *after;
    bool bos;
} known[] = {
    /* SmolLM2-Instruct, Qwen2-Instruct */
    {CHAT_CHATML,
     "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
     "{{ '<|im_start|>system\n",
     "<|im_end|>\n' }}{% endif %}" CHATML_MESSAGES CHATML_OPENING, false},
    /* ChatML without a default system message */
    {CHAT_CHATML, "{% for message in messages %}" CHATML_MESSAGES CHATML_OPENING, NULL, false},
    /* Llama-3-Instruct, first and later form */
    {CHAT_LLAMA3, LLAMA3_MESSAGES LLAMA3_OPENING, NULL, true},
    {CHAT_LLAMA3, LLAMA3_MESSAGES "{% if add_generation_prompt %}" LLAMA3_OPENING "{% endif %}",
     NULL, true},
    /* servelab-tiny, and base models used for completion */
    {CHAT_PLAIN, "{% for message in messages %}{{ message['content'] }}{% endfor %}", NULL, false},
    {CHAT_PLAIN, "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}",
     NULL, true},
};

static bool starts(const char *s, size_t n, const char *prefix) {
    size_t k = strlen(prefix);
    return n >= k && memcmp(s, prefix, k) == 0;
}

static bool ends(const char *s, size_t n, const char *suffix) {
    size_t k = strlen(suffix);
    return n >= k && memcmp(s + n - k, suffix, k) == 0;
}

/* Does s[0..n) match entry i? Fills the default system message. */
static bool matches(size_t i, const char *s, size_t n, struct chat_template *c) {
    if (!known[i].after) return starts(s, n, known[i].text) && strlen(known[i].text) == n;
    size_t before = strlen(known[i].text), after = strlen(known[i].after);
    if (n < before + after || !starts(s, n, known[i].text) || !ends(s, n, known[i].after))
        return false;
    size_t len = n - before - after;
    const char *message = s + before;
    /* A quote would end the message's literal, and an escape would be another character. */
    if (len == 0 || len >= sizeof c->default_system || memchr(message, '\'', len) ||
        memchr(message, '\\', len) || memchr(message, '\0', len))
        return false;
    memcpy(c->default_system, message, len);
    c->default_system[len] = '\0';
    return true;
}

void chat_template_recognise(struct chat_template *c, const char *text, size_t n) {
    *c = (struct chat_template){.family = CHAT_OTHER};
    enum { LONGEST = 4096 }; /* the known ones have under 500 bytes */
    char s[LONGEST];
    if (n > LONGEST) return;
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        bool escape = text[i] == '\\' && i + 1 < n && text[i + 1] == 'n';
        s[m++] = escape ? '\n' : text[i];
        i += escape;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (matches(i, s, m, c)) {
            c->family = known[i].family;
            c->starts_with_bos = known[i].bos;
            return;
        }
}

/* ---- rendering ------------------------------------------------------------------------------- */

static int put(const struct chat_sink *out, const char *s) {
    return out->text(out->ctx, s, strlen(s));
}

/* Python's str.strip(): blanks as str.isspace has them. */
static bool is_blank(uint32_t cp) {
    return (cp >= 9 && cp <= 13) || (cp >= 0x1c && cp <= 0x20) || cp == 0x85 || cp == 0xa0 ||
           cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

static void trim(const char **s, size_t *n) {
    while (*n > 0) {
        size_t len = utf8_char_bytes(*s, *n);
        if (len == 0 || !is_blank(utf8_decode(*s, len))) break;
        *s += len;
        *n -= len;
    }
    for (size_t len = 1; *n >= len && len <= 3;) {
        const char *last = *s + *n - len;
        if (utf8_char_bytes(last, len) == len && is_blank(utf8_decode(last, len))) {
            *n -= len;
            len = 1;
        } else {
            len++;
        }
    }
}

static size_t content_bytes(const struct chat_message *m) {
    return m->content_bytes > 0 ? m->content_bytes : strlen(m->content);
}

static int render_chatml(const char *role, const char *content, size_t n,
                         const struct chat_sink *out) {
    return out->marker(out->ctx, "<|im_start|>") || put(out, role) || put(out, "\n") ||
           out->text(out->ctx, content, n) || out->marker(out->ctx, "<|im_end|>") || put(out, "\n");
}

static int render_llama3(const char *role, const char *content, size_t n,
                         const struct chat_sink *out) {
    trim(&content, &n);
    return out->marker(out->ctx, "<|start_header_id|>") || put(out, role) ||
           out->marker(out->ctx, "<|end_header_id|>") || put(out, "\n\n") ||
           out->text(out->ctx, content, n) || out->marker(out->ctx, "<|eot_id|>");
}

static int check_messages(const struct chat_template *c, const struct chat_message *messages,
                          size_t n, struct err *e) {
    if (c->family == CHAT_NONE)
        return err_set(e, "the model has no chat template; send the whole prompt to "
                          "/v1/completions instead");
    if (c->family == CHAT_OTHER)
        return err_set(
            e, "the model's chat template is unknown (ChatML, Llama 3 and plain are known); "
               "send the whole prompt to /v1/completions instead");
    if (n == 0) return err_at(e, 0, "messages", "is empty; at least one message is needed");
    for (size_t i = 0; i < n; i++) {
        const char *role = messages[i].role;
        if (strcmp(role, "system") != 0 && strcmp(role, "user") != 0 &&
            strcmp(role, "assistant") != 0 && strcmp(role, "tool") != 0)
            return err_at(e, 0, "messages.role", "'%.32s' is not system, user, assistant or tool",
                          role);
    }
    return 0;
}

int chat_template_render(const struct chat_template *c, const struct chat_message *messages,
                         size_t n_messages, const struct chat_sink *out, struct err *e) {
    if (check_messages(c, messages, n_messages, e)) return -1;
    if (c->starts_with_bos && out->marker(out->ctx, "bos")) return -1;
    if (c->default_system[0] && strcmp(messages[0].role, "system") != 0 &&
        render_chatml("system", c->default_system, strlen(c->default_system), out))
        return -1;
    for (size_t i = 0; i < n_messages; i++) {
        const struct chat_message *m = &messages[i];
        size_t n = content_bytes(m);
        int rc = c->family == CHAT_CHATML   ? render_chatml(m->role, m->content, n, out)
                 : c->family == CHAT_LLAMA3 ? render_llama3(m->role, m->content, n, out)
                                            : out->text(out->ctx, m->content, n);
        if (rc) return -1;
    }
    /* The opening of the assistant's turn. */
    if (c->family == CHAT_CHATML)
        return out->marker(out->ctx, "<|im_start|>") || put(out, "assistant\n") ? -1 : 0;
    if (c->family == CHAT_LLAMA3)
        return out->marker(out->ctx, "<|start_header_id|>") || put(out, "assistant") ||
                       out->marker(out->ctx, "<|end_header_id|>") || put(out, "\n\n")
                   ? -1
                   : 0;
    return 0;
}

const char *chat_family_name(enum chat_family f) {
    static const char *const names[] = {[CHAT_NONE] = "none",
                                        [CHAT_OTHER] = "unknown",
                                        [CHAT_CHATML] = "chatml",
                                        [CHAT_LLAMA3] = "llama3",
                                        [CHAT_PLAIN] = "plain"};
    return names[f];
}
