/* test_prompts.c: chat templates and streaming detokenisation on the vocabulary of small_vocab.h.
 * check_chat_template.py compares the templates with Jinja, test_detokenize.py compares
 * detokenisation with Python. */
#include "model/chat_template.h"
#include "base/utf8.h"
#include "testing/check_main.h"

#include "small_vocab.h"

/* ---- prompts --------------------------------------------------------------------------------- */

static void expect_chat(const struct tokenizer *t, const struct chat_message *m, size_t n_m,
                        const char *text) {
    struct err e = {0};
    int32_t *ids, *want, n = tokenizer_encode_chat(t, m, n_m, &ids, &e);
    ck_assert_msg(n >= 0, "%s", e.text);
    /* The expected text, with markers; the contents used here have none. */
    int32_t n_want = tokenizer_encode(t, text, strlen(text), true, &want, &e);
    bool same = n == n_want && memcmp(ids, want, (size_t)n * sizeof *ids) == 0;
    ck_assert_msg(same, "got %s, want %s", shown(ids, n), shown(want, n_want));
    free(ids);
    free(want);
}

START_TEST(chatml_as_the_template_says) {
    struct tokenizer *t = make();
    ck_assert_str_eq(tokenizer_chat_family(t), "chatml");
    struct chat_message hi = {.role = "user", .content = "hello"};
    expect_chat(t, &hi, 1,
                "<|im_start|>system\nhello<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n"
                "<|im_start|>assistant\n");
    struct chat_message turns[] = {
        {"system", "a", 0}, {"user", "", 0}, {"assistant", " b", 0}, {"user", "\n\nx", 0}};
    expect_chat(t, turns, 4,
                "<|im_start|>system\na<|im_end|>\n<|im_start|>user\n<|im_end|>\n"
                "<|im_start|>assistant\n b<|im_end|>\n<|im_start|>user\n\n\nx<|im_end|>\n"
                "<|im_start|>assistant\n");
    tokenizer_free(t);
}
END_TEST

/* A user can't forge a turn: the marker's text in a message is text. */
START_TEST(markers_in_a_message_are_text) {
    struct tokenizer *t = make_with("smollm", PLAIN_LIKE, -1);
    ck_assert_str_eq(tokenizer_chat_family(t), "plain");
    struct chat_message m = {.role = "user", .content = "<|im_end|>"};
    struct err e;
    int32_t *ids, n = tokenizer_encode_chat(t, &m, 1, &ids, &e);
    ck_assert_int_eq(n, 10);
    for (int32_t i = 0; i < n; i++) ck_assert_int_lt(ids[i], 256);
    free(ids);
    tokenizer_free(t);
    t = make();
    n = tokenizer_encode_chat(t, &m, 1, &ids, &e);
    int ends = 0;
    for (int32_t i = 0; i < n; i++) ends += ids[i] == IM_END;
    ck_assert_int_eq(ends, 2); /* the system's turn and the user's, not the user's text */
    free(ids);
    tokenizer_free(t);
}
END_TEST

static void expect_prompt(const struct tokenizer *t, const char *text, const char *same_as) {
    struct err e;
    int32_t *ids, *want, n = tokenizer_encode_prompt(t, text, strlen(text), &ids, &e);
    int32_t n_want = tokenizer_encode(t, same_as, strlen(same_as), true, &want, &e);
    ck_assert_msg(n == n_want && memcmp(ids, want, (size_t)n * sizeof *ids) == 0,
                  "%s: got %s, want %s", text, shown(ids, n), shown(want, n_want));
    free(ids);
    free(want);
}

/* In a raw prompt a marker is a marker, and bos comes once. */
START_TEST(markers_in_a_raw_prompt_are_markers) {
    static const char turn[] = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    struct tokenizer *t = make();
    struct err e;
    int32_t *ids;
    ck_assert_int_eq(tokenizer_encode_prompt(t, turn, strlen(turn), &ids, &e), 21);
    ck_assert(ids[0] == IM_START && ids[8] == IM_END && ids[10] == IM_START);
    free(ids);
    expect_prompt(t, "hello", "hello");
    tokenizer_free(t);
    t = make_with("smollm", NULL, 1);
    expect_prompt(t, "hello", "<|endoftext|>hello");
    expect_prompt(t, "<|endoftext|>hello", "<|endoftext|>hello");
    expect_prompt(t, "<|im_end|>", "<|endoftext|><|im_end|>");
    expect_prompt(t, "", "");
    tokenizer_free(t);
}
END_TEST

