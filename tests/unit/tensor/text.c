/* SPDX-License-Identifier: Apache-2.0 */
/* Array text against what NumPy printed for the same arrays (tests/data/tensor/text.npz). */
#include "support.h"

static void test_text__prints_as_numpy_does(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    expect_ok(pgy_npz_load(&m, DATA("text.npz"), &err), &err);
    const pgy_tensor *expected = pgy_tensor_map_find(m, "expected"),
                     *options = pgy_tensor_map_find(m, "options");
    const pgy_string *texts = pgy_tensor_data(expected);
    const int64_t *o = pgy_tensor_data(options);
    size_t wrong = 0;
    assert_true(pgy_tensor_count(expected) > 250);
    for (size_t i = 0; i < pgy_tensor_count(expected); i++) {
        char name[32], *text = NULL;
        snprintf(name, sizeof name, "a%04zu", i);
        pgy_text_options chosen = {sizeof chosen, o[i * 3], o[i * 3 + 1], o[i * 3 + 2]};
        pgy_view v = pgy_tensor_view(pgy_tensor_map_find(m, name));
        expect_ok(pgy_view_text(&text, v, &chosen, &err), &err);
        if (strlen(text) != texts[i].size || memcmp(text, texts[i].data, texts[i].size)) {
            print_message("%s %s rank %d\nexpected:\n%.*s\ngot:\n%s\n", name,
                          pgy_dtype_name(v.dtype), (int)v.rank, (int)texts[i].size, texts[i].data,
                          text);
            wrong++;
        }
        pgy_text_free(text);
    }
    pgy_tensor_map_destroy(m);
    assert_int_equal(wrong, 0);
}

static void expect_text(pgy_view v, const pgy_text_options *o, const char *expected)
{
    pgy_error err = {0};
    char *text = NULL;
    expect_ok(pgy_view_text(&text, v, o, &err), &err);
    assert_string_equal(text, expected);
    pgy_text_free(text);
}

static void test_text__negative_line_width_never_breaks_a_row(void **state)
{
    (void)state;
    int64_t values[100];
    char expected[512] = "[[";
    for (int i = 0; i < 100; i++) {
        values[i] = i;
        sprintf(expected + strlen(expected), "%s%2d", i == 50 ? "]\n [" : i ? " " : "", i);
    }
    strcat(expected, "]]");
    pgy_text_options o = {.size = sizeof o, .line_width = -1};
    expect_text(pgy_view_of(values, PGY_I64, DIMS(2, 50)), &o, expected);
}

static void test_text__negative_edge_items_shows_all(void **state)
{
    (void)state;
    uint8_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    pgy_text_options all = {.size = sizeof all, .edge_items = -1, .threshold = 2};
    pgy_text_options edges = {.size = sizeof edges, .edge_items = 1, .threshold = 2};
    expect_text(pgy_view_of(values, PGY_U8, DIMS(8)), &all, "[1 2 3 4 5 6 7 8]");
    expect_text(pgy_view_of(values, PGY_U8, DIMS(8)), &edges, "[1 ... 8]");
}

static void test_text__strided_view(void **state)
{
    (void)state;
    float values[6] = {0, 1, 2, 3, 4, 5};
    int64_t strides[2] = {1, 3};
    pgy_view v = pgy_view_of(values, PGY_F32, DIMS(3, 2));
    v.strides = strides;
    expect_text(v, NULL, "[[0. 3.]\n [1. 4.]\n [2. 5.]]");
}

static void test_text__types_numpy_lacks(void **state)
{
    (void)state;
    uint8_t packed[2] = {0x8f, 0x07}, f8[2] = {0x38, 0x7e};
    uint16_t bf16[2] = {0x3f80, 0xc000};
    expect_text(pgy_view_of(packed, PGY_I4, DIMS(3)), NULL, "[-1 -8  7]");
    expect_text(pgy_view_of(f8, PGY_F8E4M3FN, DIMS(2)), NULL, "[  1. 448.]");
    expect_text(pgy_view_of(bf16, PGY_BF16, DIMS(2)), NULL, "[ 1. -2.]");
}
