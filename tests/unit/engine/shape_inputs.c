/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that come with the data: they count, whatever the file declares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/context/context.h"
#include "harness/model_builder.h"

/* A model with one node, y = op(x, shape), whose file declares both sizes of y; and a run of it. */
typedef struct shaped {
    const char *op, *x, *y;
    int64_t sizes[2], shape[2]; /* of x; the second input */
    int64_t wanted[2];          /* 0: an error */
} shaped;

static context *open_shaped(const shaped *s)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, s->x);
    builder_input(&b, "shape", PGY_I64, "2");
    builder_node(&b, s->op, "x shape", "y")->name = "node";
    builder_output(&b, "y", PGY_F32, s->y);
    pgy_model *model = builder_finish_bytes(&b);
    engine *e = NULL;
    context *c = NULL;
    pgy_error err = {0};
    assert_int_equal(engine_build(&e, model, NULL, &err), PGY_OK);
    assert_int_equal(context_create(&c, e, 1, &err), PGY_OK);
    engine_release(e);
    pgy_model_destroy(model);
    return c;
}

static void give(pgy_tensor_map *feed, const char *name, pgy_dtype dtype, const int64_t *shape,
                 const int64_t *values)
{
    const size_t rank = values ? 1 : 2;
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, rank, shape, NULL), PGY_OK);
    if (values) memcpy(pgy_tensor_data(t), values, pgy_tensor_size_bytes(t));
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

static void expect_shape(const shaped *s)
{
    static const int64_t TWO = 2;
    context *c = open_shaped(s);
    pgy_tensor_map *feed = NULL, *got = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
    give(feed, "x", PGY_F32, s->sizes, NULL);
    give(feed, "shape", PGY_I64, &TWO, s->shape);
    const pgy_status st = context_run(c, feed, got, NULL, &err);
    if (s->wanted[0]) {
        assert_int_equal(st, PGY_OK);
        assert_memory_equal(pgy_tensor_shape(pgy_tensor_map_at(got, 0)), s->wanted,
                            sizeof s->wanted);
    } else {
        assert_int_equal(st, PGY_E_SHAPE);
        assert_non_null(strstr(err.text, s->op));
    }
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(feed);
    context_destroy(c);
}

static void test_shape_inputs__data_counts_more_than_what_the_file_declares(void **state)
{
    static const shaped CASES[] = {
        {"Expand", "3, 1", "3, 4", {3, 1}, {3, 4}, {3, 4}},
        {"Expand", "3, 1", "3, 4", {3, 1}, {1, 5}, {3, 5}},
        {"Reshape", "3, 4", "2, 6", {3, 4}, {2, 6}, {2, 6}},
        {"Reshape", "3, 4", "2, 6", {3, 4}, {4, -1}, {4, 3}},
        {"Reshape", "3, 4", "2, 6", {3, 4}, {5, 5}, {0}},
        {"Tile", "2, 3", "4, 3", {2, 3}, {2, 1}, {4, 3}},
        {"Tile", "2, 3", "4, 3", {2, 3}, {1, 3}, {2, 9}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) expect_shape(&CASES[i]);
}

/* Axes that are not 1 give the result's sizes, so a kernel is chosen although the shape is data. */
static void test_shape_inputs__an_expand_that_cannot_broadcast_is_refused(void **state)
{
    static const shaped CASES[] = {
        {"Expand", "3, 4", "3, 4", {3, 4}, {1, 4}, {3, 4}},
        {"Expand", "3, 4", "3, 4", {3, 4}, {1, 1}, {3, 4}},
        {"Expand", "3, 4", "3, 4", {3, 4}, {2, 4}, {0}},
        {"Expand", "3, 4", "3, 4", {3, 4}, {3, 0}, {0}},
        {"Expand", "3, 4", "3, 4", {3, 4}, {3, -1}, {0}},
        {"Expand", "n, m", "n, m", {3, 4}, {1, 4}, {3, 4}},
        {"Expand", "n, m", "n, m", {3, 4}, {3, 5}, {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) expect_shape(&CASES[i]);
}
