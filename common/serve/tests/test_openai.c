/* test_openai.c: requests in OpenAI's shapes: what is taken, and that every refusal names its
 * field; and the bytes of replies.
 */
#include "testing/check_main.h"

#include "base/json.h"
#include "serve/openai.h"

#include <stdio.h>
#include <string.h>

static int parse(struct openai_request *r, enum openai_api api, const char *body, struct err *e) {
    return openai_parse(r, api, body, strlen(body), 1000, e);
}

/* ---- refusals -------------------------------------------------------------------------------- */

#define S4  "\"a\",\"b\",\"c\",\"d\","
#define S16 S4 S4 S4 S4
#define M   "\"model\":\"m\","
#define P   M "\"prompt\":\"p\","
#define MS  M "\"messages\":[{\"role\":\"user\",\"content\":\"c\"}],"

static const struct refusal {
    enum openai_api api;
    const char *body, *field, *text;
} refusals[] = {
    {OPENAI_COMPLETIONS, "[]", "", "must be a JSON object, not an array"},
    {OPENAI_COMPLETIONS, "{}", "model", "is missing"},
    {OPENAI_COMPLETIONS, "{" M "\"stream\":true}", "prompt", "is missing"},
    {OPENAI_CHAT, "{" M "\"stream\":true}", "messages", "is missing"},
    {OPENAI_COMPLETIONS, "{\"model\":1,\"prompt\":\"p\"}", "model", "a string, not a number"},
    {OPENAI_COMPLETIONS, "{" P "\"tools\":[]}", "tools", "unknown field"},
    {OPENAI_CHAT, "{" MS "\"tools\":[{}]}", "tools[0].type", "function"},
    {OPENAI_CHAT, "{" MS "\"best_of\":1}", "best_of", "unknown field"},
    {OPENAI_COMPLETIONS, "{" P "\"frequency_penalty\":2.5}", "frequency_penalty",
     "between -2 and 2"},
    {OPENAI_COMPLETIONS, "{" P "\"presence_penalty\":\"0\"}", "presence_penalty",
     "a number, not a string"},
    {OPENAI_COMPLETIONS, "{" P "\"repetition_penalty\":0}", "repetition_penalty",
     "between 0.01 and 100"},
    {OPENAI_COMPLETIONS, "{" P "\"top_k\":-2}", "top_k", "between -1"},
    {OPENAI_COMPLETIONS, "{" P "\"min_p\":false}", "min_p", "a number, not true"},
    {OPENAI_COMPLETIONS, "{" P "\"max_tokens\":2,\"min_tokens\":3}", "min_tokens",
     "max_tokens only 2"},
    {OPENAI_COMPLETIONS, "{" P "\"best_of\":2}", "best_of", "must equal n, which is 1"},
    {OPENAI_COMPLETIONS, "{" P "\"best_of\":2,\"n\":3}", "best_of", "must equal n, which is 3"},
    {OPENAI_COMPLETIONS, "{" P "\"logprobs\":21}", "logprobs", "between 0 and 20"},
    {OPENAI_COMPLETIONS, "{" P "\"logprobs\":true}", "logprobs", "a whole number, not true"},
    {OPENAI_CHAT, "{" MS "\"logprobs\":1}", "logprobs", "true or false"},
    {OPENAI_CHAT, "{" MS "\"top_logprobs\":2}", "top_logprobs", "only with \"logprobs\""},
    {OPENAI_CHAT, "{" MS "\"logprobs\":true,\"top_logprobs\":21}", "top_logprobs", "and 20"},
    {OPENAI_CHAT, "{" MS "\"echo\":true}", "echo", "unknown field"},
    {OPENAI_COMPLETIONS, "{" P "\"echo\":1}", "echo", "true or false"},
    {OPENAI_CHAT, "{" MS "\"max_tokens\":0}", "max_tokens", "between 1 and 2147483647, not"},
    {OPENAI_CHAT, "{" MS "\"max_completion_tokens\":0}", "max_completion_tokens", "between 1"},
    {OPENAI_CHAT, "{" MS "\"max_completion_tokens\":-1}", "max_completion_tokens", "between 1"},
    {OPENAI_CHAT, "{" MS "\"min_tokens\":3,\"max_completion_tokens\":2}", "min_tokens",
     "max_completion_tokens only 2"},
    {OPENAI_COMPLETIONS, "{" P "\"logit_bias\":{\"5\":101}}", "logit_bias.5", "-100 and 100"},
    {OPENAI_COMPLETIONS, "{" P "\"logit_bias\":{\"05\":1}}", "logit_bias.05", "a token id"},
    {OPENAI_COMPLETIONS, "{" P "\"logit_bias\":{\"1000\":1}}", "logit_bias.1000", "below 1000"},
    {OPENAI_COMPLETIONS, "{" P "\"logit_bias\":{\"\":1}}", "logit_bias.", "a token id"},
    {OPENAI_COMPLETIONS, "{" P "\"logit_bias\":[1]}", "logit_bias", "an object"},
    {OPENAI_COMPLETIONS, "{" P "\"top_k\":1.5}", "top_k", "whole number, not 1.5"},
    {OPENAI_CHAT, "{" MS "\"min_p\":1.01}", "min_p", "between 0 and 1"},
    {OPENAI_CHAT, "{" MS "\"response_format\":{\"type\":\"json_schema\"}}", "response_format",
     "no other format"},
    {OPENAI_CHAT, "{" MS "\"response_format\":\"text\"}", "response_format", "no other format"},
    {OPENAI_COMPLETIONS,
     "{" P "\"ignore_eos\":true,\"response_format\":{\"type\":\"json_object\"}}", "response_format",
     "ends where it ends"},
    {OPENAI_COMPLETIONS,
     "{" P "\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}}",
     "stream_options.continuous_usage_stats", "only with"},
    {OPENAI_COMPLETIONS, "{" P "\"messages\":[]}", "messages", "unknown field"},
    {OPENAI_COMPLETIONS, "{" P "\"max_completion_tokens\":4}", "max_completion_tokens", "unknown"},
    {OPENAI_CHAT, "{" MS "\"prompt\":\"p\"}", "prompt", "unknown field"},
    {OPENAI_COMPLETIONS, "{" P "\"stream\":1}", "stream", "true or false, not a number"},
    {OPENAI_COMPLETIONS, "{" P "\"max_tokens\":0}", "max_tokens", "between 1"},
    {OPENAI_COMPLETIONS, "{" P "\"max_tokens\":1.5}", "max_tokens", "whole number, not 1.5"},
    {OPENAI_COMPLETIONS, "{" P "\"max_tokens\":\"16\"}", "max_tokens", "not a string"},
    {OPENAI_COMPLETIONS, "{" P "\"max_tokens\":99999999999}", "max_tokens", "between"},
    {OPENAI_CHAT, "{" MS "\"max_tokens\":4,\"max_completion_tokens\":5}", "max_completion_tokens",
     "differ"},
    {OPENAI_COMPLETIONS, "{" P "\"temperature\":2.1}", "temperature", "between 0 and 2"},
    {OPENAI_COMPLETIONS, "{" P "\"temperature\":-0.1}", "temperature", "between 0 and 2"},
    {OPENAI_COMPLETIONS, "{" P "\"temperature\":true}", "temperature", "a number, not true"},
    {OPENAI_COMPLETIONS, "{" P "\"top_p\":0}", "top_p", "above 0"},
    {OPENAI_COMPLETIONS, "{" P "\"top_p\":[]}", "top_p", "a number"},
    {OPENAI_COMPLETIONS, "{" P "\"seed\":0.5}", "seed", "whole number"},
    {OPENAI_COMPLETIONS, "{" P "\"seed\":9007199254740993}", "seed",
     "whole number between -9007199254740992 and 9007199254740992"},
    {OPENAI_COMPLETIONS, "{" P "\"n\":0}", "n", "between 1 and 128"},
    {OPENAI_COMPLETIONS, "{" P "\"n\":129}", "n", "between 1 and 128"},
    {OPENAI_CHAT, "{" MS "\"n\":\"2\"}", "n", "a whole number, not a string"},
    {OPENAI_COMPLETIONS, "{" M "\"n\":128,\"prompt\":[" S16 "\"q\"]}", "n", "more than 2048"},
    {OPENAI_COMPLETIONS, "{" P "\"user\":7}", "user", "a string"},
    {OPENAI_COMPLETIONS, "{" P "\"ignore_eos\":\"yes\"}", "ignore_eos", "true or false"},
    {OPENAI_COMPLETIONS, "{" P "\"stop\":\"\"}", "stop", "empty"},
    {OPENAI_COMPLETIONS, "{" P "\"stop\":[\"a\",\"\"]}", "stop[1]", "empty"},
    {OPENAI_COMPLETIONS, "{" P "\"stop\":[1]}", "stop[0]", "a string"},
    {OPENAI_COMPLETIONS, "{" P "\"stop\":[" S16 S16 S16 S16 "\"e\"]}", "stop", "at most 64"},
    {OPENAI_COMPLETIONS, "{" P "\"stop\":{}}", "stop", "array of strings"},
    {OPENAI_COMPLETIONS, "{" P "\"stream_options\":{\"include_usage\":true}}", "stream_options",
     "only with"},
    {OPENAI_COMPLETIONS, "{" P "\"stream\":true,\"stream_options\":{\"x\":1}}", "stream_options.x",
     "unknown"},
    {OPENAI_COMPLETIONS, "{" P "\"stream\":true,\"stream_options\":{\"include_usage\":1}}",
     "stream_options.include_usage", "true or false"},
    {OPENAI_COMPLETIONS, "{" P "\"stream\":true,\"stream_options\":[]}", "stream_options",
     "an object"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":7}", "prompt", "token ids, not a number"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[]}", "prompt", "is empty"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[[]]}", "prompt[0]", "is empty"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[[1],[]]}", "prompt[1]", "is empty"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[[1,[2]]]}", "prompt[0][1]", "not an array"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[[1,1000]]}", "prompt[0][1]", "vocabulary of 1000"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[\"a\",{}]}", "prompt[1]", "token ids, not an object"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":null}", "prompt", "is missing"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"user\",\"content\":null}]}",
     "messages[0].content", "missing"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[\"a\",7]}", "prompt[1]", "token ids, not a number"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[1,2.5]}", "prompt[1]", "whole number"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[1,-2]}", "prompt[1]", "between 0"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[1,\"a\"]}", "prompt[1]", "not a string"},
    {OPENAI_COMPLETIONS, "{" M "\"prompt\":[1,1000]}", "prompt[1]", "vocabulary of 1000"},
    {OPENAI_CHAT, "{" M "\"messages\":{}}", "messages", "array of messages"},
    {OPENAI_CHAT, "{" M "\"messages\":[]}", "messages", "1 to"},
    {OPENAI_CHAT, "{" M "\"messages\":[7]}", "messages[0]", "an object"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"content\":\"c\"}]}", "messages[0].role", "is missing"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"user\"}]}", "messages[0].content", "missing"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"function\",\"content\":\"c\"}]}",
     "messages[0].role", "\"system\""},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":1,\"content\":\"c\"}]}", "messages[0].role",
     "a string"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"user\",\"content\":1}]}", "messages[0].content",
     "text parts"},
    {OPENAI_CHAT,
     "{" M "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
     "messages[0].content[0]", "text only"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"user\",\"content\":\"c\",\"name\":7}]}",
     "messages[0].name", "a string"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"assistant\"}]}", "messages[0].content",
     "missing"},
    {OPENAI_CHAT, "{" M "\"messages\":[{\"role\":\"user\",\"content\":\"c\",\"x\":1}]}",
     "messages[0].x", "unknown"},
};

