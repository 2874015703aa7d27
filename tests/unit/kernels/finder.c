/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose results' sizes depend on data, against the definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/reference_case.h"
#include "kernels/finder.h"
#include "kernels/finder_boxes.h"

typedef struct results {
    pgy_tensor *made[KERNEL_MAX_OUTPUTS];
    void *memory;
} results;

static pgy_status create(void **data, void *user, size_t i, pgy_dtype dtype, size_t rank,
                         const int64_t *shape, pgy_error *err)
{
    results *r = user;
    assert_null(r->made[i]);
    const pgy_status st = pgy_tensor_create(&r->made[i], dtype, rank, shape, err);
    if (!st) *data = pgy_tensor_data(r->made[i]);
    return st;
}

/* The sanitizers see what is read or written beyond it. */
static pgy_status lend(void **out, void *user, size_t size_bytes, pgy_error *err)
{
    results *r = user;
    (void)err;
    assert_null(r->memory);
    r->memory = *out = mem_alloc_aligned(64, size_bytes);
    assert_non_null(*out);
    memset(*out, 0xa5, size_bytes);
    return PGY_OK;
}

static void compare(const pgy_tensor *got, const pgy_tensor *wanted)
{
    assert_non_null(got);
    assert_int_equal(pgy_tensor_dtype(got), pgy_tensor_dtype(wanted));
    assert_int_equal(pgy_tensor_rank(got), pgy_tensor_rank(wanted));
    for (size_t d = 0; d < pgy_tensor_rank(got); d++)
        assert_int_equal(pgy_tensor_shape(got)[d], pgy_tensor_shape(wanted)[d]);
    assert_memory_equal(pgy_tensor_data(got), pgy_tensor_data(wanted), pgy_tensor_size_bytes(got));
}

/* Runs definition and finder, which must accept, and releases the case. */
static void check(reference_case *c, size_t outputs)
{
    pgy_tensor *wanted[KERNEL_MAX_OUTPUTS] = {0};
    bool named[KERNEL_MAX_OUTPUTS];
    results r = {0};
    pgy_error err = {0};
    for (size_t i = 0; i < KERNEL_MAX_OUTPUTS; i++) named[i] = true;
    reference_wanted(c, outputs, wanted);
    finder_call call = {
        .node = &c->node, .wanted = named, .create = create, .memory = lend, .user = &r};
    for (size_t i = 0; i < c->input_count; i++)
        if (c->inputs[i])
            call.inputs[i] = (kernel_tensor){.dtype = pgy_tensor_dtype(c->inputs[i]),
                                             .rank = (int32_t)pgy_tensor_rank(c->inputs[i]),
                                             .shape = pgy_tensor_shape(c->inputs[i]),
                                             .data = pgy_tensor_data(c->inputs[i])};
    const finder *f = finder_for("", c->node.def->name);
    assert_non_null(f);
    assert_true(f->accept(&call));
    if (f->run(&call, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < outputs; i++) {
        compare(r.made[i], wanted[i]);
        pgy_tensor_release(r.made[i]);
        pgy_tensor_release(wanted[i]);
    }
    for (size_t i = 0; i < c->input_count; i++) pgy_tensor_release(c->inputs[i]);
    mem_free(r.memory);
}

static const pgy_dtype TYPES[] = {PGY_F32, PGY_F64, PGY_F16, PGY_BF16, PGY_I8,  PGY_U8,  PGY_I16,
                                  PGY_U16, PGY_I32, PGY_U32, PGY_I64,  PGY_U64, PGY_BOOL};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void test_finder__nonzero(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"",      "1",      "0",       "37",  "4 65",
                                         "3 1 7", "65 1 1", "2 3 5 7", "0 3", "700"};
    for (size_t t = 0; t < TYPE_COUNT; t++)
        for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
            for (int how = 0; how < 3; how++) { /* many, few, none */
                reference_case c;
                reference_start(&c, "", "NonZero", 13);
                char *x = reference_input(&c, TYPES[t], SHAPES[s]);
                const size_t item = pgy_dtype_describe(TYPES[t])->bits / 8;
                for (size_t i = 0; how && i < pgy_tensor_count(c.inputs[0]); i++)
                    if (how == 2 || i % 11) memset(x + i * item, 0, item);
                check(&c, 1);
            }
    reference_case c;
    reference_start(&c, "", "NonZero", 13);
    float *x = reference_input(&c, PGY_F32, "3 20");
    for (size_t i = 0; i < 60; i++) x[i] = (const float[]){-0.0f, NAN, 0, 1e-45f, INFINITY}[i % 5];
    check(&c, 1);
}

