/* test_chat_golden.c: the prompts of the chat templates that are known by a digest, against digests
 * of what transformers renders (check_chat_golden.py wrote golden/chat.json).
 *
 *   test_chat_golden               TAP
 *   test_chat_golden NAME NUMBER   what ours makes of one dialogue, to be read */
#include "base/sha256.h"
#include "model/chat_template.h"
#include "model/gguf.h"

#include "gguf_write.h"
#include "tap.h"
#include "vocab_files.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#define GOLDEN "common/model/tests/golden/chat.json"

struct text {
    char s[8192];
    size_t n;
};

static int add_text(void *ctx, const char *s, size_t n) {
    struct text *t = ctx;
    if (n > sizeof t->s - t->n) return -1;
    memcpy(t->s + t->n, s, n);
    t->n += n;
    return 0;
}

static int add_marker(void *ctx, const char *s) {
    const char *text = !strcmp(s, "bos") ? "<s>" : !strcmp(s, "eos") ? "</s>" : s;
    return add_text(ctx, text, strlen(text));
}

enum { MOST = 16 };
static size_t read_dialogue(const cJSON *dialogue, struct chat_message *m) {
    size_t n = 0;
    const cJSON *one;
    cJSON_ArrayForEach(one, dialogue) if (n < MOST) m[n++] =
        (struct chat_message){.role = cJSON_GetArrayItem(one, 0)->valuestring,
                              .content = cJSON_GetArrayItem(one, 1)->valuestring};
    return n;
}

/* The first 16 digits. */
static bool digest_is(const void *p, size_t n, const cJSON *want) {
    char hex[65];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, p, n);
    sha256_end(&s, hex);
    return cJSON_IsString(want) && strncmp(hex, want->valuestring, 16) == 0;
}

/* A vocabulary of bytes and markers, or of a file. */
static struct tokenizer *bytes_vocabulary(const cJSON *markers) {
    struct gw w = {0};
    int n = cJSON_GetArraySize(markers);
    gw_key_str(&w, "tokenizer.ggml.model", "gpt2");
    gw_key_str(&w, "tokenizer.ggml.pre", "gpt-2");
    gw_key_array(&w, "tokenizer.ggml.tokens", GW_STR, 256 + (uint64_t)n);
    for (int b = 0; b < 256; b++) {
        char text[4];
        gw_alphabet(b, text);
        gw_strn(&w.keys, text, strlen(text));
    }
    const cJSON *m;
    cJSON_ArrayForEach(m, markers) gw_strn(&w.keys, m->valuestring, strlen(m->valuestring));
    gw_key_array(&w, "tokenizer.ggml.token_type", GW_I32, 256 + (uint64_t)n);
    for (int i = 0; i < 256 + n; i++) gw_u32(&w.keys, i < 256 ? 1 : 3);
    gw_key_array(&w, "tokenizer.ggml.merges", GW_STR, 0);
    gw_key_u32(&w, "tokenizer.ggml.bos_token_id", 256);
    gw_key_u32(&w, "tokenizer.ggml.eos_token_id", 257);
    size_t size;
    uint8_t *file = gw_finish(&w, &size);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, size, &e);
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    if (!t) printf("# %s: %s\n", e.field, e.text);
    gguf_close(g);
    free(file);
    return t;
}

static struct tokenizer *spm_vocabulary(void) {
    char path[512];
    struct err e;
    for (int i = 0; i < N_VOCAB_FILES; i++) {
        if (strcmp(vocab_files[i].name, "llama-spm")) continue;
        if (!vocab_file_path(&vocab_files[i], path, sizeof path)) return NULL;
        struct gguf *g = gguf_open(path, &e);
        struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
        gguf_close(g);
        return t;
    }
    return NULL;
}

static bool ids_are(struct tokenizer *t, const char *name, const struct chat_message *m, size_t n,
                    const cJSON *want) {
    int32_t *ids = NULL;
    struct err e;
    if (!tokenizer_set_chat(t, name)) return false;
    int32_t count = tokenizer_encode_chat(t, m, n, &ids, &e);
    bool right = count >= 0 && digest_is(ids, (size_t)count * sizeof *ids, want);
    free(ids);
    return right;
}

