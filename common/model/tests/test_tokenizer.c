/* test_tokenizer.c: encoding on a vocabulary small enough to work out by hand (small_vocab.h). */
#include "base/rng.h"
#include "model/bpe.h"
#include "testing/check_main.h"

#include "small_vocab.h"

#include <pthread.h>

static void expect(const struct tokenizer *t, const char *text, size_t n, bool special,
                   const int32_t *want, int32_t n_want) {
    struct err e = {0};
    int32_t *ids, got = tokenizer_encode(t, text, n, special, &ids, &e);
    ck_assert_msg(got >= 0, "%s", e.text);
    bool same = got == n_want && memcmp(ids, want, (size_t)got * sizeof *ids) == 0;
    ck_assert_msg(same, "'%s': got %s, want %s", text, shown(ids, got), shown(want, n_want));
    free(ids);
}
#define EXPECT(T, TEXT, SPECIAL, ...)                                                              \
    do {                                                                                           \
        static const int32_t want_[] = {__VA_ARGS__};                                              \
        expect(T, TEXT, sizeof(TEXT) - 1, SPECIAL, want_, sizeof want_ / sizeof *want_);           \
    } while (0)

/* ---- encoding -------------------------------------------------------------------------------- */

START_TEST(merges_go_by_rank_then_from_the_left) {
    struct tokenizer *t = make();
    EXPECT(t, "hello world", false, HELLO, SP_WORLD);
    EXPECT(t, "hellhe", false, HELL, HE);
    EXPECT(t, "aaa", false, AA, 'a');
    EXPECT(t, "aaaaa", false, AAAA, 'a');
    EXPECT(t, "aab", false, AA, 'b'); /* a a ranks before a b */
    EXPECT(t, "cab", false, 'c', AB);
    EXPECT(t, "\xc3\xa9", false, E_ACUTE);
    EXPECT(t, "\n\n", false, LF_LF);
    EXPECT(t, "    x", false, SP_SP, ' ', ' ', 'x'); /* "   " then " x" */
    tokenizer_free(t);
}
END_TEST

START_TEST(empty_text_gives_no_ids) {
    struct tokenizer *t = make();
    struct err e;
    int32_t *ids = NULL;
    ck_assert_int_eq(tokenizer_encode(t, "", 0, true, &ids, &e), 0);
    ck_assert_ptr_nonnull(ids);
    free(ids);
    tokenizer_free(t);
}
END_TEST

START_TEST(digits_stand_alone_where_the_model_says_so) {
    struct tokenizer *smollm = make_with("smollm", NULL, -1), *gpt2 = make_with("gpt-2", NULL, -1);
    EXPECT(smollm, "12", false, '1', '2');
    EXPECT(gpt2, "12", false, ONE_TWO);
    /* The blanks before a digit end a piece, so lookahead sees no character after them. */
    EXPECT(smollm, "  1", false, SP_SP, '1');
    EXPECT(gpt2, "  1", false, ' ', ' ', '1');
    tokenizer_free(smollm);
    tokenizer_free(gpt2);
}
END_TEST

