/* test_questions.c: prompts have the required length, keys differ enough, held-out pairs are held
 * out. The vocabulary is the embedded model's. */
#include "model/gguf.h"
#include "model/tests/small_vocab.h"
#include "quality/checks.h"
#include "quality/questions.h"
#include "testing/check_main.h"

#include <stdlib.h>
#include <string.h>

static struct gguf *file;
static struct tokenizer *tok;

static void open_vocabulary(void) {
    struct err e;
    file = gguf_open("common/model/embedded/servelab-tiny.gguf", &e);
    ck_assert_msg(file != NULL, "%s", e.text);
    tok = tokenizer_create(file, &e);
    ck_assert_msg(tok != NULL, "%s", e.text);
}

static void close_vocabulary(void) {
    tokenizer_free(tok);
    gguf_close(file);
}

static int32_t count(const char *text) {
    struct chat_message m = {.role = "user", .content = text};
    struct err e;
    int32_t *ids = NULL, n = tokenizer_encode_chat(tok, &m, 1, &ids, &e);
    free(ids);
    return n;
}

START_TEST(every_prompt_has_exactly_the_tokens_asked_for) {
    static const int32_t lengths[] = {400, 512, 2047, 2048, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int k = 0; k < QUESTION_ALL_KINDS; k++)
            for (uint64_t seed = 1; seed <= 4; seed++) {
                struct question q;
                struct err e;
                char *text;
                int rc =
                    question_prompt(tok, (enum question_kind)k, seed, 3, lengths[i], &text, &q, &e);
                ck_assert_msg(rc == 0, "%s", e.text);
                ck_assert_int_eq(count(text), lengths[i]);
                free(text);
            }
}
END_TEST

START_TEST(equal_seeds_give_equal_prompts_and_others_differ) {
    struct question q;
    struct err e;
    char *a, *b, *c;
    ck_assert_int_eq(question_prompt(tok, QUESTION_RECALL, 7, 0, 2048, &a, &q, &e), 0);
    ck_assert_int_eq(question_prompt(tok, QUESTION_RECALL, 7, 0, 2048, &b, &q, &e), 0);
    ck_assert_int_eq(question_prompt(tok, QUESTION_RECALL, 8, 0, 2048, &c, &q, &e), 0);
    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
    free(a);
    free(b);
    free(c);
}
END_TEST

START_TEST(the_log_holds_the_answer_and_keys_stand_apart) {
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct question_log log;
        struct err e;
        ck_assert_int_eq(question_log_make(&log, tok, WORDING_GRAMMAR, seed, 2048, &e), 0);
        ck_assert(log.n_keys >= QUESTION_MIN_KEYS && log.n_keys <= QUESTION_MAX_KEYS);
        for (int32_t i = 0; i < log.n_keys; i++) {
            char line[32];
            snprintf(line, sizeof line, "key %s %s\n", log.records[i].key, log.records[i].value);
            ck_assert_int_eq(
                memcmp(log.text + log.records[i].end - strlen(line), line, strlen(line)), 0);
            for (int32_t j = 0; j < i; j++) {
                int differ = 0;
                for (int k = 0; k < 4; k++)
                    differ += log.records[i].key[k] != log.records[j].key[k];
                ck_assert_int_ge(differ, 3);
            }
        }
        question_log_release(&log);
    }
}
END_TEST

START_TEST(recall_goes_through_every_record) {
    struct question_log log;
    struct err e;
    ck_assert_int_eq(question_log_make(&log, tok, WORDING_GRAMMAR, 5, 2048, &e), 0);
    for (int32_t i = 0; i < log.n_keys; i++) {
        struct question q;
        ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_RECALL, 5, i, &e), 0);
        ck_assert_int_eq(q.record, i);
        ck_assert_str_eq(q.answer + 1, log.records[i].value);
        ck_assert_ptr_nonnull(strstr(q.tail, log.records[i].key));
    }
    question_log_release(&log);
}
END_TEST

/* The expected answers are recomputed from the question's text, not from the generator's variables.
 */
