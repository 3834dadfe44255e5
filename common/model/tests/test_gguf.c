/* test_gguf.c: the container reader on valid files and on every known kind of invalid file. */
#include "model/gguf.h"
#include "testing/check_main.h"

#include "gguf_write.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- right files ----------------------------------------------------------------------------- */

static uint8_t *good_file(size_t *n) {
    struct gw w = {0};
    gw_key_raw(&w, "i8", GW_I8, "\xff", 1);
    gw_key_raw(&w, "u8", GW_U8, "\xff", 1);
    gw_key_raw(&w, "i16", GW_I16, "\x00\x80", 2);
    gw_key_raw(&w, "u16", GW_U16, "\xff\xff", 2);
    gw_key_u32(&w, "u32", 0xffffffffu);
    gw_key_raw(&w, "i32", GW_I32, "\x00\x00\x00\x80", 4);
    gw_key_raw(&w, "u64", GW_U64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    gw_key_raw(&w, "i64", GW_I64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    gw_key_f32(&w, "f32", 0.5f);
    double f64 = 1e300;
    gw_key_raw(&w, "f64", GW_F64, &f64, 8);
    gw_key_bool(&w, "yes", 1);
    gw_key_bool(&w, "no", 0);
    gw_key(&w, "text", GW_STR);
    gw_strn(&w.keys, "a\0b", 3);
    gw_key_array(&w, "words", GW_STR, 3);
    gw_strn(&w.keys, "", 0);
    gw_strn(&w.keys, "two", 3);
    gw_strn(&w.keys, "\0", 1);
    gw_key_array(&w, "numbers", GW_I16, 2);
    gw_put(&w.keys, "\xff\xff\x02\x00", 4);
    gw_key_array(&w, "nothing", GW_F64, 0);
    gw_key_array(&w, "nested", GW_ARR, 2); /* is skipped */
    gw_u32(&w.keys, GW_U8);
    gw_u64(&w.keys, 3);
    gw_put(&w.keys, "abc", 3);
    gw_u32(&w.keys, GW_STR);
    gw_u64(&w.keys, 1);
    gw_strn(&w.keys, "deep", 4);
    gw_key_f32(&w, "third", 1.0f / 3);
    gw_key_array(&w, "twos", GW_U8, 5);
    gw_put(&w.keys, "\2\2\2\2\2", 5);
    float m[6] = {1, 2, 3, 4, 5, 6};
    gw_tensor(&w, "matrix", 0, 3, 2, m, sizeof m);
    gw_tensor(&w, "vector", 0, 6, 0, m, sizeof m);
    uint8_t q[2 * 18] = {0};
    gw_tensor(&w, "quant", 2, 32, 2, q, sizeof q);
    return gw_finish(&w, n);
}

static void check_good(const struct gguf *g) {
    int64_t v = 7;
    struct err e;
    const struct {
        const char *key;
        int64_t want;
    } ints[] = {{"i8", -1},          {"u8", 255},        {"i16", -32768}, {"u16", 65535},
                {"u32", UINT32_MAX}, {"i32", INT32_MIN}, {"i64", -1}};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        ck_assert_int_eq(gguf_get_int(g, ints[i].key, INT64_MIN, INT64_MAX, &v, &e), 0);
        ck_assert_int_eq(v, ints[i].want);
    }
    ck_assert_int_eq(gguf_get_int(g, "absent", 0, 1, &v, &e), 1);
    ck_assert_int_eq(v, -1); /* unchanged */
    double d;
    ck_assert(gguf_get_float(g, "f32", &d, &e) == 0 && d == 0.5);
    ck_assert(gguf_get_float(g, "f64", &d, &e) == 0 && d == 1e300);
    bool b;
    ck_assert(gguf_get_bool(g, "yes", &b, &e) == 0 && b);
    ck_assert(gguf_get_bool(g, "no", &b, &e) == 0 && !b);
    struct gguf_str s, *words;
    ck_assert(gguf_get_str(g, "text", &s, &e) == 0 && s.n == 3 && memcmp(s.s, "a\0b", 3) == 0);
    uint64_t n;
    ck_assert_int_eq(gguf_get_str_array(g, "words", &words, &n, &e), 0);
    ck_assert(n == 3 && words[0].n == 0 && words[1].n == 3 && words[2].n == 1);
    ck_assert(memcmp(words[1].s, "two", 3) == 0);
    free(words);
    int32_t *numbers;
    ck_assert_int_eq(gguf_get_int_array(g, "numbers", &numbers, &n, &e), 0);
    ck_assert(n == 2 && numbers[0] == -1 && numbers[1] == 2);
    free(numbers);
    ck_assert_int_eq(gguf_get_count(g, "words", &n, &e), 0);
    ck_assert_int_eq(n, 3);
    struct tensor t;
    ck_assert_int_eq(gguf_get_tensor(g, "matrix", &t, &e), 0);
    ck_assert(t.rows == 2 && t.cols == 3 && ((const float *)t.data)[5] == 6);
    ck_assert_int_eq(gguf_get_tensor(g, "vector", &t, &e), 0);
    ck_assert(t.rows == 1 && t.cols == 6 && t.dtype == DTYPE_F32);
    ck_assert_int_eq(gguf_get_tensor(g, "quant", &t, &e), 0);
    ck_assert(t.rows == 2 && t.cols == 32 && t.dtype == DTYPE_Q4_0);
    ck_assert_int_eq(gguf_get_tensor(g, "none", &t, &e), 1);
}

static void check_text(const struct gguf *g) {
    static const struct {
        const char *key, *text;
    } cases[] = {{"i8", "-1"},
                 {"u32", "4294967295"},
                 {"u64", "of type uint64"},
                 {"f32", "0.5"},
                 {"f64", "1e+300"},
                 {"yes", "true"},
                 {"no", "false"},
                 {"text", "a"},
                 {"numbers", "[-1, 2]"},
                 {"nothing", "[]"},
                 {"absent", "absent"},
                 {"words", "[, two, ]"},
                 {"third", "0.333333343"},
                 {"nested", "an array of arrays"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], cut[16];
        gguf_show_value(g, cases[i].key, text, sizeof text);
        ck_assert_str_eq(text, cases[i].text);
        gguf_show_value(g, cases[i].key, cut, sizeof cut);
        ck_assert(strncmp(cut, text, sizeof cut - 1) == 0);
    }
    ck_assert(gguf_value_is(g, "yes", "true") && !gguf_value_is(g, "yes", "1"));
    ck_assert(gguf_value_is(g, "nothing", "0") && !gguf_value_is(g, "nested", "0"));
    ck_assert(gguf_value_is(g, "twos", "2") && !gguf_value_is(g, "numbers", "2"));
    ck_assert(!gguf_value_is(g, "absent", "absent") && !gguf_value_is(g, "third", "0.333333"));
}

START_TEST(reads_back_what_was_written) {
    size_t n;
    uint8_t *file = good_file(&n);
    struct err e;
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    check_good(g);
    check_text(g);
    ck_assert_int_eq(gguf_n_tensors(g), 3);
    struct gguf_tensor_info info;
    gguf_tensor_at(g, 2, &info);
    ck_assert(info.bytes == 36 && strcmp(info.type, "Q4_0") == 0 && info.n_dims == 2);
    ck_assert(gguf_key_at(g, 0).n == 2 && memcmp(gguf_key_at(g, 0).s, "i8", 2) == 0);
    gguf_close(g);
    free(file);
}
END_TEST

START_TEST(maps_a_file) {
    size_t n;
    uint8_t *file = good_file(&n);
    char path[] = "/tmp/servelab-gguf-XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, file, n) == (ssize_t)n);
    close(fd);
    struct err e;
    struct gguf *g = gguf_open(path, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    check_good(g);
    gguf_give_back(g); /* read again from the file */
    check_good(g);
    gguf_close(g);
    unlink(path);
    free(file);
}
END_TEST

START_TEST(every_type_is_checked) {
    size_t n;
    uint8_t *file = good_file(&n);
    struct err e;
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert(g != NULL);
    int64_t v;
    double d;
    bool b;
    struct gguf_str s, *words;
    int32_t *numbers;
    uint64_t count;
    ck_assert_int_eq(gguf_get_int(g, "u8", 0, 254, &v, &e), -1);
    ck_assert_str_eq(e.field, "u8");
    ck_assert_int_eq(gguf_get_int(g, "i8", 0, 254, &v, &e), -1);
    ck_assert_int_eq(gguf_get_int(g, "u64", 0, INT64_MAX, &v, &e), -1); /* 2^64 - 1 */
    ck_assert_int_eq(gguf_get_int(g, "f32", 0, 1, &v, &e), -1);
    ck_assert_int_eq(gguf_get_int(g, "yes", 0, 1, &v, &e), -1);
    ck_assert_int_eq(gguf_get_int(g, "text", 0, 1, &v, &e), -1);
    ck_assert_int_eq(gguf_get_float(g, "i8", &d, &e), -1);
    ck_assert_int_eq(gguf_get_bool(g, "u8", &b, &e), -1);
    ck_assert_int_eq(gguf_get_str(g, "words", &s, &e), -1);
    ck_assert_int_eq(gguf_get_str_array(g, "text", &words, &count, &e), -1);
    ck_assert_int_eq(gguf_get_str_array(g, "numbers", &words, &count, &e), -1);
    ck_assert_int_eq(gguf_get_int_array(g, "words", &numbers, &count, &e), -1);
    ck_assert_int_eq(gguf_get_int_array(g, "nested", &numbers, &count, &e), -1);
    ck_assert_int_eq(gguf_get_count(g, "text", &count, &e), -1);
    gguf_close(g);
    free(file);
}
END_TEST

/* ---- wrong files ----------------------------------------------------------------------------- */

/* A file that is cut after any byte is refused. */
START_TEST(truncation_anywhere_is_an_error) {
    size_t n;
    uint8_t *file = good_file(&n);
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *part = malloc(cut + (cut == 0)); /* exact, so that a sanitizer sees an over-read */
        ck_assert(part != NULL);
        memcpy(part, file, cut);
        struct err e = {0};
        struct gguf *g = gguf_from_memory(part, cut, &e);
        ck_assert_msg(g == NULL, "cut at %zu of %zu was accepted", cut, n);
        ck_assert_msg(e.text[0] != '\0', "cut at %zu: no message", cut);
        free(part);
    }
    free(file);
}
END_TEST

static const uint64_t dims22[] = {2, 2}, dims_zero[] = {2, 0}, dims_wide[] = {1ull << 31, 1},
                      dims_overflow[] = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff},
                      dims_odd[] = {33, 1}, dims5[] = {1, 1, 1, 1, 1};