START_TEST(plain_joins_contents_and_bos_comes_once) {
    struct tokenizer *t = make_with("smollm", PLAIN_LIKE, 1);
    struct chat_message m[] = {{"system", "hel", 0}, {"user", "lo", 0}};
    expect_chat(t, m, 2, "<|endoftext|>hello"); /* one text: it merges across the seam */
    tokenizer_free(t);
    t = make_with("smollm", "{{ bos_token }}" PLAIN_LIKE, 1);
    expect_chat(t, m, 2, "<|endoftext|>hello");
    tokenizer_free(t);
    t = make_with("smollm", "{{ bos_token }}" PLAIN_LIKE, 0);
    expect_chat(t, m, 2, "<|endoftext|>hello");
    tokenizer_free(t);
}
END_TEST

START_TEST(what_can_not_be_a_prompt_is_named) {
    struct tokenizer *t = make();
    struct err e = {0};
    int32_t *ids;
    struct chat_message odd = {.role = "function", .content = "x"},
                        fine = {.role = "user", .content = "x"};
    ck_assert_int_eq(tokenizer_encode_chat(t, &odd, 1, &ids, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "'function'"));
    ck_assert_ptr_null(ids);
    ck_assert_int_eq(tokenizer_encode_chat(t, &fine, 0, &ids, &e), -1);
    ck_assert_str_eq(e.field, "messages");
    tokenizer_free(t);
    t = make_with("smollm", NULL, -1);
    ck_assert_str_eq(tokenizer_chat_family(t), "none");
    ck_assert_int_eq(tokenizer_encode_chat(t, &fine, 1, &ids, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "no chat template"));
    tokenizer_free(t);
    t = make_with("smollm", "{{ messages | tojson }}", -1);
    ck_assert_str_eq(tokenizer_chat_family(t), "unknown");
    ck_assert_int_eq(tokenizer_encode_chat(t, &fine, 1, &ids, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "/v1/completions"));
    tokenizer_free(t);
    /* A template whose markers the vocabulary doesn't have. */
    t = make_with(
        "smollm",
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set "
        "content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ "
        "message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content "
        "= bos_token + content %}{% endif %}{{ content }}{% endfor %}{{ "
        "'<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}",
        -1);
    ck_assert_str_eq(tokenizer_chat_family(t), "llama3");
    ck_assert_int_eq(tokenizer_encode_chat(t, &fine, 1, &ids, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "<|start_header_id|>"));
    tokenizer_free(t);
}
END_TEST

struct rendered {
    char s[1024];
};
static int render_marker(void *ctx, const char *text) {
    struct rendered *r = ctx;
    strcat(strcat(strcat(r->s, "["), text), "]");
    return 0;
}
static int render_text(void *ctx, const char *text, size_t n) {
    strncat(((struct rendered *)ctx)->s, text, n);
    return 0;
}

START_TEST(llama3_trims_contents) {
    struct chat_template c = {.family = CHAT_LLAMA3, .starts_with_bos = true};
    struct rendered r = {""};
    struct chat_sink sink = {render_marker, render_marker, render_text, &r};
    struct chat_message m[] = {{"system", "\xc2\xa0\n be brief\xe3\x80\x80\t", 0},
                               {"user", " \x1f ", 0},
                               {"assistant", "\xff x \xff ", 0}};
    struct err e;
    ck_assert_int_eq(chat_template_render(&c, m, 3, &sink, &e), 0);
    ck_assert_str_eq(r.s,
                     "[bos][<|start_header_id|>]system[<|end_header_id|>]\n\nbe brief[<|eot_id|>]"
                     "[<|start_header_id|>]user[<|end_header_id|>]\n\n[<|eot_id|>]"
                     "[<|start_header_id|>]assistant[<|end_header_id|>]\n\n\xff x \xff[<|eot_id|>]"
                     "[<|start_header_id|>]assistant[<|end_header_id|>]\n\n");
}
END_TEST

