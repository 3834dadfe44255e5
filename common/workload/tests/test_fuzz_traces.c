/* test_fuzz_traces.c: some ten thousand fixed mutations of traces, for `make test`. */
#include "fuzz_traces.c"

#include "testing/check_main.h"

/* The first character chooses the format: its last two bits are enum trace_format. */
static const char *const seeds[] = {
    "0TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
    "2024-02-29 23:59:59+00:00,396,109\r\n\n2023-11-16 18:15:51.2,879,0",
    "1{\"timestamp\": 0, \"input_length\": 1200, \"output_length\": 6, \"hash_ids\": [0, 1, 2]}\n"
    "{\"hash_ids\":[0,1],\"x\":{\"a\":[\"]\\\"}\"]},\"output_length\":0,\"input_length\":1024,"
    "\"timestamp\":27.5}\n",
    "2Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,GPT-3.5,472,18,490,Conversation log\n45.0,GPT-4,1087,0,1087,API log\n4,,1,1,2,\n",
    "3arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n7.5e-05,91,16\n"
    "5.8926549999999995,396,109\n",
    "3\xef\xbb\xbfnum_decode_tokens,extra,arrived_at,num_prefill_tokens\r\n1,,2,3\r\n",
};

START_TEST(any_bytes_are_refused_or_read_alike) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 20000, 3);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_traces");
    TCase *t = tcase_create("fuzz_traces");
    tcase_add_test(t, any_bytes_are_refused_or_read_alike);
    suite_add_tcase(s, t);
    return check_main(s);
}
