/* SPDX-License-Identifier: Apache-2.0 */
/* Multinomial: classes drawn, for each row [batch, classes] of unnormalised log-probabilities, by
 * comparing uniform numbers with the running sums of the probabilities; see class_random.h. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_random.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, "6"},
    {"sample_size", OP_ATTR_INT, false, "1"},
    {"seed", OP_ATTR_FLOAT, false, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t samples = op_attr_int(c->node, "sample_size", 1);
    pgy_dtype dtype;
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (!st) st = random_type(&dtype, c->node, PGY_I32, err);
    if (!st && dtype != PGY_I32 && dtype != PGY_I64)
        st = op_error(c->node, err, PGY_E_TYPE, "attribute dtype is %s, but must be int32 or int64",
                      pgy_dtype_name(dtype));
    if (!st && samples < 0)
        st =
            op_error(c->node, err, PGY_E_ARGUMENT,
                     "attribute sample_size is %lld, but must not be negative", (long long)samples);
    dim *dims = op_dims(c, 2);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] =
        rank_known(c, 0) ? c->inputs[0].dims[0] : dim_unknown(c->dims, "the batch is not known");
    dims[1] = dim_const(samples);
    op_set_output(c, 0, dtype, 2, dims);
    return PGY_OK;
}

/* Running sums of exp(x - max) over a row. */
static void running_sums(double *sums, const double *x, size_t count)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < count; i++) {
        sum += exp(x[i] - most);
        sums[i] = sum;
    }
}

/* The first class whose running sum exceeds `at`. */
static size_t find_class(const double *sums, size_t count, double at)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    mt19937 *g = NULL;
    double *sums = NULL;
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const size_t rows = (size_t)in_shape(c, 0)[0], classes = (size_t)in_shape(c, 0)[1];
    const size_t samples = (size_t)out_shape(c, 0)[1];
    if (!out_count(c, 0)) return PGY_OK;
    if (!classes)
        return op_error(c->node, err, PGY_E_SHAPE, "the input has no classes to draw from");
    st = workspace_alloc((void **)&sums, c, classes, sizeof *sums, err);
    if (!st) st = random_create(&g, c, err);
    for (size_t r = 0; !st && r < rows; r++) {
        running_sums(sums, in_f64(c, 0) + r * classes, classes);
        for (size_t i = 0; i < samples; i++)
            out_i64(c, 0)[r * samples + i] =
                (int64_t)find_class(sums, classes, mt19937_double(g) * sums[classes - 1]);
    }
    mem_free(g);
    mem_free(sums);
    return st;
}

#define ROW(version, words)                                                                      \
    {                                                                                            \
        .name = "Multinomial", .domain = "", .since = version, .min_inputs = 1, .max_inputs = 1, \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_RANDOM, .attrs = ATTRS, .types = words,  \
        .infer = infer, .eval = eval                                                             \
    }
const op_def OP_multinomial[] = {ROW(7, TYPES_F3), ROW(22, TYPES_F4), {0}};