/* NULL, or what is wrong. */
static const char *check_prompt(const char *name, const cJSON *dialogue, const cJSON *want,
                                struct tokenizer *bytes, struct tokenizer *spm) {
    struct chat_message m[MOST];
    size_t n = read_dialogue(dialogue, m);
    struct text text = {.n = 0};
    struct chat_sink sink = {add_marker, add_marker, add_text, &text};
    struct chat_template c;
    struct err e = {0};
    if (!chat_template_named(&c, name)) return "there is no such template";
    bool refused = chat_template_render(&c, m, n, &sink, &e) != 0;
    if (cJSON_IsNull(want)) return !refused ? "was not refused" : !e.text[0] ? "no message" : NULL;
    if (refused) return "was refused";
    if (!digest_is(text.s, text.n, cJSON_GetArrayItem(want, 0))) return "another text";
    if (!ids_are(bytes, name, m, n, cJSON_GetArrayItem(want, 1))) return "other ids";
    const cJSON *other = cJSON_GetArrayItem(want, 2);
    if (other && spm && !ids_are(spm, name, m, n, other)) return "other ids of SentencePiece";
    return NULL;
}

static void check_template(const cJSON *golden, const cJSON *template, struct tokenizer *bytes,
                           struct tokenizer *spm) {
    const cJSON *dialogues = cJSON_GetObjectItem(golden, "dialogues"),
                *prompts = cJSON_GetObjectItem(template, "prompts");
    const char *why = NULL;
    int i = 0, n = cJSON_GetArraySize(dialogues), rendered = 0;
    for (; !why && i < n; i++) {
        const cJSON *want = cJSON_GetArrayItem(prompts, i);
        rendered += cJSON_IsArray(want);
        why = check_prompt(template->string, cJSON_GetArrayItem(dialogues, i), want, bytes, spm);
    }
    char name[96];
    snprintf(name, sizeof name, "%s: %d dialogues, of which %d are rendered", template->string, n,
             rendered);
    tap(!why && rendered >= 30 && cJSON_GetArraySize(prompts) == n, name, "dialogue %d: %s", i - 1,
        why ? why : "too few");
}

static int show(const cJSON *golden, const char *name, int number) {
    struct chat_message m[MOST];
    size_t n =
        read_dialogue(cJSON_GetArrayItem(cJSON_GetObjectItem(golden, "dialogues"), number), m);
    struct text text = {.n = 0};
    struct chat_sink sink = {add_marker, add_marker, add_text, &text};
    struct chat_template c;
    struct err e = {0};
    if (!chat_template_named(&c, name)) return 2;
    if (chat_template_render(&c, m, n, &sink, &e)) printf("%s %s\n", e.field, e.text);
    return fwrite(text.s, 1, text.n, stdout) == text.n ? 0 : 1;
}

int main(int argc, char **argv) {
    size_t n = 0;
    char *text = NULL;
    FILE *f = fopen(GOLDEN, "r");
    if (f && getdelim(&text, &n, '\0', f) < 0) n = 0;
    if (f) fclose(f);
    cJSON *golden = text ? cJSON_Parse(text) : NULL;
    free(text);
    if (!tap(golden != NULL, "the golden file is read", "%s; run this from the top of the tree",
             GOLDEN))
        return tap_end();
    if (argc == 3) return show(golden, argv[1], atoi(argv[2]));
    struct tokenizer *bytes = bytes_vocabulary(cJSON_GetObjectItem(golden, "markers")),
                     *spm = spm_vocabulary();
    tap(bytes != NULL, "the vocabulary of bytes is read", "see above");
    const cJSON *one;
    if (bytes)
        cJSON_ArrayForEach(one, cJSON_GetObjectItem(golden, "templates"))
            check_template(golden, one, bytes, spm);
    if (!spm) tap_skip("Llama 2's ids over SentencePiece", "no shared test data (SERVELAB_DATA)");
    tokenizer_free(bytes);
    tokenizer_free(spm);
    cJSON_Delete(golden);
    return tap_end();
}