START_TEST(special_tokens_are_found_only_in_trusted_text) {
    struct tokenizer *t = make();
    EXPECT(t, "a<|im_end|>b", true, 'a', IM_END, 'b');
    EXPECT(t, "<|im_end|>", false, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>');
    /* of those that begin at one place the longest, and the shorter one where only that fits */
    EXPECT(t, "<|im_start|>", true, IM_START);
    EXPECT(t, "<|im_st", true, IM_PREFIX, 's', 't');
    EXPECT(t, "<<|im_end|>>", true, '<', IM_END, '>');
    EXPECT(t, "<|im_<|im_end|>", true, IM_PREFIX, IM_END);
    /* words do not merge across one: "hel" "lo" */
    EXPECT(t, "hel<|endoftext|>lo", true, HE, 'l', END_OF_TEXT, 'l', 'o');
    tokenizer_free(t);
}
END_TEST

START_TEST(added_words_are_found_in_any_text) {
    struct tokenizer *t = make();
    EXPECT(t, "x\xc3\xbcy", false, 'x', U_UMLAUT, 'y');
    EXPECT(t, "x\xc3\xbcy", true, 'x', U_UMLAUT, 'y');
    tokenizer_free(t);
}
END_TEST

START_TEST(ill_formed_bytes_become_their_byte_tokens) {
    struct tokenizer *t = make();
    EXPECT(t,
           "a\xff\xfe"
           "b",
           false, 'a', 0xff, 0xfe, 'b');
    EXPECT(t, "\xf0\x9f\x98", false, 0xf0, 0x9f, 0x98); /* no merge: a token each */
    EXPECT(t, "\xf0\x9f\x98\x80", false, F0_9F_98, 0x80);
    EXPECT(t, "\xc3\xc3\xa9", false, 0xc3, E_ACUTE);
    EXPECT(t, "\xed\xa0\x80", false, 0xed, 0xa0, 0x80);
    EXPECT(t, "a\0b", false, 'a', 0, 'b');
    /* the text on each side is split separately: a run of blanks keeps its last one */
    EXPECT(t, "  \xff", false, SP_SP, 0xff);
    tokenizer_free(t);
}
END_TEST

/* SmolLM2 lacks 21 byte tokens. A byte without one is left out and its neighbours may then merge.
 */
START_TEST(a_byte_without_token_is_left_out) {
    struct bpe b;
    struct err e;
    ck_assert_int_eq(bpe_init(&b, 1, &e), 0);
    b.byte_id['h'] = 0;
    b.byte_id['e'] = 1;
    bpe_add(&b, 0, 1, 2, 0);
    struct id_list ids = {0};
    char longer[128];
    memset(longer, 4, sizeof longer);
    longer[3] = 'h';
    longer[99] = 'e';
    ck_assert_int_eq(bpe_encode(&b,
                                "h\x04"
                                "e",
                                3, &ids, &e),
                     0);
    ck_assert(ids.n == 1 && ids.ids[0] == 2);
    ck_assert_int_eq(bpe_encode(&b, longer, sizeof longer, &ids, &e), 0);
    ck_assert(ids.n == 2 && ids.ids[1] == 2);
    ck_assert_int_eq(bpe_encode(&b, "\x04", 1, &ids, &e), 0);
    ck_assert(bpe_encode(&b, longer + 4, 90, &ids, &e) == 0 && ids.n == 2);
    free(ids.ids);
    bpe_release(&b);
}
END_TEST

/* The scan for short words and the heap for long ones, against merging by the definition. */
static size_t merge_plainly(const struct bpe_merge *m, size_t n_m, int32_t *ids, size_t n) {
    for (;;) {
        size_t at = n, rank = n_m;
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t k = 0; k < rank; k++)
                if (m[k].pair == ((uint64_t)(uint32_t)ids[i] << 32 | (uint32_t)ids[i + 1])) {
                    at = i;
                    rank = k;
                }
        if (at == n) return n;
        ids[at] = m[rank].id;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

START_TEST(both_ways_of_merging_follow_the_definition) {
    enum { MERGES = 60, LONGEST = 400 };
    struct rng r;
    rng_seed(&r, 99);
    for (int round = 0; round < 400; round++) {
        struct bpe b;
        struct err e;
        struct bpe_merge list[MERGES];
        size_t n_list = 0;
        ck_assert_int_eq(bpe_init(&b, MERGES, &e), 0);
        for (int c = 0; c < 3; c++) b.byte_id['a' + c] = c;
        while (n_list < MERGES) { /* any earlier symbols may join, so ranks and ids are unrelated */
            int32_t left = (int32_t)rng_below(&r, 3 + n_list),
                    right = (int32_t)rng_below(&r, 3 + n_list);
            uint64_t pair = (uint64_t)left << 32 | (uint32_t)right;
            size_t k = 0;
            while (k < n_list && list[k].pair != pair) k++;
            if (k < n_list) continue;
            list[n_list] = (struct bpe_merge){pair, (int32_t)n_list, (int32_t)(3 + n_list)};
            bpe_add(&b, left, right, list[n_list].id, list[n_list].rank);
            n_list++;
        }
        size_t n = 1 + rng_below(&r, round % 2 ? 60 : LONGEST);
        char word[LONGEST];
        int32_t want[LONGEST];
        for (size_t i = 0; i < n; i++) {
            want[i] = (int32_t)rng_below(&r, 3);
            word[i] = (char)('a' + want[i]);
        }
        size_t n_want = merge_plainly(list, n_list, want, n);
        struct id_list got = {0};
        ck_assert_int_eq(bpe_encode(&b, word, n, &got, &e), 0);
        bool same = got.n == n_want && memcmp(got.ids, want, n_want * sizeof *want) == 0;
        ck_assert_msg(same, "round %d, %zu bytes: got %s, want %s", round, n,
                      shown(got.ids, (int32_t)got.n), shown(want, (int32_t)n_want));
        free(got.ids);
        bpe_release(&b);
    }
}
END_TEST

/* Texts for which a simple splitter or merger takes quadratic time: minutes in place of seconds. */
START_TEST(long_runs_take_time_in_proportion) {
    static const char *const pres[] = {"smollm", "gpt-2", "llama-bpe", "qwen2", "deepseek-llm"};
    static const char *const units[] = {"a",        " ",    "\n",  "=", "1",
                                        "\xc3\xa9", "\xff", " \n", "'", "<"};
    enum { BYTES = 100000 };
    char *text = malloc(BYTES + 8);
    ck_assert_ptr_nonnull(text);
    for (size_t p = 0; p < sizeof pres / sizeof *pres; p++) {
        struct tokenizer *t = make_with(pres[p], NULL, -1);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            size_t n = 0;
            while (n < BYTES) {
                memcpy(text + n, units[u], strlen(units[u]));
                n += strlen(units[u]);
            }
            text[n++] = 'x'; /* so that the text doesn't end in a run of blanks */
            struct err e = {0};
            int32_t *ids, got = tokenizer_encode(t, text, n, true, &ids, &e);
            ck_assert_msg(got > 0, "%s, unit %zu: %s", pres[p], u, e.text);
            size_t bytes = 0;
            for (int32_t i = 0; i < got; i++) {
                size_t k;
                tokenizer_token_bytes(t, ids[i], true, &k);
                bytes += k;
            }
            ck_assert_int_eq(bytes, n);
            free(ids);
        }
        tokenizer_free(t);
    }
    free(text);
}
END_TEST

/* In Llama 3 a word that is a token becomes that token, without merging. */
START_TEST(whole_words_where_the_model_says_so) {
    struct gw w = {0};
    for (int with = 0; with < 2; with++) {
        gw_key_str(&w, "tokenizer.ggml.model", "gpt2");
        gw_key_str(&w, "tokenizer.ggml.pre", with ? "llama-bpe" : "gpt-2");
        gw_key_array(&w, "tokenizer.ggml.tokens", GW_STR, 5);
        static const char *const tokens[] = {"x", "y", "xy", "xyx", "yx"};
        for (int i = 0; i < 5; i++) gw_strn(&w.keys, tokens[i], strlen(tokens[i]));
        gw_key_array(&w, "tokenizer.ggml.merges", GW_STR, 2);
        gw_strn(&w.keys, "x y", 3);
        gw_strn(&w.keys, "y x", 3);
        gw_key_u32(&w, "tokenizer.ggml.eos_token_id", 1); /* an ordinary token may end answers */
        size_t n;
        uint8_t *file = gw_finish(&w, &n);
        struct err e = {0};
        struct gguf *g = gguf_from_memory(file, n, &e);
        struct tokenizer *t = tokenizer_create(g, &e);
        ck_assert_msg(t != NULL, "%s", e.text);
        if (with)
            EXPECT(t, "xyx", false, 3);
        else
            EXPECT(t, "xyx", false, 2, 0);
        EXPECT(t, "yx", false, 4);
        ck_assert(!tokenizer_adds_bos(t) && tokenizer_bos(t) == -1 && tokenizer_eos(t) == 1);
        ck_assert(tokenizer_ends(t, 1) && !tokenizer_ends(t, 0));
        tokenizer_free(t);
        gguf_close(g);
        free(file);
    }
}
END_TEST

/* A vocabulary of the letters a and b and one more token of the given kind, which `role` names. */
static struct tokenizer *make_marked(const char *text, uint32_t kind, const char *role) {
    struct gw w = {0};
    gw_key_str(&w, "tokenizer.ggml.model", "gpt2");
    gw_key_str(&w, "tokenizer.ggml.pre", "gpt-2");
    gw_key_array(&w, "tokenizer.ggml.tokens", GW_STR, 3);
    const char *const tokens[] = {"a", "b", text};
    for (int i = 0; i < 3; i++) gw_strn(&w.keys, tokens[i], strlen(tokens[i]));
    gw_key_array(&w, "tokenizer.ggml.token_type", GW_I32, 3);
    for (int i = 0; i < 3; i++) gw_u32(&w.keys, i < 2 ? 1 : kind);
    gw_key_array(&w, "tokenizer.ggml.merges", GW_STR, 0);
    if (role) gw_key_u32(&w, role, 2);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    struct tokenizer *t = tokenizer_create(g, &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.text);
    gguf_close(g);
    free(file);
    return t;
}

/* Converters write end markers as control, as user-defined or as normal tokens: each ends the
 * answer, shows no text, and is a marker in trusted text only. */
START_TEST(markers_are_known_by_text_and_by_role) {
    static const struct {
        const char *text, *role;
        bool ends;
    } cases[] = {{"<|im_end|>", NULL, true},
                 {"<|endoftext|>", NULL, true},
                 {"<|eot_id|>", NULL, true},
                 {"<|eom_id|>", NULL, true},
                 {"<|end|>", NULL, true},
                 {"<end_of_turn>", NULL, true},
                 {"</s>", NULL, true},
                 {"<｜end▁of▁sentence｜>", NULL, true},
                 {"<|file_sep|>", NULL, true},
                 {"<|im_start|>", NULL, false},
                 {"ab!", "tokenizer.ggml.bos_token_id", false},
                 {"ab!", "tokenizer.ggml.eos_token_id", true},
                 {"ab!", "tokenizer.ggml.eot_token_id", true},
                 {"ab!", "tokenizer.ggml.eom_token_id", true},
                 {"ab!", "tokenizer.ggml.fim_pad_token_id", true},
                 {"ab!", "tokenizer.ggml.fim_rep_token_id", true},
                 {"ab!", "tokenizer.ggml.fim_sep_token_id", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t kind = 1; kind <= 4; kind++) {
            if (kind == 2 || (kind == 1 && cases[i].role)) continue;
            struct tokenizer *t = make_marked(cases[i].text, kind, cases[i].role);
            struct err e;
            int32_t *ids;
            size_t n_text, n = strlen(cases[i].text);
            tokenizer_token_bytes(t, 2, false, &n_text);
            int32_t trusted = tokenizer_encode(t, cases[i].text, n, true, &ids, &e);
            bool marker = trusted == 1 && ids[0] == 2;
            free(ids);
            int32_t from_user = tokenizer_encode(t, cases[i].text, n, false, &ids, &e);
            for (int32_t k = 0; k < from_user; k++) marker &= ids[k] != 2;
            free(ids);
            ck_assert_msg(tokenizer_ends(t, 2) == cases[i].ends && n_text == 0 && marker,
                          "%s as kind %u, %s", cases[i].text, kind,
                          cases[i].role ? cases[i].role : "by text");
            tokenizer_free(t);
        }
    struct tokenizer *t = make_marked("ab!", 4, NULL); /* an added word is not a marker */
    EXPECT(t, "xab!", false, 2);
    ck_assert(!tokenizer_ends(t, 2));
    tokenizer_free(t);
}
END_TEST

/* ---- properties --------------------------------------------------------------------------- */

START_TEST(ends_and_bos) {
    struct tokenizer *t = make();
    ck_assert(tokenizer_bos(t) == END_OF_TEXT && tokenizer_eos(t) == IM_END);
    ck_assert(!tokenizer_adds_bos(t)); /* the default of this kind of vocabulary */
    ck_assert(tokenizer_ends(t, IM_END) && tokenizer_ends(t, END_OF_TEXT));
    ck_assert(!tokenizer_ends(t, IM_START) && !tokenizer_ends(t, -1) && !tokenizer_ends(t, 'a'));
    ck_assert_int_eq(tokenizer_vocab_size(t), GW_VOCAB);
    size_t n;
    ck_assert(memcmp(tokenizer_token_bytes(t, SP_WORLD, false, &n), " world", 6) == 0 && n == 6);
    tokenizer_token_bytes(t, IM_END, false, &n);
    ck_assert_int_eq(n, 0);
    ck_assert(memcmp(tokenizer_token_bytes(t, IM_END, true, &n), "<|im_end|>", 10) == 0 && n == 10);
    tokenizer_token_bytes(t, U_UMLAUT, false, &n);
    ck_assert_int_eq(n, 2);
    tokenizer_token_bytes(t, GW_VOCAB, true, &n);
    ck_assert_int_eq(n, 0);
    tokenizer_token_bytes(t, -1, true, &n);
    ck_assert_int_eq(n, 0);
    tokenizer_free(t);
    t = make_with("llama-bpe", NULL, -1);
    ck_assert(tokenizer_adds_bos(t)); /* Llama 3's default */
    tokenizer_free(t);
    t = make_with("llama-bpe", NULL, 0);
    ck_assert(!tokenizer_adds_bos(t));
    tokenizer_free(t);
}
END_TEST

/* Every byte value is one token here, whose bytes are that byte. */
START_TEST(the_byte_alphabet_is_complete) {
    struct tokenizer *t = make();
    for (int b = 0; b < 256; b++) {
        size_t n;
        const char *s = tokenizer_token_bytes(t, b, false, &n);
        ck_assert_msg(n == 1 && (unsigned char)s[0] == b, "byte %d", b);
    }
    tokenizer_free(t);
}
END_TEST

/* ---- wrong vocabularies ---------------------------------------------------------------------- */

static void put_words(struct gw *w, const char *key, const char *words) {
    uint64_t n = 0;
    for (const char *s = words; *s; s += strcspn(s, ",") + 1) {
        n++;
        if (!s[strcspn(s, ",")]) break;
    }
    gw_key_array(w, key, GW_STR, n);
    for (const char *s = words; n > 0; n--, s += strcspn(s, ",") + 1)
        gw_strn(&w->keys, s, strcspn(s, ","));
}

START_TEST(wrong_vocabularies_are_named) {
    static const struct {
        const char *model, *pre, *tokens, *merges;
        int kind, id; /* of the first token; of bos. -1: not written */
        const char *field, *text;
    } wrong[] = {
        {NULL, "gpt-2", "a,b", "", -1, -1, "tokenizer.ggml.model", "missing"},
        {"bert", "gpt-2", "a,b", "", -1, -1, "tokenizer.ggml.model", "bert"},
        {"llama", "gpt-2", "a,b", "", -1, -1, "tokenizer.ggml.tokens", "byte 0x00"},
        {"gpt2", NULL, "a,b", "", -1, -1, "tokenizer.ggml.pre", "missing"},
        {"gpt2", "tekken", "a,b", "", -1, -1, "tokenizer.ggml.pre", "tekken"},
        {"gpt2", "gpt-22", "a,b", "", -1, -1, "tokenizer.ggml.pre", "gpt-22"},
        {"gpt2", "gpt-2", NULL, "", -1, -1, "tokenizer.ggml.tokens", "missing"},
        {"gpt2", "gpt-2", "", "", -1, -1, "tokenizer.ggml.tokens", "0 tokens"},
        {"gpt2", "gpt-2", "a,b", NULL, -1, -1, "tokenizer.ggml.merges", "missing"},
        {"gpt2", "gpt-2", "a,b", "ab", -1, -1, "tokenizer.ggml.merges", "merge 0"},
        {"gpt2", "gpt-2", "a,b,ab", "a b,a ", -1, -1, "tokenizer.ggml.merges", "merge 1"},
        {"gpt2", "gpt-2", "a,b,ab", "a b, b", -1, -1, "tokenizer.ggml.merges", "merge 1"},
        {"gpt2", "gpt-2", "a,b,ab", "a b c", -1, -1, "tokenizer.ggml.merges", "merge 0"},
        {"gpt2", "gpt-2", "a,b", "a b", -1, -1, "tokenizer.ggml.merges", "merge 0"},
        {"gpt2", "gpt-2", "a,b,ab", "a \xff", -1, -1, "tokenizer.ggml.merges", "merge 0"},
        {"gpt2", "gpt-2", "a,b", "", 7, -1, "tokenizer.ggml.token_type", "kind 7"},
        {"gpt2", "gpt-2", "a,b", "", 0, -1, "tokenizer.ggml.token_type", "kind 0"},
        {"gpt2", "gpt-2", "a,b", "", -1, 2, "tokenizer.ggml.bos_token_id", "is 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gw w = {0};
        if (wrong[i].model) gw_key_str(&w, "tokenizer.ggml.model", wrong[i].model);
        if (wrong[i].pre) gw_key_str(&w, "tokenizer.ggml.pre", wrong[i].pre);
        if (wrong[i].tokens) put_words(&w, "tokenizer.ggml.tokens", wrong[i].tokens);
        if (wrong[i].merges) put_words(&w, "tokenizer.ggml.merges", wrong[i].merges);
        if (wrong[i].id >= 0) gw_key_u32(&w, "tokenizer.ggml.bos_token_id", (uint32_t)wrong[i].id);
        if (wrong[i].kind >= 0) {
            gw_key_array(&w, "tokenizer.ggml.token_type", GW_I32, 2);
            gw_u32(&w.keys, (uint32_t)wrong[i].kind);
            gw_u32(&w.keys, 1);
        }
        size_t n;
        uint8_t *file = gw_finish(&w, &n);
        struct err e = {0};
        struct gguf *g = gguf_from_memory(file, n, &e);
        ck_assert_ptr_nonnull(g);
        struct tokenizer *t = tokenizer_create(g, &e);
        ck_assert_msg(t == NULL, "case %zu: accepted", i);
        ck_assert_msg(strcmp(e.field, wrong[i].field) == 0 && strstr(e.text, wrong[i].text),
                      "case %zu: %s: %s", i, e.field, e.text);
        gguf_close(g);
        free(file);
    }
}
END_TEST

START_TEST(kinds_must_be_one_for_each_token) {
    struct gw w = {0};
    gw_key_str(&w, "tokenizer.ggml.model", "gpt2");
    gw_key_str(&w, "tokenizer.ggml.pre", "gpt-2");
    put_words(&w, "tokenizer.ggml.tokens", "a,b,c");
    put_words(&w, "tokenizer.ggml.merges", "");
    gw_key_array(&w, "tokenizer.ggml.token_type", GW_U8, 2);
    gw_put(&w.keys, "\1\1", 2);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_ptr_null(tokenizer_create(g, &e));
    ck_assert_str_eq(e.field, "tokenizer.ggml.token_type");
    gguf_close(g);
    free(file);
}
END_TEST

/* ---- several threads ------------------------------------------------------------------------- */

static void *encode_often(void *arg) {
    static const char text[] = "hello world  12\n\n\xff<|im_end|>";
    const struct tokenizer *t = arg;
    for (int i = 0; i < 300; i++) {
        struct err e;
        int32_t *ids, n = tokenizer_encode(t, text, sizeof text - 1, true, &ids, &e);
        bool right = n > 2 && ids[0] == HELLO && ids[1] == SP_WORLD && ids[n - 1] == IM_END;
        free(ids);
        if (!right) return arg;
    }
    return NULL;
}

START_TEST(threads_may_share_one) {
    struct tokenizer *t = make();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, encode_often, t), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = t;
        pthread_join(threads[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
    tokenizer_free(t);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tokenizer");
    TCase *t = tcase_create("tokenizer");
    tcase_set_timeout(t, 300); /* sanitizers on a busy machine */
    tcase_add_test(t, merges_go_by_rank_then_from_the_left);
    tcase_add_test(t, empty_text_gives_no_ids);
    tcase_add_test(t, digits_stand_alone_where_the_model_says_so);
    tcase_add_test(t, special_tokens_are_found_only_in_trusted_text);
    tcase_add_test(t, added_words_are_found_in_any_text);
    tcase_add_test(t, ill_formed_bytes_become_their_byte_tokens);
    tcase_add_test(t, a_byte_without_token_is_left_out);
    tcase_add_test(t, both_ways_of_merging_follow_the_definition);
    tcase_add_test(t, long_runs_take_time_in_proportion);
    tcase_add_test(t, whole_words_where_the_model_says_so);
    tcase_add_test(t, markers_are_known_by_text_and_by_role);
    tcase_add_test(t, ends_and_bos);
    tcase_add_test(t, the_byte_alphabet_is_complete);
    tcase_add_test(t, wrong_vocabularies_are_named);
    tcase_add_test(t, kinds_must_be_one_for_each_token);
    tcase_add_test(t, threads_may_share_one);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