static void bad_magic(struct gw *w) {
    (void)w;
}
static void bad_version_1(struct gw *w) {
    w->version = 1;
}
static void bad_version_4(struct gw *w) {
    w->version = 4;
}
static void bad_endian(struct gw *w) {
    w->version = 3u << 24;
}
static void bad_key_count(struct gw *w) {
    gw_key_u32(w, "a", 1);
    w->n_keys = UINT64_MAX / 13;
}
static void bad_key_count_one_more(struct gw *w) {
    gw_key_u32(w, "a", 1);
    w->n_keys = 2;
}
static void bad_tensor_count(struct gw *w) {
    w->n_tensors = UINT64_MAX;
}
static void bad_key_length(struct gw *w) {
    gw_u64(&w->keys, UINT64_MAX - 3);
    gw_put(&w->keys, "xxxxxxxxxxxxxxxx", 16);
    w->n_keys = 1;
}
static void bad_key_empty(struct gw *w) {
    gw_key_u32(w, "", 1);
}
static void bad_key_nul(struct gw *w) {
    gw_strn(&w->keys, "a\0b", 3);
    gw_u32(&w->keys, GW_U32);
    gw_u32(&w->keys, 1);
    w->n_keys = 1;
}
static void bad_key_long(struct gw *w) {
    char *key = calloc(1, 65537);
    memset(key, 'k', 65536);
    gw_key_u32(w, key, 1);
    free(key);
}
static void bad_key_twice(struct gw *w) {
    gw_key_u32(w, "same", 1);
    gw_key_f32(w, "other", 1);
    gw_key_u32(w, "same", 1);
}
static void bad_value_type(struct gw *w) {
    gw_key_raw(w, "a", 13, "\0\0\0\0\0\0\0\0", 8);
}
static void bad_elem_type(struct gw *w) {
    gw_key_array(w, "a", 77, 0);
}
static void bad_string_length(struct gw *w) {
    gw_key(w, "a", GW_STR);
    gw_u64(&w->keys, 1ull << 63);
    gw_put(&w->keys, "abc", 3);
}
static void bad_array_count(struct gw *w) {
    gw_key_array(w, "a", GW_U64, 1ull << 61); /* times 8 is 0 */
    gw_u64(&w->keys, 0);
}
static void bad_array_of_strings(struct gw *w) {
    gw_key_array(w, "a", GW_STR, UINT64_MAX);
    gw_strn(&w->keys, "x", 1);
}
static void nest(struct gw *w, int depth) {
    gw_key_array(w, "a", GW_ARR, 1);
    for (int i = 1; i < depth; i++) {
        gw_u32(&w->keys, i + 1 < depth ? GW_ARR : GW_U8);
        gw_u64(&w->keys, 1);
    }
    gw_put(&w->keys, "x", 1);
}
static void bad_nesting(struct gw *w) {
    nest(w, 5);
}
static void bad_nesting_deep(struct gw *w) {
    nest(w, 100000);
}
static void bad_nested_count(struct gw *w) {
    gw_key_array(w, "a", GW_ARR, 1);
    gw_u32(&w->keys, GW_F64);
    gw_u64(&w->keys, UINT64_MAX / 8 + 2);
}
static void bad_align_zero(struct gw *w) {
    gw_key_u32(w, "general.alignment", 0);
}
static void bad_align_odd(struct gw *w) {
    gw_key_u32(w, "general.alignment", 24);
}
static void bad_align_huge(struct gw *w) {
    gw_key_u32(w, "general.alignment", 1u << 31);
}
static void bad_align_type(struct gw *w) {
    gw_key_str(w, "general.alignment", "32");
}
static void bad_tensor_twice(struct gw *w) {
    float f[4] = {0};
    gw_tensor(w, "t", 0, 2, 2, f, sizeof f);
    gw_tensor(w, "t", 0, 4, 0, f, sizeof f);
}
static void bad_tensor_name(struct gw *w) {
    char name[66] = {0};
    memset(name, 'n', 65);
    gw_tensor_at(w, name, 0, 2, dims22, 0);
}
static void bad_dims_none(struct gw *w) {
    gw_tensor_at(w, "t", 0, 0, dims22, 0);
    gw_put(&w->data, "                ", 16);
}
static void bad_dims_five(struct gw *w) {
    gw_tensor_at(w, "t", 0, 5, dims5, 0);
    gw_put(&w->data, "                ", 16);
}
static void bad_dim_zero(struct gw *w) {
    gw_tensor_at(w, "t", 0, 2, dims_zero, 0);
}
static void bad_dim_wide(struct gw *w) {
    gw_tensor_at(w, "t", 0, 2, dims_wide, 0);
}
static void bad_dims_overflow(struct gw *w) {
    gw_tensor_at(w, "t", 0, 4, dims_overflow, 0);
}
static void bad_block(struct gw *w) {
    gw_tensor_at(w, "t", 8, 2, dims_odd, 0);
    gw_put(&w->data, "0123456789012345678901234567890123456789012345678901234567890123456789", 70);
}
static void bad_offset_odd(struct gw *w) {
    gw_tensor_at(w, "t", 0, 2, dims22, 8);
    gw_put(&w->data, "0123456789abcdef0123456789abcdef", 32);
}
static void bad_offset_far(struct gw *w) {
    gw_tensor_at(w, "t", 0, 2, dims22, 1ull << 40);
}
static void bad_offset_wraps(struct gw *w) {
    gw_tensor_at(w, "t", 0, 2, dims22, UINT64_MAX - 31); /* plus 16 bytes would be small again */
    gw_put(&w->data, "0123456789abcdef0123456789abcdef", 32);
}
static void bad_extent(struct gw *w) {
    gw_tensor_at(w, "t", 0, 2, dims22, 0);
    gw_put(&w->data, "0123456789abcde", 15);
}