static void compress(pgy_dtype dtype, const char *shape, int axis, const char *condition)
{
    reference_case c;
    reference_start(&c, "", "Compress", 11);
    if (axis > -9) reference_attr_int(&c, "axis", axis);
    reference_input(&c, dtype, shape);
    reference_input(&c, PGY_BOOL, condition);
    check(&c, 1);
}

static void test_finder__compress(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPE_COUNT; t++) {
        if (TYPES[t] == PGY_BF16) continue; /* the operator does not have it */
        compress(TYPES[t], "40", -9, "40");
        compress(TYPES[t], "4 65", -9, "200"); /* the rest of the elements is dropped */
        compress(TYPES[t], "4 65", -9, "0");
        compress(TYPES[t], "0 3", -9, "0");
        for (int axis = -3; axis < 3; axis++) {
            compress(TYPES[t], "7 8 9", axis, "7");
            compress(TYPES[t], "7 8 9", axis, "3");
            compress(TYPES[t], "7 0 9", axis, "0");
            compress(TYPES[t], "40 40 1", axis, "1");
        }
    }
}

static void unique(pgy_dtype dtype, const char *shape, int sorted, size_t outputs, float scale)
{
    reference_case c;
    reference_start(&c, "", "Unique", 11);
    reference_attr_int(&c, "sorted", sorted);
    float *x = reference_input(&c, dtype, shape);
    const size_t count = pgy_tensor_count(c.inputs[0]);
    for (size_t i = 0; dtype == PGY_F32 && i < count; i++) x[i] = roundf(x[i] * scale) / scale;
    for (size_t i = 0; dtype == PGY_F32 && i + 7 < count; i += 40)
        memcpy(x + i, (const float[]){NAN, -0.0f, 0, INFINITY, -INFINITY, -NAN, 3e38f}, 28);
    for (size_t i = 0; dtype == PGY_I64 && i < count; i++)
        ((int64_t *)x)[i] *= scale > 9 ? INT64_C(1) << 58 : 1;
    check(&c, outputs);
}

static void test_finder__unique(void **state)
{
    (void)state;
    static const pgy_dtype SOME[] = {PGY_F32, PGY_I64, PGY_I32, PGY_I8, PGY_U8, PGY_BOOL};
    static const char *const SHAPES[] = {"", "0", "1", "9", "24", "25", "7 300", "5000"};
    for (size_t t = 0; t < sizeof SOME / sizeof *SOME; t++)
        for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
            for (int sorted = 0; sorted < 2; sorted++)
                for (size_t outputs = 1; outputs <= 4; outputs += 3) {
                    unique(SOME[t], SHAPES[s], sorted, outputs, 4);
                    unique(SOME[t], SHAPES[s], sorted, outputs, 1e4f);
                }
}

/* ---- NonMaxSuppression ---------------------------------------------------------------------- */

typedef struct suppression {
    const char *boxes, *scores;
    int64_t most;
    float iou, limit, size, step; /* size: of boxes; step: corners are multiples of it */
    int centred, odd;             /* odd: NaN, infinities and equal scores */
} suppression;

static void make_odd(float *boxes, float *scores, size_t box_values, size_t score_count)
{
    for (size_t i = 0; i + 5 < box_values; i += 97)
        boxes[i] = (const float[]){NAN, INFINITY, -INFINITY, 3e38f}[i / 97 % 4];
    for (size_t i = 0; i < score_count; i++)
        scores[i] = i % 19 ? roundf(scores[i] * 4) / 4 : (i % 2 ? NAN : -0.0f);
}

