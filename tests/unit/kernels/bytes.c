/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, products, tables, joins and pooling of quantised bytes of all variants against the
 * reference, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/int_case.h"

static pgy_dtype byte(int is_signed)
{
    return is_signed ? PGY_I8 : PGY_U8;
}

/* A tensor with its scale and zero point. */
static void quantised(int_case *c, pgy_dtype type, int32_t rank, const int64_t *shape, double scale,
                      double zero)
{
    int_case_input(c, type, false, rank, shape);
    int_case_scalar(c, PGY_F32, scale);
    int_case_scalar(c, type, zero);
}

/* ---- Two operands --------------------------------------------------------------------------- */

static void run_binary(const char *op, bool is_signed, int32_t a_rank, const int64_t *a,
                       int32_t b_rank, const int64_t *b, double scale)
{
    int_case c;
    const pgy_dtype type = byte(is_signed);
    int_case_start(&c, "com.microsoft", op, 1);
    quantised(&c, type, a_rank, a, 0.021 * scale, 7);
    quantised(&c, type, b_rank, b, 0.05, 100);
    int_case_scalar(&c, PGY_F32, strcmp(op, "QLinearMul") ? 0.06 : 0.4);
    int_case_scalar(&c, type, 50);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__sums_and_products(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        const char *op = form & 1 ? "QLinearMul" : "QLinearAdd";
        const bool is_signed = form & 2;
        run_binary(op, is_signed, 3, (const int64_t[]){3, 50, 71}, 3, (const int64_t[]){3, 50, 71},
                   1);
        run_binary(op, is_signed, 3, (const int64_t[]){3, 50, 71}, 1, (const int64_t[]){71}, 1);
        run_binary(op, is_signed, 3, (const int64_t[]){3, 50, 1}, 3, (const int64_t[]){1, 50, 71},
                   1);
        run_binary(op, is_signed, 0, NULL, 2, (const int64_t[]){5, 9}, 1);
        run_binary(op, is_signed, 2, (const int64_t[]){3, 1500}, 2, (const int64_t[]){3, 1}, 1);
        run_binary(op, is_signed, 0, NULL, 2, (const int64_t[]){5, 900}, 1);
        run_binary(op, is_signed, 2, (const int64_t[]){40, 99}, 2, (const int64_t[]){40, 99}, 900);
    }
}