static const struct {
    const char *name;
    void (*make)(struct gw *);
    const char *field, *text; /* what the message must hold */
} wrong[] = {
    {"magic", bad_magic, "", "not a GGUF file"},
    {"version 1", bad_version_1, "", "version 1"},
    {"version 4", bad_version_4, "", "version 4"},
    {"big-endian", bad_endian, "", "big-endian"},
    {"key count", bad_key_count, "", "metadata keys"},
    {"one key too few", bad_key_count_one_more, "", "metadata key 1"},
    {"tensor count", bad_tensor_count, "", "tensors"},
    {"key length", bad_key_length, "", "metadata key 0"},
    {"empty key", bad_key_empty, "", "empty"},
    {"NUL in key", bad_key_nul, "a?b", "NUL"},
    {"long key", bad_key_long, "kkk", "too long"},
    {"key twice", bad_key_twice, "same", "twice"},
    {"value type", bad_value_type, "a", "type 13"},
    {"element type", bad_elem_type, "a", "type 77"},
    {"string length", bad_string_length, "a", "beyond the end"},
    {"array count", bad_array_count, "a", "beyond the end"},
    {"strings count", bad_array_of_strings, "a", "beyond the end"},
    {"nesting", bad_nesting, "a", "nests"},
    {"deep nesting", bad_nesting_deep, "a", "nests"},
    {"nested count", bad_nested_count, "a", "beyond the end"},
    {"alignment 0", bad_align_zero, "general.alignment", "is 0"},
    {"alignment 24", bad_align_odd, "general.alignment", "power of two"},
    {"alignment 2^31", bad_align_huge, "general.alignment", "possible"},
    {"alignment type", bad_align_type, "general.alignment", "string"},
    {"tensor twice", bad_tensor_twice, "t", "twice"},
    {"tensor name", bad_tensor_name, "nnn", "over 64"},
    {"no dimension", bad_dims_none, "t", "0 dimensions"},
    {"five dimensions", bad_dims_five, "t", "5 dimensions"},
    {"dimension 0", bad_dim_zero, "t", "dimension 1 is 0"},
    {"dimension 2^31", bad_dim_wide, "t", "dimension 0"},
    {"product overflows", bad_dims_overflow, "t", "too large"},
    {"half a block", bad_block, "t", "block"},
    {"odd offset", bad_offset_odd, "t", "offset 8"},
    {"far offset", bad_offset_far, "t", "beyond the end"},
    {"offset wraps", bad_offset_wraps, "t", "beyond the end"},
    {"extent", bad_extent, "t", "beyond the end"},
};
enum { N_WRONG = sizeof wrong / sizeof *wrong };

