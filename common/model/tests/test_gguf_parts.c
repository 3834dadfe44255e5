/* test_gguf_parts.c: a model split over several files: read as one, or refused with the part's
 * name. */
#include "model/gguf.h"
#include "testing/check_main.h"

#include "gguf_write.h"

#include <unistd.h>

enum { PARTS = 3 };
static char folder[] = "/tmp/servelab-parts-XXXXXX";

static const char *path_of(const char *name) {
    static char path[2][96];
    static int turn;
    char *out = path[turn++ % 2];
    snprintf(out, 96, "%s/%s", folder, name);
    return out;
}

/* Writes part `no` of `count` as `name`: the tensor "t<no>" of one value, and the file's number of
 * tensors in all where `total` isn't 0. */
static void write_part(const char *name, uint16_t no, uint16_t count, uint32_t total) {
    struct gw w = {0};
    if (no == 0) gw_key_str(&w, "general.name", "split");
    gw_key_raw(&w, "split.no", GW_U16, &no, sizeof no);
    gw_key_raw(&w, "split.count", GW_U16, &count, sizeof count);
    if (total) gw_key_u32(&w, "split.tensors.count", total);
    char tensor[16];
    snprintf(tensor, sizeof tensor, "t%u", no);
    float value = (float)no + 0.5f;
    gw_tensor(&w, tensor, 0, 1, 0, &value, sizeof value);
    size_t n;
    uint8_t *bytes = gw_finish(&w, &n);
    FILE *f = fopen(path_of(name), "wb");
    ck_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    free(bytes);
}

static const char *const names[PARTS] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                         "m-00003-of-00003.gguf"};

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (uint16_t i = 0; i < PARTS; i++) write_part(names[i], i, PARTS, PARTS);
}

static void teardown(void) {
    for (int i = 0; i < PARTS; i++) unlink(path_of(names[i]));
    unlink(path_of("renamed.gguf"));
    rmdir(folder);
}

static void refused(const char *name, const char *field, const char *words) {
    struct err e = {0};
    ck_assert_ptr_null(gguf_open(path_of(name), &e));
    ck_assert_msg(strcmp(e.field, field) == 0 && strstr(e.text, words), "%s: %s: %s", name, e.field,
                  e.text);
}

START_TEST(parts_are_read_as_one) {
    struct err e = {0};
    struct gguf *g = gguf_open(path_of(names[0]), &e);
    ck_assert_msg(g != NULL, "%s: %s", e.field, e.text);
    ck_assert_uint_eq(gguf_n_tensors(g), PARTS);
    for (int i = 0; i < PARTS; i++) {
        char tensor[16];
        struct tensor t;
        snprintf(tensor, sizeof tensor, "t%d", i);
        ck_assert_int_eq(gguf_get_tensor(g, tensor, &t, &e), 0);
        ck_assert(*(const float *)t.data == (float)i + 0.5f);
    }
    struct gguf_str name;
    ck_assert(gguf_get_str(g, "general.name", &name, &e) == 0 && name.n == 5);
    ck_assert_uint_gt(gguf_file_bytes(g), 3 * 100);
    gguf_close(g);
}
END_TEST

START_TEST(a_part_that_is_not_there_is_named) {
    unlink(path_of(names[2]));
    refused(names[0], "split.count",
            "part 1 of 3; the others must be beside it: 'm-00003-of-00003.gguf'");
    refused(names[1], "split.no", "part 2 of 3; name part 1");
    ck_assert_int_eq(rename(path_of(names[0]), path_of("renamed.gguf")), 0);
    refused("renamed.gguf", "split.count", "must end in -00001-of-00003.gguf");
}
END_TEST

START_TEST(parts_of_different_models_are_named) {
    write_part(names[2], 1, PARTS, PARTS); /* part 2 under part 3's name */
    refused(names[0], "split.no", "is part 2 of 3, not part 3 of 3");
    write_part(names[2], 2, 4, PARTS);
    refused(names[0], "split.no", "is part 3 of 4");
    write_part(names[2], 2, PARTS, PARTS);
    write_part(names[0], 0, PARTS, 7); /* claims seven tensors */
    refused(names[0], "split.tensors.count", "7");
    write_part(names[0], 0, PARTS, 0); /* doesn't say how many */
    struct err e;
    struct gguf *g = gguf_open(path_of(names[0]), &e);
    ck_assert_ptr_nonnull(g);
    gguf_close(g);
    ck_assert_int_eq(truncate(path_of(names[1]), 60), 0);
    refused(names[0], "split.count", "'m-00002-of-00003.gguf'");
}
END_TEST

START_TEST(impossible_numbers_are_named) {
    write_part(names[0], 3, PARTS, PARTS);
    refused(names[0], "split.no", "is 3");
    write_part(names[0], 0, 60000, PARTS);
    refused(names[0], "split.count", "is 60000");
}
END_TEST

START_TEST(a_part_in_memory_is_refused) {
    struct gw w = {0};
    gw_key_u32(&w, "split.count", 2);
    size_t n;
    uint8_t *bytes = gw_finish(&w, &n);
    struct err e = {0};
    ck_assert_ptr_null(gguf_from_memory(bytes, n, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "part 1 of 2"));
    free(bytes);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("gguf_parts");
    TCase *t = tcase_create("gguf_parts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, parts_are_read_as_one);
    tcase_add_test(t, a_part_that_is_not_there_is_named);
    tcase_add_test(t, parts_of_different_models_are_named);
    tcase_add_test(t, impossible_numbers_are_named);
    tcase_add_test(t, a_part_in_memory_is_refused);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
