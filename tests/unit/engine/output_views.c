/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that are views: the step that computes the tensor writes it where the caller wants it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/build/engine.h"
#include "engine/context/context.h"
#include "harness/model_builder.h"

static const int64_t FLAT[] = {-1}, SQUARES[] = {4, 4, 16};

/* A model of one input x, [16, 16], and r, its Softmax. */
static model_builder start_model(void)
{
    model_builder b = builder_start(18);
    builder_input(&b, "x", PGY_F32, "16, 16");
    builder_ints(&b, "flat", "1", FLAT);
    builder_ints(&b, "squares", "3", SQUARES);
    builder_node(&b, "Softmax", "x", "r");
    return b;
}

/* Runs the model twice; *steps: those of its program. */
static pgy_tensor_map *run(model_builder *b, size_t *steps)
{
    static const int64_t SHAPE[] = {16, 16};
    pgy_model *model = builder_finish_bytes(b);
    engine *e = NULL;
    context *c = NULL;
    program *p = NULL;
    pgy_tensor *x = NULL;
    pgy_tensor_map *feed = NULL, *got = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, NULL, &err)) fail_msg("%s", err.text);
    if (engine_program_for(&p, e, 0, &err)) fail_msg("%s", err.text);
    *steps = p->step_count;
    program_release(p);
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, SHAPE, NULL), PGY_OK);
    for (size_t i = 0; i < 256; i++)
        ((float *)pgy_tensor_data(x))[i] = (float)(i * 37 % 101) / 25 - 2;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    assert_int_equal(context_create(&c, e, 1, &err), PGY_OK);
    for (int again = 0; again < 2; again++)
        if (context_run(c, feed, got, NULL, &err)) fail_msg("%s", err.text);
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
    pgy_tensor_map_destroy(feed);
    return got;
}

/* The Softmax of x, or that of the Softmax. */
static pgy_tensor_map *wanted(bool again)
{
    size_t steps;
    model_builder b = start_model();
    if (again) builder_node(&b, "Softmax", "r", "s");
    builder_output(&b, again ? "s" : "r", PGY_F32, "16, 16");
    return run(&b, &steps);
}

/* The first output has the elements of the Softmax; so has the second, or those of its Softmax. */
static void expect(model_builder *b, size_t steps, bool again)
{
    size_t made;
    pgy_tensor_map *once = wanted(false), *other = wanted(again), *got = run(b, &made);
    assert_int_equal(made, steps);
    for (size_t i = 0; i < pgy_tensor_map_count(got); i++) {
        const pgy_tensor *t = pgy_tensor_map_at(got, i);
        const pgy_tensor *like = pgy_tensor_map_at(i ? other : once, 0);
        assert_int_equal(pgy_tensor_size_bytes(t), pgy_tensor_size_bytes(like));
        assert_memory_equal(pgy_tensor_data(t), pgy_tensor_data(like), pgy_tensor_size_bytes(t));
    }
    pgy_tensor_map_destroy(once);
    pgy_tensor_map_destroy(other);
    pgy_tensor_map_destroy(got);
}

static void test_output_views__are_written_by_the_step_before(void **state)
{
    (void)state;
    model_builder b = start_model();
    builder_node(&b, "Reshape", "r squares", "s");
    builder_node(&b, "Reshape", "s flat", "y");
    builder_output(&b, "y", PGY_F32, "256");
    expect(&b, 1, false);
}

/* The tensor is read again, from the caller's memory. */
static void test_output_views__others_may_read_the_tensor(void **state)
{
    (void)state;
    model_builder b = start_model();
    builder_node(&b, "Reshape", "r flat", "y");
    builder_node(&b, "Softmax", "r", "z");
    builder_output(&b, "y", PGY_F32, "256");
    builder_output(&b, "z", PGY_F32, "16, 16");
    expect(&b, 2, true);
}

/* Only one output is written; the other one is a copy of it. */
static void test_output_views__of_one_tensor(void **state)
{
    (void)state;
    model_builder b = start_model();
    builder_node(&b, "Reshape", "r flat", "y");
    builder_node(&b, "Reshape", "r squares", "z");
    builder_output(&b, "y", PGY_F32, "256");
    builder_output(&b, "z", PGY_F32, "4, 4, 16");
    expect(&b, 2, false);
    b = start_model();
    builder_node(&b, "Reshape", "r flat", "y");
    builder_output(&b, "y", PGY_F32, "256");
    builder_output(&b, "r", PGY_F32, "16, 16");
    expect(&b, 2, false);
}