START_TEST(refusal_names_the_field) {
    const struct refusal *want = &refusals[_i];
    struct openai_request r;
    struct err e;
    ck_assert_msg(parse(&r, want->api, want->body, &e) == -1, "%s was taken", want->body);
    ck_assert_str_eq(e.field, want->field);
    ck_assert_msg(strstr(e.text, want->text) != NULL, "%s: '%s' lacks '%s'", want->body, e.text,
                  want->text);
}
END_TEST

START_TEST(malformed_json_names_the_line) {
    struct openai_request r;
    struct err e;
    ck_assert_int_eq(parse(&r, OPENAI_CHAT, "{\n\"model\": \"m\",\n\"messages\": [}", &e), -1);
    ck_assert_int_eq(e.line, 3);
    ck_assert_int_eq(parse(&r, OPENAI_CHAT, "{\"model\":\"m\",\"model\":\"n\"}", &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "twice"));
    ck_assert_int_eq(parse(&r, OPENAI_CHAT, "", &e), -1);
}
END_TEST

/* ---- what is taken --------------------------------------------------------------------------- */

START_TEST(chat_with_everything) {
    struct openai_request r;
    struct err e = {0};
    const char *body =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"text\":\"b\",\"type\":\"text\"}]}],\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true},\"stop\":[\"x\",\"yy\"],"
        "\"max_completion_tokens\":7,\"max_tokens\":7,\"temperature\":0,\"top_p\":0.5,\"seed\":-3,"
        "\"n\":1,\"user\":\"u\",\"ignore_eos\":true}";
    ck_assert_msg(!parse(&r, OPENAI_CHAT, body, &e), "%s: %s", e.field, e.text);
    ck_assert_uint_eq(r.n_messages, 2);
    ck_assert_str_eq(r.messages[0].role, "system");
    ck_assert_str_eq(r.messages[1].content, "ab");
    ck_assert(r.stream && r.include_usage && r.has_seed && r.ignore_eos);
    ck_assert_int_eq(r.n_stops, 2);
    ck_assert_str_eq(r.stops[1].text, "yy");
    ck_assert_int_eq(r.max_tokens, 7);
    ck_assert(r.sampling.temperature == 0 && r.sampling.top_p == 0.5f);
    ck_assert_uint_eq(r.sampling.seed, (uint64_t)-3);
    openai_request_release(&r);
}
END_TEST