static void suppress(const suppression *s)
{
    reference_case c;
    reference_start(&c, "", "NonMaxSuppression", 11);
    reference_attr_int(&c, "center_point_box", s->centred);
    float *b = reference_input(&c, PGY_F32, s->boxes);
    const size_t values = pgy_tensor_count(c.inputs[0]);
    for (size_t i = 0; i + 3 < values; i += 4)
        for (size_t k = 2; k < 4; k++)
            b[i + k] = s->centred ? fabsf(b[i + k]) * s->size
                                  : b[i + k - 2] + b[i + k] * s->size; /* any order of corners */
    for (size_t i = 0; s->step > 0 && i < values; i++) b[i] = roundf(b[i] / s->step) * s->step;
    float *scores = reference_input(&c, PGY_F32, s->scores);
    if (s->odd) make_odd(b, scores, values, pgy_tensor_count(c.inputs[1]));
    reference_ints(&c, &s->most, 1);
    *(float *)reference_input(&c, PGY_F32, "1") = s->iou;
    if (s->limit > -9) *(float *)reference_input(&c, PGY_F32, "") = s->limit;
    check(&c, 1);
}

static void test_finder__boxes(void **state)
{
    (void)state;
    static const float IOUS[] = {0, 0.3f, 0.5f, 1};
    for (size_t i = 0; i < 4; i++)
        for (int centred = 0; centred < 2; centred++)
            for (int odd = 0; odd < 2; odd++)
                for (float size = 0.05f; size < 2; size *= 4)
                    for (int step = 0; step < 2; step++) {
                        suppression s = {"2 300 4", "2 3 300",    20,      IOUS[i], 0.5f,
                                         size,      step * 0.25f, centred, odd};
                        suppress(&s); /* a heap */
                        s.most = 1000;
                        suppress(&s); /* sorted */
                        s.limit = -10;
                        suppress(&s);
                        s.most = 0;
                        suppress(&s);
                    }
    suppress(&(suppression){"1 0 4", "1 2 0", 5, 0.5f, 0.1f, 1, 0, 0, 0});
    suppress(&(suppression){"1 5 4", "1 0 5", 5, 0.5f, 0.1f, 1, 0, 0, 0});
    suppress(&(suppression){"1 1 4", "1 1 1", INT64_MAX, 0.5f, -10, 1, 0, 0, 0});
}

static void test_finder__boxes_that_touch_are_found_at_every_level(void **state)
{
    (void)state;
    boxes_block b;
    const float corners[] = {0, 0, 1, 1};
    for (int i = 0; i < BOXES_BLOCK; i++) {
        b.y0[i] = i % 3 ? (float)(i % 5) - 1 : NAN;
        b.x0[i] = (float)(i % 7) - 3;
        b.y1[i] = b.y0[i] + 0.5f;
        b.x1[i] = b.x0[i] + 1;
    }
    const uint32_t wanted = boxes_touch_of(CPU_PORTABLE)(&b, corners);
    assert_int_not_equal(wanted, 0);
    for (int level = CPU_AVX2; level <= (int)cpu_features(); level++)
        assert_int_equal(boxes_touch_of((cpu_level)level)(&b, corners), wanted);
}

static void test_finder__leaves_other_problems_to_the_definition(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "Unique", 11);
    reference_attr_int(&c, "axis", 0);
    reference_input(&c, PGY_I64, "4 5");
    const finder_call call = {
        .node = &c.node,
        .inputs = {{.dtype = PGY_I64, .rank = 2, .shape = pgy_tensor_shape(c.inputs[0])}}};
    assert_false(finder_for("", "Unique")->accept(&call));
    assert_null(finder_for("com.microsoft", "Unique"));
    assert_null(finder_for("", "Relu"));
    pgy_tensor_release(c.inputs[0]);
}
