/* chat_render.c: what the known templates make of messages. See chat_template.h.
 *
 * Stricter than the templates in one point: where a template silently leaves a message out (a
 * tool's answer in Llama 2's, a dialogue of a system message only), the messages are refused. */
#include "base/utf8.h"
#include "model/chat_template.h"

#include <stdio.h>
#include <string.h>

/* What stands around a user's content and an answer. */
struct chat_inst {
    const char *name;
    const char *open, *close;              /* before [INST], and between content and [/INST] */
    const char *answer, *answered, *after; /* before an answer, before its eos, behind it */
    /* Where the system message is: in no turn (refused), in the first turn, in the last message if
     * that is a user's, or in the first turn between <<SYS>> and <</SYS>>. */
    enum { NOWHERE, FIRST, LAST, BLOCK } system;
    bool strips_user, strips_answer, bos_each; /* bos_each: each turn begins with bos */
};
static const struct chat_inst insts[] = {
    {"llama-2", "", " ", " ", " ", "", BLOCK, true, true, true},
    {"mistral-v0.1", "", " ", "", "", " ", NOWHERE, false, false, false},
    {"mistral-v0.2", "", " ", "", "", "", NOWHERE, false, false, false},
    {"mistral-v0.2-system", " ", " ", " ", "", "", FIRST, false, false, false},
    {"mixtral-8x22b", "", "", " ", "", "", LAST, false, false, false},
    {"mistral-v0.3", "", "", " ", "", "", LAST, false, true, false},
    {"mistral-v0.3-first", "", "", " ", "", "", NOWHERE, false, false, false},
};

struct span {
    const char *s;
    size_t n;
};

static int check_messages(const struct chat_template *c, const struct chat_message *messages,
                          size_t n, struct err *e);
static int render_chatml(const struct chat_template *c, const struct chat_message *m, size_t n,
                         const struct chat_sink *out);
static int render_llama3(const struct chat_template *c, const struct chat_message *m, size_t n,
                         const struct chat_sink *out);
static int render_inst(const struct chat_inst *f, const struct chat_message *m, size_t n,
                       const struct chat_sink *out, struct err *e);
static struct span content(const struct chat_message *m);

int chat_template_render(const struct chat_template *c, const struct chat_message *messages,
                         size_t n, const struct chat_sink *out, struct err *e) {
    if (check_messages(c, messages, n, e)) return -1;
    int rc = 0;
    if (c->starts_with_bos && !(c->inst && c->inst->bos_each)) rc = out->marker(out->ctx, "bos");
    if (rc) return -1;
    switch (c->family) {
    case CHAT_CHATML:
    case CHAT_QWEN25:
        rc = render_chatml(c, messages, n, out);
        break;
    case CHAT_LLAMA3:
    case CHAT_LLAMA31:
        rc = render_llama3(c, messages, n, out);
        break;
    case CHAT_INST:
        rc = render_inst(c->inst, messages, n, out, e);
        break;
    default:
        for (size_t i = 0; rc == 0 && i < n; i++) {
            struct span text = content(&messages[i]);
            rc = out->text(out->ctx, text.s, text.n);
        }
    }
    return rc ? -1 : 0;
}

const struct chat_inst *chat_inst_named(const char *name) {
    for (size_t i = 0; i < sizeof insts / sizeof *insts; i++)
        if (strcmp(insts[i].name, name) == 0) return &insts[i];
    return NULL;
}

static bool is(const struct chat_message *m, const char *role) {
    return strcmp(m->role, role) == 0;
}