START_TEST(null_is_as_if_left_out) {
    struct openai_request r;
    struct err e = {0};
    const char *body =
        "{" P "\"stop\":null,\"max_tokens\":null,\"temperature\":null,\"top_p\":null,"
        "\"seed\":null,\"stream\":null,\"n\":null,\"user\":null,\"stream_options\":null,"
        "\"ignore_eos\":null,\"messages\":null,\"tools\":null}";
    ck_assert_msg(!parse(&r, OPENAI_COMPLETIONS, body, &e), "%s: %s", e.field, e.text);
    ck_assert(r.sampling.temperature == 1 && r.sampling.top_p == 1 && !r.has_seed && !r.stream &&
              !r.ignore_eos);
    ck_assert_int_eq(r.max_tokens, -1);
    openai_request_release(&r);
    const char *chat =
        "{" M "\"stream\":true,\"stream_options\":{\"include_usage\":null,\"x\":null},"
        "\"max_completion_tokens\":null,\"prompt\":null,\"messages\":[{\"role\":\"user\","
        "\"name\":null,\"content\":[{\"type\":\"text\",\"text\":\"c\",\"image_url\":null}]}]}";
    ck_assert_msg(!parse(&r, OPENAI_CHAT, chat, &e), "%s: %s", e.field, e.text);
    ck_assert(!r.include_usage && !strcmp(r.messages[0].content, "c"));
    openai_request_release(&r);
}
END_TEST