START_TEST(wrong_files_are_named) {
    struct gw w = {0};
    wrong[_i].make(&w);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    if (wrong[_i].make == bad_magic) file[0] = 'g';
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_msg(g == NULL, "%s: accepted", wrong[_i].name);
    ck_assert_msg(strstr(e.text, wrong[_i].text), "%s: text is '%s'", wrong[_i].name, e.text);
    ck_assert_msg(strncmp(e.field, wrong[_i].field, strlen(wrong[_i].field)) == 0,
                  "%s: field is '%s'", wrong[_i].name, e.field);
    free(file);
}
END_TEST

/* Refused only when they are read: a file may hold other tensors. */
START_TEST(unreadable_tensors_are_named_when_asked_for) {
    struct gw w = {0};
    uint8_t data[256] = {0};
    gw_tensor(&w, "k-quant", 12, 256, 1, data, 144);
    gw_pad(&w.data, 32);
    gw_tensor_at(&w, "cube", 0, 3, (uint64_t[]){2, 2, 2}, w.data.n);
    gw_put(&w.data, data, 32);
    gw_tensor_at(&w, "novelty", 9999, 1, (uint64_t[]){2}, 0);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    struct tensor t;
    ck_assert_int_eq(gguf_get_tensor(g, "k-quant", &t, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "Q4_K"));
    ck_assert_int_eq(gguf_get_tensor(g, "cube", &t, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "3 dimensions"));
    ck_assert_int_eq(gguf_get_tensor(g, "novelty", &t, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "9999"));
    gguf_close(g);
    free(file);
}
END_TEST

