/* chat_template.c: the known templates. See chat_template.h. For another model, add a line to
 * `known` or `digests`; a template that renders in a new way needs a family (chat_render.c). */
#include "model/chat_template.h"

#include "base/sha256.h"

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

/* Longer templates, by the SHA-256 of their text without a line feed at its end, which Jinja leaves
 * out. `llama-2` has two spellings of blanks' removal, each with \n as an escape and as a line
 * feed. */
#define QWEN25_SYSTEM "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
#define QWEN_SYSTEM   "You are a helpful assistant."
static const struct {
    const char *name;
    enum chat_family family;
    const char *default_system, *sha256;
} digests[] = {
    {"llama-2", CHAT_INST, "", "e8d5b5a546d3f19df16a5320c614fab05bdc4edd50e850f1afd947b503ea41cf"},
    {"llama-2", CHAT_INST, "", "ea2472f29dbd93c3eb696795f6403228fcc4b775518869c771f83fbae5c11dbf"},
    {"llama-2", CHAT_INST, "", "9780fae5bfea3cfd7be37d328c6edfd296a8869be8131495bbe7eb37e780c88c"},
    {"llama-2", CHAT_INST, "", "7fc58500f0542d84d80c72f9271864203b43152380ca989bf6671d750a1ce813"},
    {"llama-3.1", CHAT_LLAMA31, "",
     "93c0e9aa3629bbd77e68dbc0f5621f6e6b23aa8d74b932595cdb8d64684526d7"},
    {"qwen2.5", CHAT_QWEN25, QWEN25_SYSTEM,
     "4e9918361c284a93880606d182d64da6a9fe97cdc1f5c5a78c1c8840444246fc"},
    {"qwen2.5", CHAT_QWEN25, QWEN25_SYSTEM,
     "55b2f4a26ac9ee719330a61a0c39d9e538b0e9322212f048326318cff4f8674a"},
    {"qwen2.5-base", CHAT_QWEN25, QWEN_SYSTEM,
     "e7ef0c0550d1e3baa43eda35eaaf927e2e0af29a5c052c45c811201acbea4090"},
    {"qwen2.5-base", CHAT_QWEN25, QWEN_SYSTEM,
     "4039eed0f28b7aaa337e70c76cfedba3271ee32505835a095a8c92e536b3c355"},
    {"mistral-v0.1", CHAT_INST, "",
     "7e995b379ec01747807246483647cd99030abf331653f1119e16d7ac041a3495"},
    {"mistral-v0.2", CHAT_INST, "",
     "26a59556925c987317ce5291811ba3b7f32ec4c647c400c6cc7e3a9993007ba7"},
    {"mistral-v0.2-system", CHAT_INST, "",
     "bbc58aad99454df60138be9530c9601a0adfe3d8932cda975e1f10b2410ddc51"},
    {"mixtral-8x22b", CHAT_INST, "",
     "ac888ea51c72437ddbd57032b819c5d04d76c313147e1f3f2add070493fac49c"},
    {"mistral-v0.3", CHAT_INST, "",
     "cafb64e0e9e5fd2503054b3479593fae39cbdfd52338ce8af9bb4664a8eb05bd"},
    {"mistral-v0.3-first", CHAT_INST, "",
     "bf1a68895d61bbff700ad350ac45c39a4a76cc20cf18ebb5bcca8d252a9f00cb"},
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

/* Compares with the templates whose text is known. */
static bool recognise_text(struct chat_template *c, const char *text, size_t n) {
    enum { LONGEST = 4096 }; /* the known ones have under 500 bytes */
    char s[LONGEST];
    if (n > LONGEST) return false;
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
            return true;
        }
    return false;
}

static void take_digest(struct chat_template *c, size_t i) {
    *c = (struct chat_template){.family = digests[i].family,
                                .starts_with_bos = digests[i].family != CHAT_QWEN25,
                                .inst = chat_inst_named(digests[i].name)};
    snprintf(c->default_system, sizeof c->default_system, "%s", digests[i].default_system);
}

void chat_template_recognise(struct chat_template *c, const char *text, size_t n) {
    *c = (struct chat_template){.family = CHAT_OTHER};
    if (recognise_text(c, text, n)) return;
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, text, n > 0 && text[n - 1] == '\n' ? n - 1 : n);
    sha256_end(&s, c->sha256);
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
        if (strcmp(c->sha256, digests[i].sha256) == 0) {
            take_digest(c, i);
            return;
        }
}

bool chat_template_named(struct chat_template *c, const char *name) {
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
        if (strcmp(name, digests[i].name) == 0) {
            take_digest(c, i);
            return true;
        }
    return false;
}

const char *chat_family_name(const struct chat_template *c) {
    static const char *const names[] = {
        [CHAT_NONE] = "none",      [CHAT_OTHER] = "unknown", [CHAT_CHATML] = "chatml",
        [CHAT_QWEN25] = "qwen2.5", [CHAT_LLAMA3] = "llama3", [CHAT_LLAMA31] = "llama3.1",
        [CHAT_INST] = "inst",      [CHAT_PLAIN] = "plain"};
    return names[c->family];
}