START_TEST(prompts_of_four_shapes) {
    struct openai_request r;
    struct err e = {0};
    ck_assert(!parse(&r, OPENAI_COMPLETIONS, "{" M "\"prompt\":[\"one\"]}", &e));
    ck_assert_str_eq(r.prompts[0].text, "one");
    openai_request_release(&r);
    ck_assert(!parse(&r, OPENAI_COMPLETIONS, "{" M "\"prompt\":[0,999,7]}", &e));
    ck_assert_int_eq(r.prompts[0].n_ids, 3);
    ck_assert_int_eq(r.prompts[0].ids[1], 999);
    ck_assert_ptr_null(r.prompts[0].text);
    openai_request_release(&r);
    ck_assert(!parse(&r, OPENAI_COMPLETIONS, "{" M "\"prompt\":[[1,2,3]]}", &e));
    ck_assert(r.prompts[0].n_ids == 3 && r.prompts[0].ids[2] == 3 && !r.prompts[0].text);
    openai_request_release(&r);
    ck_assert(!parse(&r, OPENAI_COMPLETIONS,
                     "{" M "\"n\":2,\"best_of\":2,\"prompt\":[\"x\",[4,5],\"yz\"]}", &e));
    ck_assert(r.n == 2 && r.n_prompts == 3 && r.prompts[2].n_text == 2);
    ck_assert(r.prompts[1].n_ids == 2 && !strcmp(r.prompts[0].text, "x"));
    openai_request_release(&r);
    /* an empty prompt is refused later, where it is tokenized */
    ck_assert(!parse(&r, OPENAI_COMPLETIONS, "{" M "\"prompt\":\"\"}", &e));
    ck_assert_str_eq(r.prompts[0].text, "");
    openai_request_release(&r);
}
END_TEST

