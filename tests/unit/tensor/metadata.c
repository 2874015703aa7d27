/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static void test_metadata__text(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_metadata *m = NULL;
    char *text = NULL;
    expect_ok(pgy_metadata_create(&m, &err), &err);
    expect_ok(pgy_metadata_text(&text, m, &err), &err);
    assert_string_equal(text, "{}");
    pgy_text_free(text);
    const char *names[3] = {NULL, "N", NULL};
    pgy_tensor_info infos[] = {
        {.name = "a", .dtype = PGY_F32, .rank = 1, .shape = (int64_t[]){3}},
        {.name = "b", .rank = -1},
        {.name = "c", .dtype = PGY_I8, .rank = 0},
        {.name = "d", .rank = 3, .shape = (int64_t[]){1, -1, -1}, .dim_names = names},
        {.name = "e", .dtype = PGY_BOOL, .rank = -1},
        {.name = "f",
         .dtype = PGY_F4E2M1,
         .rank = 2,
         .shape = (int64_t[]){1, -1},
         .min_shape = (int64_t[]){1, 1},
         .max_shape = (int64_t[]){1, 5}},
    };
    for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++)
        expect_ok(pgy_metadata_set(m, &infos[i], &err), &err);
    names[1] = "changed later";
    expect_ok(pgy_metadata_text(&text, m, &err), &err);
    assert_string_equal(text, "{a [dtype=float32, shape=(3,)],\n b,\n c [dtype=int8, shape=()],\n "
                              "d [shape=(1, 'N', -1)],\n"
                              " e [dtype=bool],\n f [dtype=float4, shape=(1, -1)]}");
    pgy_text_free(text);
    assert_int_equal(pgy_metadata_find(m, "f")->max_shape[1], 5);
    assert_null(pgy_metadata_find(m, "g"));
    pgy_metadata_destroy(m);
}

static void test_metadata__from_map(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *map = NULL;
    pgy_metadata *m = NULL;
    expect_ok(pgy_tensor_map_create(&map, &err), &err);
    expect_ok(pgy_tensor_map_adopt(map, "x", tensor_of(PGY_F16, DIMS(2, 0), NULL), &err), &err);
    expect_ok(pgy_metadata_from_map(&m, map, &err), &err);
    pgy_tensor_map_destroy(map);
    assert_int_equal(pgy_metadata_count(m), 1);
    assert_int_equal(pgy_metadata_at(m, 0)->dtype, PGY_F16);
    assert_int_equal(pgy_metadata_at(m, 0)->shape[1], 0);
    pgy_metadata_destroy(m);
}