/* Scales by which every other sum lies in the middle between two results. */
static void test_bytes__halves_go_to_even(void **state)
{
    (void)state;
    int_case c;
    int_case_start(&c, "com.microsoft", "QLinearAdd", 1);
    quantised(&c, PGY_U8, 2, (const int64_t[]){20, 83}, 0.5, 128);
    quantised(&c, PGY_U8, 2, (const int64_t[]){20, 83}, 0.5, 128);
    int_case_scalar(&c, PGY_F32, 1);
    int_case_scalar(&c, PGY_U8, 128);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

/* ---- One operand ---------------------------------------------------------------------------- */

static void test_bytes__tables(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        int_case c;
        const pgy_dtype type = byte(form & 1);
        int_case_start(&c, "com.microsoft", form & 2 ? "QLinearSigmoid" : "QLinearLeakyRelu", 1);
        quantised(&c, type, 2, (const int64_t[]){30, 777}, 0.03, 60);
        int_case_scalar(&c, PGY_F32, form & 2 ? 0.004 : 0.02);
        int_case_scalar(&c, type, 3);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}

static void run_softmax(bool is_signed, int64_t opset, int64_t axis, const int64_t *shape,
                        double scale)
{
    int_case c;
    const pgy_dtype type = byte(is_signed);
    int_case_start(&c, "com.microsoft", "QLinearSoftmax", 1);
    case_attr_int(&c.c, "opset", opset);
    case_attr_int(&c.c, "axis", axis);
    quantised(&c, type, 3, shape, scale, 60);
    int_case_scalar(&c, PGY_F32, 1.0 / 256);
    int_case_scalar(&c, type, is_signed ? -128 : 0);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__softmax(void **state)
{
    (void)state;
    static const int64_t SHAPES[][3] = {{5, 3, 100}, {2, 1, 1000}, {7, 9, 1}, {3, 64, 5}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        for (int form = 0; form < 4; form++)
            for (int64_t axis = -3; axis < 3; axis++)
                run_softmax(form & 1, form & 2 ? 13 : 11, axis, SHAPES[i], i % 2 ? 0.3 : 0.011);
    for (int64_t n = 1; n < 600; n += 37)
        run_softmax(n & 1, 13, -1, (const int64_t[]){1, 2, n}, 0.05);
}

/* Ranks and shapes of condition and operands. */
static void run_where(int form, const int64_t *condition, const int64_t *a, const int64_t *b)
{
    int_case c;
    const pgy_dtype type = byte(form & 1);
    int_case_start(&c, "com.microsoft", "QLinearWhere", 1);
    int_case_input(&c, PGY_BOOL, false, 3, condition);
    quantised(&c, type, 3, a, form & 2 ? 0.05 : 0.021, form & 2 ? 9 : 7);
    quantised(&c, type, 3, b, 0.05, 9);
    int_case_scalar(&c, PGY_F32, 0.05);
    int_case_scalar(&c, type, 9);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__choices(void **state)
{
    (void)state;
    static const int64_t WHOLE[] = {3, 40, 71}, ROWS[] = {3, 40, 1}, ROW[] = {1, 1, 71},
                         ONE[] = {1, 1, 1};
    const int64_t *const all[] = {WHOLE, ROWS, ROW, ONE};
    for (int form = 0; form < 4; form++)
        for (int i = 0; i < 64; i++) run_where(form, all[i / 16], all[i / 4 % 4], all[i % 4]);
}

static void run_concat(bool is_signed, int64_t axis)
{
    int_case c;
    const pgy_dtype type = byte(is_signed);
    int_case_start(&c, "com.microsoft", "QLinearConcat", 1);
    case_attr_int(&c.c, "axis", axis);
    int_case_scalar(&c, PGY_F32, 0.05);
    int_case_scalar(&c, type, 9);
    for (int i = 0; i < 3; i++) {
        int64_t shape[] = {4, 5, 6};
        shape[axis] += 7 * i;
        quantised(&c, type, 3, shape, i == 1 ? 0.05 : 0.03 + 0.01 * i, 9);
    }
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__joins(void **state)
{
    (void)state;
    for (int64_t axis = 0; axis < 3; axis++) {
        run_concat(false, axis);
        run_concat(true, axis);
    }
}

/* ---- Extremes ------------------------------------------------------------------------------- */

static void run_arg(const char *op, int form, int64_t axis, const int64_t *shape)
{
    int_case c;
    int_case_start(&c, "", op, 13);
    case_attr_int(&c.c, "axis", axis);
    case_attr_int(&c.c, "keepdims", form & 1);
    case_attr_int(&c.c, "select_last_index", form >> 1 & 1);
    int_case_input(&c, byte(form & 4), false, 3, shape);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void run_extreme(const char *op, int form, const int64_t *axes, int64_t count,
                        const int64_t *shape)
{
    int_case c;
    double values[3];
    for (int64_t i = 0; i < count; i++) values[i] = (double)axes[i];
    int_case_start(&c, "", op, 18);
    case_attr_int(&c.c, "keepdims", form & 1);
    int_case_input(&c, byte(form & 2), false, 3, shape);
    if (count) int_case_values(&c, PGY_I64, 1, &count, values);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__extremes(void **state)
{
    (void)state;
    static const int64_t SHAPES[][3] = {{3, 100, 70}, {2, 600, 9}, {1, 1, 7}, {300, 1, 67}};
    static const int64_t AXES[][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 2}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        for (int form = 0; form < 8; form++) {
            for (int64_t axis = -1; axis < 3; axis++)
                run_arg(form % 3 ? "ArgMax" : "ArgMin", form, axis, SHAPES[i]);
            for (int64_t k = 0; k < 5; k++)
                run_extreme(form & 4 ? "ReduceMax" : "ReduceMin", form, AXES[k], k < 3 ? 1 : 2,
                            SHAPES[i]);
            run_extreme(form & 4 ? "ReduceMax" : "ReduceMin", form, NULL, 0, SHAPES[i]);
        }
}

/* ---- Pooling -------------------------------------------------------------------------------- */

typedef struct pool_case {
    int64_t kernel[2], strides[2], pads[4], ceil_mode, count_pads;
} pool_case;

static const pool_case POOLS[] = {
    {{3, 3}, {2, 2}, {1, 1, 1, 1}, 0, 0}, {{2, 2}, {2, 2}, {0, 0, 0, 0}, 1, 0},
    {{3, 2}, {1, 2}, {1, 0, 0, 1}, 0, 1}, {{3, 3}, {2, 2}, {0, 0, 1, 1}, 1, 1},
    {{1, 1}, {1, 1}, {0, 0, 0, 0}, 0, 0}, {{5, 5}, {3, 3}, {2, 2, 2, 2}, 1, 1},
};

static void run_pool(const pool_case *t, bool is_signed, bool max)
{
    int_case c;
    const pgy_dtype type = byte(is_signed);
    int_case_start(&c, max ? "" : "com.microsoft", max ? "MaxPool" : "QLinearAveragePool",
                   max ? 12 : 1);
    case_attr_ints(&c.c, "kernel_shape", t->kernel, 2);
    case_attr_ints(&c.c, "strides", t->strides, 2);
    case_attr_ints(&c.c, "pads", t->pads, 4);
    case_attr_int(&c.c, "ceil_mode", t->ceil_mode);
    if (!max) case_attr_int(&c.c, "count_include_pad", t->count_pads);
    if (max) {
        int_case_input(&c, type, false, 4, (const int64_t[]){2, 3, 14, 17});
    } else {
        quantised(&c, type, 4, (const int64_t[]){2, 3, 14, 17}, 0.04, 30);
        int_case_scalar(&c, PGY_F32, 0.03);
        int_case_scalar(&c, type, 20);
    }
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__pooling(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof POOLS / sizeof *POOLS; i++)
        for (int form = 0; form < 4; form++) run_pool(&POOLS[i], form & 1, form & 2);
}

/* Three axes, or the channels last. */
static void run_pool_of(const char *op, int64_t axes, bool last, bool is_signed, int form)
{
    int_case c;
    const pgy_dtype type = byte(is_signed);
    const bool mean = strncmp(op, "QLinear", 7) == 0;
    const int64_t two = form & 1 ? 2 : 3, pad = form & 2 ? 1 : 0, step = form & 4 ? 2 : 1;
    int64_t shape[5] = {2, 21};
    int_case_start(&c, strcmp(op, "MaxPool") ? "com.microsoft" : "", op, mean || last ? 1 : 12);
    case_attr_ints(&c.c, "kernel_shape", (const int64_t[]){two, 3, two}, (size_t)axes);
    case_attr_ints(&c.c, "strides", (const int64_t[]){1, step, step}, (size_t)axes);
    case_attr_ints(&c.c, "pads", (const int64_t[]){pad, pad, pad, 0, pad, pad}, 2 * (size_t)axes);
    case_attr_int(&c.c, "ceil_mode", form & 1);
    if (mean) case_attr_int(&c.c, "count_include_pad", form >> 3 & 1);
    if (mean && last) case_attr_int(&c.c, "channels_last", 1);
    for (int64_t d = 0; d < axes; d++) shape[(last ? 1 : 2) + d] = 5 + 4 * d;
    if (last) shape[1 + axes] = form & 8 ? 67 : 21;
    if (mean) {
        quantised(&c, type, (int32_t)axes + 2, shape, 0.04, 30);
        int_case_scalar(&c, PGY_F32, 0.03);
        int_case_scalar(&c, type, 20);
    } else {
        int_case_input(&c, type, false, (int32_t)axes + 2, shape);
    }
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_bytes__pooling_in_other_layouts(void **state)
{
    (void)state;
    for (int form = 0; form < 16; form++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            run_pool_of("MaxPool", 3, false, is_signed, form);
            run_pool_of("QLinearAveragePool", 3, false, is_signed, form);
            for (int64_t axes = 1; axes < 4; axes++) {
                run_pool_of("NhwcMaxPool", axes, true, is_signed, form);
                run_pool_of("QLinearAveragePool", axes, true, is_signed, form);
            }
        }
}

/* Windows of four numbers: many means lie in the middle between two results. */
static void test_bytes__means_round_to_even(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        int_case c;
        int_case_start(&c, "com.microsoft", "QLinearAveragePool", 1);
        case_attr_ints(&c.c, "kernel_shape", (const int64_t[]){2, form & 1 ? 2 : 3}, 2);
        case_attr_int(&c.c, "channels_last", form >> 1);
        quantised(&c, PGY_U8, 4, (const int64_t[]){1, 13, 14, 15}, 0.04, 128);
        int_case_scalar(&c, PGY_F32, 0.04);
        int_case_scalar(&c, PGY_U8, 127);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}

static void test_bytes__mean_of_pixels(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        int_case c;
        const pgy_dtype type = byte(form & 1);
        int_case_start(&c, "com.microsoft", "QLinearGlobalAveragePool", 1);
        case_attr_int(&c.c, "channels_last", 1);
        quantised(&c, type, 4, (const int64_t[]){2, form & 2 ? 40 : 7, 9, 77}, 0.04, 30);
        int_case_scalar(&c, PGY_F32, 0.004);
        int_case_scalar(&c, type, 20);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}

static void test_bytes__mean_of_planes(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        int_case c;
        const pgy_dtype type = byte(form);
        int_case_start(&c, "com.microsoft", "QLinearGlobalAveragePool", 1);
        quantised(&c, type, 4, (const int64_t[]){2, 65, 7, 7}, 0.04, 30);
        int_case_scalar(&c, PGY_F32, 0.004);
        int_case_scalar(&c, type, 20);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}