START_TEST(near_misses_of_templates_are_refused) {
    struct chat_template c;
    static const char *const near[] = {
        PLAIN_LIKE " ",
        " " PLAIN_LIKE,
        "{% for message in messages %}{{ message['content'] }}\n{% endfor %}",
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
        "'<|im_start|>system\nIt\\'s' + x + '<|im_end|>\n' }}{% endif %}",
        "",
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
        "'<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + "
        "message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if "
        "add_generation_prompt %}{{ '<|im_start|>model\n' }}{% endif %}"};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        chat_template_recognise(&c, near[i], strlen(near[i]));
        ck_assert_msg(c.family == CHAT_OTHER, "'%s' was taken for %s", near[i],
                      chat_family_name(&c));
    }
    /* the default system message: as it is, but not where quotes or escapes would change it */
    static const char head[] = "{% for message in messages %}{% if loop.first and "
                               "messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\n";
    static const char tail[] =
        "<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + "
        "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|im_start|>assistant\\n' }}{% endif %}";
    static const struct {
        const char *message;
        bool known;
    } cases[] = {{"You are helpful.", true},
                 {"two\\nlines", true},
                 {"it's", false},
                 {"a\\tb", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        int n = snprintf(text, sizeof text, "%s%s%s", head, cases[i].message, tail);
        chat_template_recognise(&c, text, (size_t)n);
        ck_assert_msg((c.family == CHAT_CHATML) == cases[i].known, "case %zu", i);
        if (i == 1) ck_assert_str_eq(c.default_system, "two\nlines");
    }
}
END_TEST

/* Texts of the templates are not in this tree, but for the shortest (TheBloke's files of Mistral
 * v0.1). */
START_TEST(a_template_is_known_by_its_digest) {
    static const char text[] =
        "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != "
        "(loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate "
        "user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ "
        "'[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' "
        "%}{{ message['content'] + eos_token + ' ' }}{% else %}{{ raise_exception('Only user and "
        "assistant roles are supported!') }}{% endif %}{% endfor %}\n";
    struct chat_template c;
    for (int feed = 0; feed < 2; feed++) {
        chat_template_recognise(&c, text, sizeof text - 1 - !feed);
        ck_assert_str_eq(chat_family_name(&c), "inst");
        ck_assert(c.starts_with_bos && c.inst == chat_inst_named("mistral-v0.1"));
    }
    for (size_t i = 0; i + 2 < sizeof text; i++) { /* no byte can be another one */
        char other[sizeof text];
        memcpy(other, text, sizeof text);
        other[i] ^= 1;
        chat_template_recognise(&c, other, sizeof text - 1);
        ck_assert_msg(c.family == CHAT_OTHER, "byte %zu", i);
    }
    ck_assert(!chat_template_named(&c, "mistral"));
}
END_TEST

START_TEST(turns_out_of_order_are_refused_by_their_place) {
    struct tokenizer *t = make_with("smollm", NULL, 0);
    struct chat_message m[] = {
        {"system", "s", 0}, {"user", "u", 0}, {"assistant", "a", 0}, {"tool", "t", 0}};
    int32_t *ids;
    struct err e;
    ck_assert(tokenizer_set_chat(t, "llama-2") && !tokenizer_set_chat(t, "llama"));
    ck_assert_int_eq(tokenizer_encode_chat(t, m, 4, &ids, &e), -1);
    ck_assert_str_eq(e.field, "messages[3].role");
    ck_assert_ptr_nonnull(strstr(e.text, "send \"user\" here"));
    ck_assert_int_eq(tokenizer_encode_chat(t, m, 1, &ids, &e), -1);
    ck_assert_str_eq(e.field, "messages");
    ck_assert(tokenizer_set_chat(t, "mistral-v0.2")); /* has no system message */
    ck_assert_int_eq(tokenizer_encode_chat(t, m, 2, &ids, &e), -1);
    ck_assert_str_eq(e.field, "messages[0].role");
    tokenizer_free(t);
}
END_TEST

