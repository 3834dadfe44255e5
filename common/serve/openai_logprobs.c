/* openai_logprobs.c: log-probabilities in OpenAI's two shapes. See openai.h. */
#include "serve/openai.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

static void chat_tokens(struct buffer *b, const struct openai_scores *s,
                        const struct token_score *rows, size_t n);
static void completion_lists(struct buffer *b, const struct openai_scores *s,
                             const struct token_score *rows, size_t n);
static void text_offsets(struct buffer *b, struct openai_scores *s, const struct token_score *rows,
                         size_t n);

void openai_logprobs(struct buffer *b, struct openai_scores *s, const struct token_score *rows,
                     size_t n) {
    if (s->silent_bos) {
        rows += 1 + s->top;
        n--;
        s->prompt_rows--;
    }
    s->silent_bos = false;
    if (s->api == OPENAI_CHAT) {
        chat_tokens(b, s, rows, n);
        return;
    }
    completion_lists(b, s, rows, n);
    text_offsets(b, s, rows, n);
}

bool openai_bos_was_added(const struct tokenizer *t, const char *text, size_t n, const int32_t *ids,
                          int32_t n_ids) {
    size_t n_bos = 0;
    const char *bos = tokenizer_token_bytes(t, tokenizer_bos(t), true, &n_bos);
    return n_ids > 0 && ids[0] == tokenizer_bos(t) && (n < n_bos || memcmp(text, bos, n_bos) != 0);
}

void openai_prompt_text(struct buffer *b, const struct tokenizer *t, const int32_t *ids,
                        int32_t n_ids) {
    struct detokenizer d = {0};
    char out[6];
    for (int32_t i = 0; i < n_ids; i++) {
        size_t n;
        const char *bytes = tokenizer_token_bytes(t, ids[i], true, &n);
        for (size_t k = 0; k < n; k++)
            buffer_add(b, out, utf8_stream(d.held, &d.n_held, (unsigned char)bytes[k], out));
    }
    buffer_add(b, out, detokenize_end(&d, out));
}

/* ---- a token --------------------------------------------------------------------------------- */

/* Its text; where its bytes are not whole characters, "bytes:\xe2\x82" as OpenAI has it, so that no
 * two tokens have one name. */
static void put_name(struct buffer *b, const struct openai_scores *s, int32_t id) {
    size_t n, chars = 0;
    const char *bytes = tokenizer_token_bytes(s->tokenizer, id, true, &n);
    for (size_t len; chars < n && (len = utf8_char_bytes(bytes + chars, n - chars)) > 0;)
        chars += len;
    if (chars == n) {
        buffer_json(b, bytes, n);
        return;
    }
    buffer_puts(b, "\"bytes:");
    for (size_t i = 0; i < n; i++) buffer_printf(b, "\\\\x%02x", (unsigned char)bytes[i]);
    buffer_puts(b, "\"");
}

/* vLLM's floor: JSON has no infinity. */
static void put_logprob(struct buffer *b, float x) {
    if (isnan(x))
        buffer_puts(b, "null");
    else
        buffer_printf(b, "%.9g", (double)fmaxf(x, -9999));
}

/* ---- chat ------------------------------------------------------------------------------------ */

static void put_chat_token(struct buffer *b, const struct openai_scores *s,
                           const struct token_score *score) {
    size_t n;
    const char *bytes = tokenizer_token_bytes(s->tokenizer, score->id, true, &n);
    buffer_puts(b, "{\"token\":");
    put_name(b, s, score->id);
    buffer_puts(b, ",\"logprob\":");
    put_logprob(b, score->logprob);
    buffer_puts(b, ",\"bytes\":[");
    for (size_t i = 0; i < n; i++)
        buffer_printf(b, "%s%d", i > 0 ? "," : "", (unsigned char)bytes[i]);
    buffer_puts(b, "]");
}

static void chat_tokens(struct buffer *b, const struct openai_scores *s,
                        const struct token_score *rows, size_t n) {
    buffer_puts(b, "{\"content\":[");
    for (size_t i = 0; i < n; i++, rows += 1 + s->top) {
        if (i > 0) buffer_puts(b, ",");
        put_chat_token(b, s, &rows[0]);
        buffer_puts(b, ",\"top_logprobs\":[");
        for (int32_t k = 1; k <= s->top; k++) {
            if (k > 1) buffer_puts(b, ",");
            put_chat_token(b, s, &rows[k]);
            buffer_puts(b, "}");
        }
        buffer_puts(b, "]}");
    }
    buffer_puts(b, "],\"refusal\":null}");
}

/* ---- completions ----------------------------------------------------------------------------- */

/* The most likely tokens; the chosen one too, also where it is not among them. */
static void put_top(struct buffer *b, const struct openai_scores *s,
                    const struct token_score *row) {
    if (isnan(row[0].logprob)) {
        buffer_puts(b, "null");
        return;
    }
    bool found = false;
    for (int32_t k = 1; k <= s->top; k++) found = found || row[k].id == row[0].id;
    const char *between = "{";
    for (int32_t k = found ? 1 : 0; k <= s->top; k++) {
        buffer_puts(b, between);
        put_name(b, s, row[k].id);
        buffer_puts(b, ":");
        put_logprob(b, row[k].logprob);
        between = ",";
    }
    buffer_puts(b, "}");
}

static void completion_lists(struct buffer *b, const struct openai_scores *s,
                             const struct token_score *rows, size_t n) {
    static const char *const names[] = {"{\"tokens\":[", "],\"token_logprobs\":[",
                                        "],\"top_logprobs\":["};
    for (int list = 0; list < 3; list++) {
        buffer_puts(b, names[list]);
        const struct token_score *row = rows;
        for (size_t i = 0; i < n; i++, row += 1 + s->top) {
            if (i > 0) buffer_puts(b, ",");
            if (list == 0) put_name(b, s, row->id);
            if (list == 1) put_logprob(b, row->logprob);
            if (list == 2) put_top(b, s, row);
        }
    }
    buffer_puts(b, "],");
}

/* Moves the place behind the token's text. A special token has text in a prompt only. */
static void advance(struct openai_scores *s, int32_t id) {
    char out[6];
    size_t n;
    bool prompt = s->prompt_rows > 0;
    const char *bytes = tokenizer_token_bytes(s->tokenizer, id, prompt, &n);
    for (size_t i = 0; i < n; i++) {
        size_t k = utf8_stream(s->held.held, &s->held.n_held, (unsigned char)bytes[i], out);
        while (k-- > 0) s->chars += ((unsigned char)out[k] & 0xc0) != 0x80;
    }
    if (!prompt || --s->prompt_rows > 0) return;
    if (s->held.n_held > 0) s->chars++; /* half a character at the prompt's end is U+FFFD */
    s->held.n_held = 0;
}

static void text_offsets(struct buffer *b, struct openai_scores *s, const struct token_score *rows,
                         size_t n) {
    buffer_puts(b, "\"text_offset\":[");
    for (size_t i = 0; i < n; i++, rows += 1 + s->top) {
        buffer_printf(b, "%s%d", i > 0 ? "," : "", s->chars);
        advance(s, rows->id);
    }
    buffer_puts(b, "]}");
}