START_TEST(neutral_values_are_taken) {
    static const char *const both[] = {"\"frequency_penalty\":0",
                                       "\"presence_penalty\":0.0",
                                       "\"repetition_penalty\":1",
                                       "\"repetition_penalty\":1.0",
                                       "\"top_k\":-1",
                                       "\"top_k\":0",
                                       "\"min_p\":0",
                                       "\"min_tokens\":0",
                                       "\"logprobs\":null",
                                       "\"logprobs\":false",
                                       "\"logit_bias\":{}",
                                       "\"response_format\":{\"type\":\"text\"}",
                                       "\"n\":1"};
    static const char *const chat[] = {"\"tools\":[]", "\"tool_choice\":\"none\"",
                                       "\"top_logprobs\":0"};
    static const char *const completions[] = {"\"best_of\":1", "\"echo\":false", "\"suffix\":\"\""};
    static const struct {
        enum openai_api api;
        const char *head, *const *fields;
        size_t n;
    } sets[] = {{OPENAI_CHAT, MS, both, sizeof both / sizeof *both},
                {OPENAI_CHAT, MS, chat, sizeof chat / sizeof *chat},
                {OPENAI_COMPLETIONS, P, both, sizeof both / sizeof *both},
                {OPENAI_COMPLETIONS, P, completions, sizeof completions / sizeof *completions}};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        for (size_t i = 0; i < sets[k].n; i++) {
            struct openai_request r;
            struct err e = {0};
            char body[256];
            snprintf(body, sizeof body, "{%s%s}", sets[k].head, sets[k].fields[i]);
            ck_assert_msg(!parse(&r, sets[k].api, body, &e), "%s: %s", body, e.text);
            openai_request_release(&r);
        }
}
END_TEST

START_TEST(sampling_settings_are_read) {
    struct openai_request r;
    struct err e = {0};
    const char *body = "{" P "\"top_k\":40,\"min_p\":0.05,\"min_tokens\":3,\"presence_penalty\":-2,"
                       "\"frequency_penalty\":0.5,\"repetition_penalty\":1.25,"
                       "\"logit_bias\":{\"0\":-100,\"999\":1.5}}";
    ck_assert_msg(!parse(&r, OPENAI_COMPLETIONS, body, &e), "%s: %s", e.field, e.text);
    const struct token_rules_config *c = &r.sampling.rules;
    ck_assert(r.sampling.top_k == 40 && r.sampling.min_p == 0.05f && c->min_tokens == 3);
    ck_assert(c->presence_penalty == -2 && c->frequency_penalty == 0.5f);
    ck_assert(c->repetition_penalty == 1.25f && c->n_bias == 2);
    ck_assert(c->bias[0].id == 0 && c->bias[0].bias == -100);
    ck_assert(c->bias[1].id == 999 && c->bias[1].bias == 1.5f);
    openai_request_release(&r);
}
END_TEST

START_TEST(messages_of_real_clients) {
    struct openai_request r;
    struct err e = {0};
    const char *body =
        "{" M "\"messages\":[{\"role\":\"developer\",\"content\":\"d\",\"name\":\"x\"},"
        "{\"role\":\"assistant\",\"content\":null},"
        "{\"role\":\"assistant\",\"content\":null,\"refusal\":\"no\"},"
        "{\"role\":\"assistant\",\"content\":\"yes\",\"refusal\":null}]}";
    ck_assert_msg(!parse(&r, OPENAI_CHAT, body, &e), "%s: %s", e.field, e.text);
    ck_assert_str_eq(r.messages[0].role, "system");
    ck_assert_str_eq(r.messages[1].content, "");
    ck_assert_str_eq(r.messages[2].content, "no");
    ck_assert_str_eq(r.messages[3].content, "yes");
    openai_request_release(&r);
}
END_TEST