START_TEST(answers_follow_from_the_questions_text) {
    struct question_log log;
    struct err e;
    ck_assert_int_eq(question_log_make(&log, tok, WORDING_GRAMMAR, 9, 2048, &e), 0);
    for (int32_t i = 0; i < 200; i++) {
        struct question q;
        ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_SUM, 9, i, &e), 0);
        int a, b;
        const char *ask = strrchr(q.tail, '\n') + 1;
        ck_assert_int_eq(sscanf(ask, "%d+%d=", &a, &b), 2);
        ck_assert_int_eq(atoi(q.answer), a + b);
        ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_TOOL, 9, i, &e), 0);
        ask = strrchr(q.tail, '\n') + 1;
        char want[64] = "";
        if (sscanf(ask, "subtract %d from %d>", &a, &b) == 2)
            snprintf(want, sizeof want, "{\"tool\":\"sub\",\"args\":[%d,%d]}", b, a);
        else if (sscanf(ask, "divide %d by %d>", &a, &b) == 2)
            snprintf(want, sizeof want, "{\"tool\":\"div\",\"args\":[%d,%d]}", a, b);
        if (want[0]) ck_assert_str_eq(q.answer, want);
        struct quality_result r; /* and a right answer passes its own check */
        ck_assert_int_eq(quality_judge("tool-call/1", q.answer, q.answer, strlen(q.answer), &r, &e),
                         0);
        ck_assert_int_eq(r.quality, VERDICT_PASSED);
    }
    question_log_release(&log);
}
END_TEST

/* The answer is counted again here, from the record that the question's text names. */
START_TEST(a_count_goes_from_the_records_value_to_the_next_full_hundred) {
    int32_t shortest = 1000, longest = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct question_log log;
        struct err e;
        ck_assert_int_eq(question_log_make(&log, tok, WORDING_GRAMMAR, seed, 2048, &e), 0);
        for (int32_t i = 0; i < 12; i++) {
            struct question q;
            ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_COUNT, seed, i, &e), 0);
            char key[5], record[32];
            ck_assert_int_eq(sscanf(strrchr(q.tail, '\n') + 1, "get %4s full>", key), 1);
            snprintf(record, sizeof record, "key %s ", key);
            const char *line = strstr(log.text, record), *answer = q.answer;
            ck_assert_ptr_nonnull(line);
            int value = atoi(line + strlen(record)), number, used, n = 0;
            for (; sscanf(answer, " %4d%n", &number, &used) == 1; answer += used, n++)
                ck_assert_int_eq(number, (value + n) % 10000);
            ck_assert_int_eq(number % 100, 0);
            ck_assert_int_eq(strlen(q.answer), 5 * n);
            int32_t *ids = NULL;
            int32_t tokens = tokenizer_encode(tok, q.answer, strlen(q.answer), false, &ids, &e);
            free(ids);
            shortest = tokens < shortest ? tokens : shortest;
            longest = tokens > longest ? tokens : longest;
            struct quality_result r;
            ck_assert_int_eq(
                quality_judge("key-count/1", q.answer, q.answer, strlen(q.answer), &r, &e), 0);
            ck_assert_int_eq(r.quality, VERDICT_PASSED);
        }
        question_log_release(&log);
    }
    ck_assert_int_eq(shortest, 120);
    ck_assert_int_eq(longest, 200);
}
END_TEST

/* A seed's records in both wordings, and answers found again from the whole prompt's text. */
START_TEST(plain_questions_ask_in_english_about_the_same_records) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct question_log log, grammar;
        struct err e;
        ck_assert_int_eq(question_log_make(&log, tok, WORDING_PLAIN, seed, 2048, &e), 0);
        ck_assert_int_eq(question_log_make(&grammar, tok, WORDING_GRAMMAR, seed, 2048, &e), 0);
        ck_assert_int_eq(log.n_keys, grammar.n_keys);
        for (int32_t i = 0; i < log.n_keys; i++) {
            ck_assert_str_eq(log.records[i].key, grammar.records[i].key);
            ck_assert_str_eq(log.records[i].value, grammar.records[i].value);
        }
        for (int32_t i = 0; i < 20; i++) {
            struct question q;
            char key[2][5], record[2][32], value[2][5] = {"", ""}, want[16];
            int a, b;
            ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_PLAIN_RECALL, seed, i, &e), 0);
            ck_assert_int_eq(sscanf(strrchr(q.tail, '\n') + 1,
                                    "Find the line that begins with \"key %4s\" and repeat it.",
                                    key[0]),
                             1);
            ck_assert_str_eq(key[0], log.records[i % log.n_keys].key);
            ck_assert_int_eq(q.record, i % log.n_keys);
            ck_assert_str_eq(q.answer, log.records[i % log.n_keys].value);

            ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_PLAIN_SUM, seed, i, &e), 0);
            ck_assert_int_eq(sscanf(strrchr(q.tail, '\n') + 1, "What is %d + %d?", &a, &b), 2);
            ck_assert_int_eq(atoi(q.answer), a + b);

            ck_assert_int_eq(question_make(&q, &log, tok, QUESTION_PLAIN_PAIR, seed, i, &e), 0);
            ck_assert_int_eq(
                sscanf(
                    strrchr(q.tail, '\n') + 1,
                    "Find the lines that begin with \"key %4s\" and \"key %4s\" and repeat them.",
                    key[0], key[1]),
                2);
            ck_assert_str_ne(key[0], key[1]);
            for (int k = 0; k < 2; k++) {
                snprintf(record[k], sizeof record[k], "key %s ", key[k]);
                const char *line = strstr(log.text, record[k]);
                ck_assert_ptr_nonnull(line);
                memcpy(value[k], line + strlen(record[k]), 4);
            }
            snprintf(want, sizeof want, "%s %s", value[0], value[1]);
            ck_assert_str_eq(q.answer, want);
        }
        question_log_release(&log);
        question_log_release(&grammar);
    }
}
END_TEST

