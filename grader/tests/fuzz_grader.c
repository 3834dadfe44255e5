/* fuzz_grader.c: any bytes, as a compiled object, as the compiler's text files, and as a text to
 * show. The first byte selects the reader. testing/fuzz.h names the two ways to run it. */
#include "core/object.h"

#include "base/text.h"
#include "testing/fuzz.h"

static void count_name(const char *name, void *ctx) {
    *(size_t *)ctx += strlen(name);
}

static void fuzz_object(const uint8_t *data, size_t size) {
    static const char *const interface[] = {"f", NULL};
    struct object_rules rules = {interface, interface, interface, NULL, 0};
    struct err e = {0};
    size_t total = 0;
    if (object_check_symbols("x.c", data, size, &rules, &e)) INVARIANT(e.text[0]);
    if (object_check_sanitised("x.c", data, size, &rules, &e)) INVARIANT(e.text[0]);
    object_each_global(data, size, count_name, &total);
}

static void fuzz_texts(const char *text, size_t n) {
    struct err e = {0};
    if (object_check_includes("x.c", text, n, "/w/given", &e)) INVARIANT(e.text[0]);
    if (object_check_tokens("x.c", text, n, &e)) INVARIANT(e.text[0]);
    if (object_check_assembly("x.c", text, n, &e)) INVARIANT(e.text[0]);
}

static void fuzz_clean(const char *text, size_t n) {
    char out[64];
    size_t cap = 1 + n % sizeof out;
    text_clean(out, cap, text, n);
    INVARIANT(memchr(out, '\0', cap) != NULL);
    for (const unsigned char *p = (unsigned char *)out; *p; p++)
        INVARIANT(*p >= 0x20 && *p != 0x7f);
    text_first_line(out, cap, text, n);
    INVARIANT(memchr(out, '\0', cap) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    /* the readers expect a NUL after the bytes */
    char *text = malloc(size);
    INVARIANT(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 4 == 0) fuzz_object((uint8_t *)text, size - 1);
    if (data[0] % 4 == 1) fuzz_texts(text, size - 1);
    if (data[0] % 4 == 3) fuzz_clean(text, size - 1);
    free(text);
    return 0;
}