static int check_messages(const struct chat_template *c, const struct chat_message *messages,
                          size_t n, struct err *e) {
    if (c->family == CHAT_NONE)
        return err_set(e, "the model has no chat template; send the whole prompt to "
                          "/v1/completions instead");
    if (c->family == CHAT_OTHER)
        return err_set(e,
                       "the model's chat template is unknown (its SHA-256 begins with %.12s; those "
                       "of SmolLM2, Qwen2, Qwen2.5, Llama 2, 3 and 3.1 and Mistral are known); "
                       "send the whole prompt to /v1/completions instead",
                       c->sha256);
    if (n == 0) return err_at(e, 0, "messages", "is empty; at least one message is needed");
    for (size_t i = 0; i < n; i++) {
        const struct chat_message *m = &messages[i];
        if (!is(m, "system") && !is(m, "user") && !is(m, "assistant") && !is(m, "tool"))
            return err_at(e, 0, "messages.role", "'%.32s' is not system, user, assistant or tool",
                          m->role);
    }
    return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int put(const struct chat_sink *out, const char *s) {
    return out->text(out->ctx, s, strlen(s));
}

static int put_span(const struct chat_sink *out, struct span s) {
    return out->text(out->ctx, s.s, s.n);
}

static struct span content(const struct chat_message *m) {
    return (struct span){m->content, m->content_bytes > 0 ? m->content_bytes : strlen(m->content)};
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

static struct span stripped(struct span s) {
    trim(&s.s, &s.n);
    return s;
}

/* As a JSON string, in the spelling of Python's json.dumps(ensure_ascii=False). */
static int put_json(const struct chat_sink *out, struct span s) {
    static const char letters[] = "\"\\\n\r\t\f\b", names[] = "\"\\nrtfb";
    int rc = put(out, "\"");
    size_t from = 0;
    for (size_t i = 0; rc == 0 && i < s.n; i++) {
        const char *special = memchr(letters, s.s[i], sizeof letters - 1);
        if (!special && (unsigned char)s.s[i] >= 0x20) continue;
        char escape[8];
        if (special)
            snprintf(escape, sizeof escape, "\\%c", names[special - letters]);
        else
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)s.s[i]);
        rc = out->text(out->ctx, s.s + from, i - from) || put(out, escape);
        from = i + 1;
    }
    return rc || out->text(out->ctx, s.s + from, s.n - from) || put(out, "\"");
}

/* ---- ChatML ---------------------------------------------------------------------------------- */

static int chatml_turn(const char *role, struct span text, const struct chat_sink *out) {
    return out->marker(out->ctx, "<|im_start|>") || put(out, role) || put(out, "\n") ||
           put_span(out, text) || out->marker(out->ctx, "<|im_end|>") || put(out, "\n");
}

/* Answers of tools that follow each other are one turn of the user. */
static int tool_response(const struct chat_message *m, size_t i, size_t n,
                         const struct chat_sink *out) {
    if ((i == 0 || !is(&m[i - 1], "tool")) &&
        (out->marker(out->ctx, "<|im_start|>") || put(out, "user")))
        return -1;
    if (put(out, "\n<tool_response>\n") || put_span(out, content(&m[i])) ||
        put(out, "\n</tool_response>"))
        return -1;
    bool last = i + 1 == n || !is(&m[i + 1], "tool");
    return last && (out->marker(out->ctx, "<|im_end|>") || put(out, "\n")) ? -1 : 0;
}

static int render_chatml(const struct chat_template *c, const struct chat_message *m, size_t n,
                         const struct chat_sink *out) {
    struct span system = {c->default_system, strlen(c->default_system)};
    int rc = system.n > 0 && !is(&m[0], "system") ? chatml_turn("system", system, out) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = c->family == CHAT_QWEN25 && is(&m[i], "tool")
                 ? tool_response(m, i, n, out)
                 : chatml_turn(m[i].role, content(&m[i]), out);
    return rc || out->marker(out->ctx, "<|im_start|>") || put(out, "assistant\n");
}

/* ---- Llama 3 --------------------------------------------------------------------------------- */

static int llama3_header(const char *role, const struct chat_sink *out) {
    return out->marker(out->ctx, "<|start_header_id|>") || put(out, role) ||
           out->marker(out->ctx, "<|end_header_id|>") || put(out, "\n\n");
}