START_TEST(values_out_of_range_are_named) {
    struct gw w = {0};
    gw_key_bool(&w, "maybe", 2);
    gw_key_f32(&w, "nan", 0.0f / 0.0f);
    gw_key_array(&w, "big", GW_U32, 1);
    gw_u32(&w.keys, 0x80000000u);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    bool b;
    double d;
    int32_t *numbers;
    uint64_t count;
    ck_assert_int_eq(gguf_get_bool(g, "maybe", &b, &e), -1);
    ck_assert_int_eq(gguf_get_float(g, "nan", &d, &e), -1);
    ck_assert_int_eq(gguf_get_int_array(g, "big", &numbers, &count, &e), -1);
    ck_assert_str_eq(e.field, "big");
    gguf_close(g);
    free(file);
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_at_once) {
    struct err e = {0};
    ck_assert_ptr_null(gguf_open("/nonexistent/model.gguf", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "No such file"));
    ck_assert_ptr_null(gguf_open("/tmp", &e)); /* a folder, which is none of a model */
    ck_assert_ptr_nonnull(strstr(e.field, "config.json"));
    ck_assert_ptr_null(gguf_open("/dev/zero", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "not a regular file"));
    char path[] = "/tmp/servelab-fifo-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(path));
    char fifo[64];
    snprintf(fifo, sizeof fifo, "%s/model.gguf", path);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert_ptr_null(gguf_open(fifo, &e)); /* must not wait for a writer */
    unlink(fifo);
    FILE *f = fopen(fifo, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
    ck_assert_ptr_null(gguf_open(fifo, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "empty"));
    unlink(fifo);
    rmdir(path);
}
END_TEST

START_TEST(row_bytes) {
    ck_assert_int_eq(dtype_row_bytes(DTYPE_F32, 3), 12);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_F16, 3), 6);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_BF16, 3), 6);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_Q4_0, 64), 36);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_Q4_1, 64), 40);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_Q8_0, 64), 68);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_Q8_0, 63), 0);
    ck_assert_int_eq(dtype_row_bytes(DTYPE_Q8_0, -32), 0);
    ck_assert_int_eq(dtype_row_bytes((enum dtype)12, 256), 0);
    static const struct {
        enum dtype t;
        const char *name;
    } names[] = {{DTYPE_F32, "F32"},   {DTYPE_F16, "F16"},
                 {DTYPE_BF16, "BF16"}, {DTYPE_Q4_0, "Q4_0"},
                 {DTYPE_Q4_1, "Q4_1"}, {DTYPE_Q8_0, "Q8_0"},
                 {12, "Q4_K"},         {4, "?"},
                 {39, "MXFP4"},        {40, "?"},
                 {9999, "?"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_str_eq(dtype_name(names[i].t), names[i].name);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("gguf");
    TCase *t = tcase_create("gguf");
    tcase_add_test(t, reads_back_what_was_written);
    tcase_add_test(t, maps_a_file);
    tcase_add_test(t, every_type_is_checked);
    tcase_add_test(t, truncation_anywhere_is_an_error);
    tcase_add_loop_test(t, wrong_files_are_named, 0, N_WRONG);
    tcase_add_test(t, unreadable_tensors_are_named_when_asked_for);
    tcase_add_test(t, values_out_of_range_are_named);
    tcase_add_test(t, what_is_no_regular_file_is_refused_at_once);
    tcase_add_test(t, row_bytes);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
