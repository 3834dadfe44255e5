/* test_lab03_maps.c: what was counted must explain what a launch did: the maps of read and written
 * bytes (lab03/kernel_maps.h) of a made-up answer, and the room that maps of real cases take. */
#include "lab03/kernel_maps.h"
#include "lab03/kernel_shapes.h"

#include "backend/kernel_case.h"
#include "testing/check_main.h"

#include <stdlib.h>
#include <string.h>

/* An input of 20 bytes and an output of 12; the slots of an answer: 1, 3 + 1 + 1, 2 + 1 + 1. */
enum { IN = 1, IN_READ = 4, IN_WRITTEN = 5, OUT = 6, OUT_READ = 8, OUT_WRITTEN = 9, SLOTS = 10 };
static const unsigned char input[20] = "abcdefghijklmnopqrs";
static struct lab03_launch launch;
static int64_t answer[SLOTS], expected[SLOTS];

static unsigned char *bytes_at(int64_t *slots, int slot) {
    return (unsigned char *)(slots + slot);
}

/* The input was read, and the output written, whole. */
static void make_answer(void) {
    memset(answer, 0, sizeof answer);
    launch = (struct lab03_launch){.n_params = 3, .counted = true};
    launch.param[0] = (struct kernel_wire_param){KWIRE_INPUT, 0, sizeof input, input};
    launch.param[1] = (struct kernel_wire_param){KWIRE_SIZE, 20, 0, NULL};
    launch.param[2] = (struct kernel_wire_param){KWIRE_OUTPUT, 0, 12, NULL};
    ck_assert_uint_eq(lab03_launch_slots(&launch), SLOTS);
    memcpy(bytes_at(answer, IN), input, sizeof input);
    memset(bytes_at(answer, OUT), 1, 12);
    answer[IN_READ] = 0xfffff;
    answer[OUT_WRITTEN] = 0xfff;
}

START_TEST(what_changes_was_written) {
    make_answer();
    ck_assert(!lab03_maps_unwritten(&launch, answer));
    answer[OUT_WRITTEN] = 0x7ff; /* not the last byte */
    ck_assert(lab03_maps_unwritten(&launch, answer));
    bytes_at(answer, OUT)[11] = 0xff; /* which is as it was */
    ck_assert(!lab03_maps_unwritten(&launch, answer));
    bytes_at(answer, IN)[3] = 'X';
    ck_assert(lab03_maps_unwritten(&launch, answer));
    answer[IN_WRITTEN] = 1 << 3;
    ck_assert(!lab03_maps_unwritten(&launch, answer));
}
END_TEST

START_TEST(what_was_not_read_changes) {
    make_answer();
    ck_assert_ptr_null(lab03_maps_change_unread(&launch, answer, expected));
    make_answer();
    answer[IN_READ] = 0xffff7 & ~0x100; /* not the bytes 3 and 8 */
    answer[IN_WRITTEN] = 0x100;
    bytes_at(answer, IN)[8] = 'X';
    void *copies = lab03_maps_change_unread(&launch, answer, expected);
    ck_assert_ptr_nonnull(copies);
    ck_assert(!launch.counted && lab03_launch_slots(&launch) == SLOTS - 4);
    ck_assert_mem_eq(launch.param[0].data,
                     "abc\x7f"
                     "efgh\x7fjklmnopqrs",
                     sizeof input);
    ck_assert_mem_eq(expected + IN,
                     "abc\x7f"
                     "efghXjklmnopqrs",
                     sizeof input);
    ck_assert_mem_eq(expected + IN + 3, answer + OUT, 2 * sizeof *answer);
    free(copies);
}
END_TEST

START_TEST(there_is_room_for_the_maps) {
    for (int i = 0; i < kernel_spec_count; i++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            const struct kernel_spec *spec = &kernel_specs[i];
            struct kernel_sizes sizes;
            struct kernel_case c;
            struct shape shape;
            struct err e;
            size_t slots = 1;
            lab03_shape_draw(spec, seed, lab03_shape_count(spec) - 1, &shape);
            ck_assert_int_eq(kernel_sizes_parse(spec, shape.text, &sizes, &e), 0);
            ck_assert_int_eq(kernel_case_fill(&c, &sizes, shape.seed, &e), 0);
            for (int k = 0; k < kernel_param_count(spec); k++)
                slots += kernel_wire_slots(c.tensor[k].bytes) +
                         2 * kernel_wire_map_slots(c.tensor[k].bytes);
            ck_assert_uint_le(slots, KERNEL_WIRE_SLOTS);
            kernel_case_release(&c);
        }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lab03_maps");
    TCase *tc = tcase_create("maps");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, what_changes_was_written);
    tcase_add_test(tc, what_was_not_read_changes);
    tcase_add_test(tc, there_is_room_for_the_maps);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