/* The date is the template's own, not today's. */
static int llama31_system(const struct chat_message *first, const struct chat_sink *out) {
    struct span text = {"", 0};
    if (is(first, "system")) text = stripped(content(first));
    return llama3_header("system", out) ||
           put(out, "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n") ||
           put_span(out, text) || out->marker(out->ctx, "<|eot_id|>");
}

static int render_llama3(const struct chat_template *c, const struct chat_message *m, size_t n,
                         const struct chat_sink *out) {
    bool later = c->family == CHAT_LLAMA31;
    int rc = later ? llama31_system(&m[0], out) : 0;
    for (size_t i = later && is(&m[0], "system"); rc == 0 && i < n; i++) {
        bool tool = later && is(&m[i], "tool");
        rc = llama3_header(tool ? "ipython" : m[i].role, out) ||
             (tool ? put_json(out, content(&m[i])) : put_span(out, stripped(content(&m[i])))) ||
             out->marker(out->ctx, "<|eot_id|>");
    }
    return rc || llama3_header("assistant", out);
}

/* ---- [INST] ---------------------------------------------------------------------------------- */

static int check_turns(const struct chat_inst *f, const struct chat_message *m, size_t n,
                       struct err *e) {
    bool system = f->system != NOWHERE && is(&m[0], "system");
    if (system && n == 1)
        return err_at(e, 0, "messages", "is a system message only; a user's message is needed");
    for (size_t i = system; i < n; i++) {
        const char *due = (i - system) % 2 ? "assistant" : "user";
        char field[48];
        snprintf(field, sizeof field, "messages[%zu].role", i);
        if (!is(&m[i], due))
            return err_at(
                e, 0, field,
                "is \"%s\", but this model's chat template has turns of user and "
                "assistant in alternation%s; send \"%s\" here, or the whole prompt to "
                "/v1/completions",
                m[i].role,
                f->system == NOWHERE ? "" : " after an optional system message at the front", due);
    }
    return 0;
}

static int user_turn(const struct chat_inst *f, const struct chat_message *m,
                     const struct chat_message *system, const struct chat_sink *out) {
    /* Llama 2 strips the turn, in which the block is, and so not the content's beginning. */
    struct span text = content(m), before = {"", 0};
    if (f->bos_each && out->marker(out->ctx, "bos")) return -1;
    if (put(out, f->open) || out->word(out->ctx, "[INST]") || put(out, " ")) return -1;
    if (f->strips_user) {
        before = text;
        text = stripped(text);
        before.n = system ? (size_t)(text.s - before.s) : 0;
    }
    if (system) {
        bool block = f->system == BLOCK;
        if ((block && put(out, "<<SYS>>\n")) || put_span(out, content(system)) ||
            put(out, block ? text.n > 0 ? "\n<</SYS>>\n\n" : "\n<</SYS>>" : "\n\n"))
            return -1;
        if (block && text.n == 0) before.n = 0;
    }
    return put_span(out, before) || put_span(out, text) || put(out, f->close) ||
           out->word(out->ctx, "[/INST]");
}

static int render_inst(const struct chat_inst *f, const struct chat_message *m, size_t n,
                       const struct chat_sink *out, struct err *e) {
    if (check_turns(f, m, n, e)) return -1;
    size_t from = is(&m[0], "system");
    for (size_t i = from; i < n; i++) {
        bool system = from && (f->system == LAST ? i == n - 1 : i == from);
        if (is(&m[i], "user")) {
            if (user_turn(f, &m[i], system ? &m[0] : NULL, out)) return -1;
            continue;
        }
        struct span text = content(&m[i]);
        if (put(out, f->answer) || put_span(out, f->strips_answer ? stripped(text) : text) ||
            put(out, f->answered) || out->marker(out->ctx, "eos") || put(out, f->after))
            return -1;
    }
    return 0;
}