/* ---- detokenising ---------------------------------------------------------------------- */

START_TEST(a_split_character_is_held_back) {
    struct tokenizer *t = make();
    struct detokenizer d = {0};
    char out[64];
    ck_assert_int_eq(detokenize(t, &d, 'a', out), 1);
    ck_assert_int_eq(detokenize(t, &d, F0_9F_98, out),
                     0); /* three of four bytes: nothing to show */
    size_t n = detokenize(t, &d, 0x80, out);
    ck_assert(n == 4 && memcmp(out, "\xf0\x9f\x98\x80", 4) == 0);
    ck_assert_int_eq(detokenize_end(&d, out), 0);
    tokenizer_free(t);
}
END_TEST

START_TEST(an_invalid_byte_becomes_one_replacement) {
    struct tokenizer *t = make();
    struct detokenizer d = {0};
    char out[64];
    size_t n = detokenize(t, &d, 0xff, out);
    ck_assert(n == 3 && memcmp(out, "\xef\xbf\xbd", 3) == 0);
    ck_assert_int_eq(detokenize(t, &d, F0_9F, out), 0);
    n = detokenize(t, &d, 'a', out); /* two held bytes, one replacement, then the letter */
    ck_assert(n == 4 && memcmp(out,
                               "\xef\xbf\xbd"
                               "a",
                               4) == 0);
    ck_assert_int_eq(detokenize(t, &d, 0xe2, out), 0);
    ck_assert_int_eq(detokenize(t, &d, IM_END, out), 0); /* a marker has no text and ends nothing */
    n = detokenize_end(&d, out);
    ck_assert(n == 3 && memcmp(out, "\xef\xbf\xbd", 3) == 0);
    ck_assert_int_eq(detokenize_end(&d, out), 0);
    ck_assert_int_eq(detokenize(t, &d, 1 << 20, out), 0); /* padding of the embedding: no text */
    tokenizer_free(t);
}
END_TEST

START_TEST(utf8_round_trip_of_every_scalar_value) {
    static const char *const ill_formed[] = {"\x80",
                                             "\xc1\xbf",
                                             "\xe0\x9f\xbf",
                                             "\xed\xa0\x80",
                                             "\xf0\x8f\xbf\xbf",
                                             "\xf4\x90\x80\x80",
                                             "\xf5\x80\x80\x80",
                                             "\xff"};
    for (size_t i = 0; i < sizeof ill_formed / sizeof *ill_formed; i++)
        ck_assert_int_eq(utf8_char_bytes(ill_formed[i], strlen(ill_formed[i])), 0);
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        char s[4];
        size_t n = utf8_encode(cp, s);
        bool scalar = cp < 0xd800 || cp > 0xdfff;
        bool right =
            utf8_char_bytes(s, n) == (scalar ? n : 0) && (!scalar || utf8_decode(s, n) == cp);
        for (size_t cut = 1; cut < n; cut++) right &= utf8_char_bytes(s, cut) == 0;
        if (!right) ck_abort_msg("U+%04X", cp);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("prompts");
    TCase *t = tcase_create("prompts");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, chatml_as_the_template_says);
    tcase_add_test(t, markers_in_a_message_are_text);
    tcase_add_test(t, markers_in_a_raw_prompt_are_markers);
    tcase_add_test(t, plain_joins_contents_and_bos_comes_once);
    tcase_add_test(t, what_can_not_be_a_prompt_is_named);
    tcase_add_test(t, llama3_trims_contents);
    tcase_add_test(t, near_misses_of_templates_are_refused);
    tcase_add_test(t, a_template_is_known_by_its_digest);
    tcase_add_test(t, turns_out_of_order_are_refused_by_their_place);
    tcase_add_test(t, a_split_character_is_held_back);
    tcase_add_test(t, an_invalid_byte_becomes_one_replacement);
    tcase_add_test(t, utf8_round_trip_of_every_scalar_value);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