/* ---- replies --------------------------------------------------------------------------------- */

static cJSON *event(const struct buffer *b) {
    struct err e;
    ck_assert(b->n > 8 && !strncmp(b->bytes, "data: ", 6) && !strcmp(b->bytes + b->n - 2, "\n\n"));
    cJSON *tree = json_parse(b->bytes + 6, b->n - 8, 1, &e);
    ck_assert_msg(tree != NULL, "%s", b->bytes);
    return tree;
}

START_TEST(only_the_first_chunk_carries_the_role) {
    struct buffer b = {0};
    struct openai_reply r = {
        .api = OPENAI_CHAT, .request_id = "r-1", .model = "m\"x", .created_s = 5};
    openai_chunk(&b, &r, &(struct openai_choice){.first = true, .text = "a\nb\0c", .n = 5});
    ck_assert_ptr_nonnull(
        strstr(b.bytes, "{\"role\":\"assistant\",\"content\":\"a\\nb\\u0000c\"}"));
    ck_assert_ptr_nonnull(strstr(b.bytes, "\"model\":\"m\\\"x\""));
    ck_assert_ptr_null(strstr(b.bytes, "usage"));
    buffer_clear(&b);
    openai_chunk(&b, &r, &(struct openai_choice){.index = 7, .text = "a", .n = 1});
    ck_assert_ptr_nonnull(strstr(b.bytes, "\"index\":7,"));
    ck_assert_ptr_nonnull(strstr(b.bytes, "\"delta\":{\"content\":\"a\"}"));
    cJSON_Delete(event(&b));
    buffer_release(&b);
}
END_TEST

START_TEST(usage_comes_in_a_chunk_without_choices) {
    struct buffer b = {0};
    struct openai_reply r = {.api = OPENAI_COMPLETIONS,
                             .request_id = "r-1",
                             .model = "m",
                             .created_s = 5,
                             .include_usage = true};
    openai_chunk_usage(&b, &r, (struct openai_usage){3, 4, -1});
    cJSON *tree = event(&b);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "choices")), 0);
    cJSON *usage = cJSON_GetObjectItem(tree, "usage");
    ck_assert_int_eq(cJSON_GetObjectItem(usage, "total_tokens")->valueint, 7);
    cJSON_Delete(tree);
    buffer_clear(&b);
    openai_chunk(&b, &r, &(struct openai_choice){.first = true, .text = "a", .n = 1});
    ck_assert_ptr_nonnull(strstr(b.bytes, "\"usage\":null"));
    buffer_release(&b);
}
END_TEST

START_TEST(what_is_not_utf8_becomes_a_replacement) {
    struct buffer b = {0};
    openai_error(&b, "t", "bad \xff\xe2\x82 end", "f\xc3", NULL);
    struct err e;
    cJSON *tree = json_parse(b.bytes, b.n, 1, &e);
    ck_assert_msg(tree != NULL, "%s", e.text);
    cJSON *error = cJSON_GetObjectItem(tree, "error");
    ck_assert_str_eq(cJSON_GetObjectItem(error, "message")->valuestring,
                     "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd end");
    ck_assert(cJSON_IsNull(cJSON_GetObjectItem(error, "code")));
    cJSON_Delete(tree);
    buffer_release(&b);
}
END_TEST

static Suite *openai_suite(void) {
    Suite *s = suite_create("openai");
    TCase *c = tcase_create("openai");
    tcase_add_loop_test(c, refusal_names_the_field, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(c, malformed_json_names_the_line);
    tcase_add_test(c, chat_with_everything);
    tcase_add_test(c, null_is_as_if_left_out);
    tcase_add_test(c, prompts_of_four_shapes);
    tcase_add_test(c, neutral_values_are_taken);
    tcase_add_test(c, sampling_settings_are_read);
    tcase_add_test(c, messages_of_real_clients);
    tcase_add_test(c, only_the_first_chunk_carries_the_role);
    tcase_add_test(c, usage_comes_in_a_chunk_without_choices);
    tcase_add_test(c, what_is_not_utf8_becomes_a_replacement);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return check_main(openai_suite());
}
