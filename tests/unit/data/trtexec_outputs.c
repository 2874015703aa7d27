/* SPDX-License-Identifier: Apache-2.0 */
/* Files as NVIDIA's trtexec writes them: without types, with the words of C++ for NaN and infinity.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/trtexec_outputs.h"

static pgy_tensor_map *parse(const char *text, const pgy_metadata *types)
{
    pgy_tensor_map *m = NULL;
    pgy_error err = {0};
    if (trtexec_outputs_parse(&m, span_of(text), "file", types, &err)) fail_msg("%s", err.text);
    return m;
}

static const void *data(const pgy_tensor_map *m, const char *name)
{
    assert_non_null(pgy_tensor_map_find(m, name));
    return pgy_tensor_data(pgy_tensor_map_find(m, name));
}

static void test_trtexec_outputs__nvidia(void **state)
{
    pgy_tensor_map *m = parse(
        "[\n  { \"name\" : \"y\"\n  , \"dimensions\" : \"2x3\"\n  , \"values\" : [ 1e-05, nan, "
        "-nan, inf, -inf, -1 ]\n  }\n, { \"name\" : \"inf \\\" nan\", \"dimensions\" : "
        "\"scalar\", \"values\" : [ 2.5 ] }\n]\n",
        NULL);
    (void)state;
    const float *y = data(m, "y");
    assert_true(y[0] == 1e-05f && isnan(y[1]) && isnan(y[2]));
    assert_true(y[3] == INFINITY && y[4] == -INFINITY && y[5] == -1);
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(m, "y")), 2);
    assert_true(*(const float *)data(m, "inf \" nan") == 2.5f);
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(m, "inf \" nan")), 0);
    pgy_tensor_map_destroy(m);
}

static void test_trtexec_outputs__types_of_the_model(void **state)
{
    static const pgy_tensor_info INFOS[] = {{.name = "i", .dtype = PGY_I64, .rank = -1},
                                            {.name = "b", .dtype = PGY_BOOL, .rank = -1},
                                            {.name = "h", .dtype = PGY_F16, .rank = -1},
                                            {.name = "u", .dtype = PGY_DTYPE_NONE, .rank = -1}};
    pgy_metadata *types = NULL;
    (void)state;
    assert_int_equal(pgy_metadata_create(&types, NULL), PGY_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pgy_metadata_set(types, &INFOS[i], NULL), PGY_OK);
    pgy_tensor_map *m =
        parse("[{\"name\": \"i\", \"dimensions\": \"1\", \"values\": [9007199254740993]},"
              "{\"name\": \"b\", \"dimensions\": \"3\", \"values\": [true, 0, 1]},"
              "{\"name\": \"h\", \"dimensions\": \"1\", \"values\": [1.5]},"
              "{\"name\": \"u\", \"dimensions\": \"1\", \"values\": [3]},"
              "{\"name\": \"other\", \"dimensions\": \"1\", \"values\": [4]},"
              "{\"name\": \"named\", \"dimensions\": \"1\", \"dtype\": \"int8\", \"values\": [5]}]",
              types);
    assert_true(*(const int64_t *)data(m, "i") == 9007199254740993);
    assert_memory_equal(data(m, "b"), ((const bool[]){true, false, true}), 3);
    assert_int_equal(*(const uint16_t *)data(m, "h"), 0x3e00);
    assert_true(*(const float *)data(m, "u") == 3 && *(const float *)data(m, "other") == 4);
    assert_int_equal(*(const int8_t *)data(m, "named"), 5);
    pgy_tensor_map_destroy(m);
    pgy_metadata_destroy(types);
}

static void test_trtexec_outputs__words_that_are_none(void **state)
{
    static const char *const TEXTS[] = {
        "[nan1]", "[-]",  "[i]",
        "[xnan]", "",     "{}",
        "[]]",    "[] x", "[{}]",
        "[1]",    "[,]",  "[infinite]",
        "[\"nan", "nan",  "[{\"name\": \"y\", \"dimensions\": \"1\", \"values\": [nano]}]"};
    (void)state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        pgy_tensor_map *m = NULL;
        pgy_error err = {0};
        assert_int_equal(trtexec_outputs_parse(&m, span_of(TEXTS[i]), "file", NULL, &err),
                         PGY_E_FORMAT);
        assert_null(m);
        assert_true(!strncmp(err.text, "file: ", 6));
    }
}