START_TEST(every_check_belongs_to_one_kind_and_judges_its_right_answer) {
    int n = 0;
    for (int w = 0; w < WORDINGS; w++) {
        struct question_set set = question_set((enum question_wording)w);
        ck_assert_int_eq(set.first, n);
        n += set.n;
        for (int k = set.first; k < n; k++) {
            enum question_kind kind = (enum question_kind)k;
            struct question q;
            struct quality_result r;
            struct err e;
            char *text;
            ck_assert_int_eq(question_from_check(question_check(kind)), k);
            ck_assert_int_eq(question_wording(kind), w);
            ck_assert_int_eq(question_prompt(tok, kind, 3, 2, 2048, &text, &q, &e), 0);
            free(text);
            ck_assert_int_eq(
                quality_judge(question_check(kind), q.answer, q.answer, strlen(q.answer), &r, &e),
                0);
            ck_assert_int_eq(r.quality, VERDICT_PASSED);
        }
    }
    ck_assert_int_eq(n, QUESTION_ALL_KINDS);
    ck_assert_int_eq(question_from_check("plain-recall/2"), -1);
    ck_assert_int_eq(question_wording_for(tok), WORDING_GRAMMAR); /* the embedded model's */
}
END_TEST

/* A model with turns, whose tokens are single bytes for most of a prompt. */
START_TEST(a_model_that_chats_is_asked_in_english) {
    struct tokenizer *t = make();
    ck_assert_int_eq(question_wording_for(t), WORDING_PLAIN);
    for (int k = QUESTION_KINDS; k < QUESTION_ALL_KINDS; k++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct question q;
            struct err e;
            char *text;
            int rc = question_prompt(t, (enum question_kind)k, seed, 3, 2048, &text, &q, &e);
            ck_assert_msg(rc == 0, "%s: %s", question_check((enum question_kind)k), e.text);
            free(text);
        }
    tokenizer_free(t);
}
END_TEST

START_TEST(impossible_lengths_are_refused) {
    struct question_log log;
    struct err e;
    ck_assert_int_eq(question_log_make(&log, tok, WORDING_GRAMMAR, 1, 10, &e), -1);
    ck_assert_int_eq(question_log_make(&log, tok, WORDING_GRAMMAR, 1, 1 << 20, &e), -1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("questions");
    TCase *t = tcase_create("questions");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, open_vocabulary, close_vocabulary);
    tcase_add_test(t, every_prompt_has_exactly_the_tokens_asked_for);
    tcase_add_test(t, equal_seeds_give_equal_prompts_and_others_differ);
    tcase_add_test(t, the_log_holds_the_answer_and_keys_stand_apart);
    tcase_add_test(t, recall_goes_through_every_record);
    tcase_add_test(t, answers_follow_from_the_questions_text);
    tcase_add_test(t, a_count_goes_from_the_records_value_to_the_next_full_hundred);
    tcase_add_test(t, plain_questions_ask_in_english_about_the_same_records);
    tcase_add_test(t, every_check_belongs_to_one_kind_and_judges_its_right_answer);
    tcase_add_test(t, a_model_that_chats_is_asked_in_english);
    tcase_add_test(t, impossible_lengths_are_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
