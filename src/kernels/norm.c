/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations in float32. A row is a set of elements that share mean and variance: the last axes
 * (layer), a plane (instance), some channels (group). Batch and instance normalisation have one
 * factor and bias per row; layer normalisation has one per element of a row. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/shared_params.h"
#include "kernels/vec_math.h"

enum { TOGETHER = 2048 };

typedef norm_params params;

/* ---- The problem ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    norm_kind kind;
    bool skip;
} OPS[] = {
    {"LayerNormalization", NORM_LAYER, false},
    {"RMSNormalization", NORM_ROOT, false},
    {"SimplifiedLayerNormalization", NORM_ROOT, false},
    {"SkipLayerNormalization", NORM_LAYER, true},
    {"SkipSimplifiedLayerNormalization", NORM_ROOT, true},
    {"InstanceNormalization", NORM_INSTANCE, false},
    {"GroupNormalization", NORM_GROUP, false},
    {"GroupNorm", NORM_GROUP, false},
    {"BatchNormalization", NORM_BATCH, false},
    {"LpNormalization", NORM_LP, false},
};

static uint64_t norm_product(const kernel_tensor *t, int64_t from, int64_t to)
{
    uint64_t p = 1;
    for (int64_t d = from; d < to; d++) p *= (uint64_t)t->shape[d];
    return p;
}

static uint8_t output_of(const kernel_problem *u, size_t i)
{
    return i < u->output_count && u->outputs[i].dtype ? (uint8_t)(u->input_count + i)
                                                      : NORM_NO_TENSOR;
}

static uint8_t input_of(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype ? (uint8_t)i : NORM_NO_TENSOR;
}

/* Is operand i (scale or bias) absent or exactly one row long? */
static bool is_row(const kernel_problem *u, uint8_t i, uint64_t length, int64_t most_rank)
{
    return i == NORM_NO_TENSOR ||
           (kernel_count(&u->inputs[i]) == length && u->inputs[i].rank <= most_rank);
}

static bool describe_layer(params *p, const kernel_problem *u, bool skip)
{
    const kernel_tensor *x = &u->inputs[0];
    int64_t axis = skip ? -1 : op_attr_int(u->node, "axis", -1);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank) return false;
    p->rows = norm_product(x, 0, axis);
    p->length = norm_product(x, axis, x->rank);
    p->scale = input_of(u, skip ? 2 : 1);
    p->bias = p->kind == NORM_LAYER ? input_of(u, skip ? 3 : 2) : NORM_NO_TENSOR;
    p->mean = p->kind == NORM_LAYER || skip ? output_of(u, 1) : NORM_NO_TENSOR;
    p->factor = output_of(u, p->kind == NORM_LAYER || skip ? 2 : 1);
    if (p->kind == NORM_ROOT && p->mean != NORM_NO_TENSOR) return false;
    if (!is_row(u, p->scale, p->length, x->rank - axis)) return false;
    if (!is_row(u, p->bias, p->length, x->rank - axis)) return false;
    if (!skip) return op_attr_int(u->node, "stash_type", 1) == 1;
    p->extra = input_of(u, p->kind == NORM_LAYER ? 4 : 3);
    p->sum = output_of(u, 3);
    p->skip_count = kernel_count(&u->inputs[1]);
    return is_row(u, p->extra, p->length, 1) && p->skip_count &&
           p->rows * p->length % p->skip_count == 0 && p->skip_count % p->length == 0;
}

static bool describe_planes(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const uint64_t n = (uint64_t)x->shape[0], channels = (uint64_t)x->shape[1];
    const uint64_t plane = norm_product(x, 2, x->rank);
    const bool is_own = strcmp(u->node->def->name, "GroupNorm") == 0;
    const int64_t given = op_attr_int(u->node, is_own ? "groups" : "num_groups", 1);
    const uint64_t groups = p->kind != NORM_GROUP ? channels : given > 0 ? (uint64_t)given : 0;
    if (u->output_count != 1 || !groups || channels % groups) return false;
    if (p->kind == NORM_GROUP && !is_own && u->node->def->since < 21) return false;
    if (is_own && op_attr_int(u->node, "channels_last", 1)) return false;
    p->silu = is_own && op_attr_int(u->node, "activation", 0) == 1;
    if (p->kind == NORM_BATCH && op_attr_int(u->node, "training_mode", 0)) return false;
    if (p->kind == NORM_BATCH && u->node->def->since < 9) return false;
    p->rows = n * groups;
    p->length = channels / groups * plane;
    p->channels = channels;
    p->plane = plane;
    p->scale = 1;
    p->bias = 2;
    for (size_t i = 1; i < u->input_count; i++)
        if (kernel_count(&u->inputs[i]) != channels) return false;
    return true;
}

static bool describe_lp(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const int64_t axis = op_attr_int(u->node, "axis", -1);
    if (op_attr_int(u->node, "p", 2) != 2 || (axis != -1 && axis != x->rank - 1)) return false;
    p->rows = norm_product(x, 0, x->rank - 1);
    p->length = (uint64_t)x->shape[x->rank - 1];
    return true;
}

static bool norm_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    size_t i = 0;
    while (strcmp(OPS[i].name, u->node->def->name)) i++; /* ends: OPS lists all operators of .ops */
    *p = (params){.kind = OPS[i].kind,
                  .scale = NORM_NO_TENSOR,
                  .bias = NORM_NO_TENSOR,
                  .extra = NORM_NO_TENSOR,
                  .mean = NORM_NO_TENSOR,
                  .factor = NORM_NO_TENSOR,
                  .sum = NORM_NO_TENSOR,
                  .y = output_of(u, 0),
                  .epsilon = (float)op_attr_float(u->node, "epsilon", 1e-5)};
    for (size_t k = 0; k < u->input_count; k++)
        if (u->inputs[k].dtype && u->inputs[k].dtype != PGY_F32) return false;
    for (size_t k = 0; k < u->output_count; k++)
        if (u->outputs[k].dtype && u->outputs[k].dtype != PGY_F32) return false;
    if (p->y == NORM_NO_TENSOR || x->rank < 1 || !kernel_count(x)) return false;
    if (p->kind == NORM_LP) return describe_lp(p, u);
    if (p->kind == NORM_LAYER || p->kind == NORM_ROOT) return describe_layer(p, u, OPS[i].skip);
    return x->rank > 1 && describe_planes(p, u);
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool norm_accept(kernel_problem *u, double *cost_ns)
{
    const double each = u->self->rates[0];
    params p;
    if (!norm_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.rows * p.length) * each + (double)p.rows * u->self->rates[1];
    return true;
}

static pgy_status norm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)norm_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    const uint64_t worth = p->rows * p->length / 8192 + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->parts = (uint32_t)(p->rows < worth ? p->rows : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static void touch(kernel_extent *e, uint8_t tensor, uint64_t count)
{
    if (tensor != NORM_NO_TENSOR) extent_tensor(e, tensor, count, sizeof(float));
}

/* Do the members for inputs hold indices of inputs, and those for outputs indices of outputs? */
static bool has_valid_numbers(const params *p, const kernel_claim *q)
{
    const uint8_t inputs[] = {p->scale, p->bias, p->extra},
                  outputs[] = {p->mean, p->factor, p->sum};
    const uint32_t end = q->input_count + q->output_count;
    for (size_t i = 0; i < sizeof inputs; i++)
        if (inputs[i] != NORM_NO_TENSOR && inputs[i] >= q->input_count) return false;
    for (size_t i = 0; i < sizeof outputs; i++)
        if (outputs[i] != NORM_NO_TENSOR && (outputs[i] < q->input_count || outputs[i] >= end))
            return false;
    return q->input_count && p->y >= q->input_count && p->y < end;
}

static bool extent_layer(kernel_extent *e, const params *p, const kernel_claim *q)
{
    if (p->skip_count && (p->skip_count % p->length || q->input_count < 2))
        return extent_refuse(e, "skip");
    if (p->scale == NORM_NO_TENSOR) return extent_refuse(e, "number of inputs");
    touch(e, p->scale, p->length);
    touch(e, p->bias, p->length);
    touch(e, p->mean, p->rows);
    touch(e, p->factor, p->rows);
    if (!p->skip_count) return true;
    touch(e, 1, p->skip_count);
    touch(e, p->extra, p->length);
    touch(e, p->sum, extent_mul(p->rows, p->length));
    return true;
}

static bool extent_planes(kernel_extent *e, const params *p, const kernel_claim *q)
{
    const uint64_t all = extent_mul(p->channels, p->plane);
    if (all == EXTENT_TOO_MUCH || !all || p->length % p->plane || all % p->length)
        return extent_refuse(e, "channels");
    if (p->scale == NORM_NO_TENSOR || p->bias == NORM_NO_TENSOR ||
        (p->kind == NORM_BATCH && q->input_count < 5))
        return extent_refuse(e, "number of inputs");
    touch(e, p->scale, p->channels);
    touch(e, p->bias, p->channels);
    for (uint8_t i = 3; p->kind == NORM_BATCH && i < 5; i++) touch(e, i, p->channels);
    return true;
}

static bool norm_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, NORM_LP + 1, "kind"))
        return false;
    if (!has_valid_numbers(p, q)) return extent_refuse(e, "numbers of operands");
    if (!p->length) return extent_refuse(e, "shape");
    const uint64_t count = extent_mul(p->rows, p->length);
    touch(e, 0, count);
    touch(e, p->y, count);
    if (p->kind == NORM_LP) return true;
    return p->kind == NORM_LAYER || p->kind == NORM_ROOT ? extent_layer(e, p, q)
                                                         : extent_planes(e, p, q);
}

/* ---- Running -------------------------------------------------------------------------------- */

static float *norm_tensor(const kernel_run *r, uint8_t i)
{
    return i == NORM_NO_TENSOR ? NULL : r->tensors[i];
}

/* Adds the skip input and bias to rows, whose skip input is contiguous. Stores the sum in the
 * node's sum output if there is one, else in y. */
static const float *add_skip(const params *p, const kernel_run *r, size_t row, size_t rows)
{
    static const uint32_t both[] = {1, 1};
    const elementwise_loop add = elementwise_table((cpu_level)p->level)[ELEMENTWISE_add_f32];
    const size_t n = p->length, at = row * n;
    float *to = (p->sum != NORM_NO_TENSOR ? norm_tensor(r, p->sum) : norm_tensor(r, p->y)) + at;
    const float *x = (const float *)r->tensors[0] + at;
    const float *skip = (const float *)r->tensors[1] + at % p->skip_count;
    const float *extra = norm_tensor(r, p->extra);
    add(to, (const void *const[]){x, skip}, both, rows * n, NULL);
    for (size_t i = 0; extra && i < rows; i++)
        add(to + i * n, (const void *const[]){to + i * n, extra}, both, n, NULL);
    return to;
}

/* Rows that are computed together: few enough to stay in the cache between two loops over them, and
 * with a contiguous skip input. */
static size_t rows_together(const params *p, size_t row, size_t end)
{
    size_t rows = p->length < TOGETHER ? TOGETHER / p->length : 1;
    if (p->skip_count) {
        const size_t period = p->skip_count / p->length, left = period - row % period;
        if (rows > left) rows = left;
    }
    return rows < end - row ? rows : end - row;
}

static void norm_layer(const params *p, const kernel_run *r, const vec_math *m, size_t row,
                       size_t rows)
{
    const vec_norm v = {.root = p->kind == NORM_ROOT,
                        .epsilon = p->epsilon,
                        .scale = norm_tensor(r, p->scale),
                        .bias = norm_tensor(r, p->bias)};
    const size_t n = p->length;
    float *means = norm_tensor(r, p->mean), *factors = norm_tensor(r, p->factor);
    const float *x =
        p->skip_count ? add_skip(p, r, row, rows) : (const float *)r->tensors[0] + row * n;
    m->normalize_rows(norm_tensor(r, p->y) + row * n, x, rows, n, &v, means ? means + row : NULL,
                      factors ? factors + row : NULL);
}

static void norm_planes(const params *p, const kernel_run *r, const vec_math *m, size_t row)
{
    const size_t n = p->length, groups = p->channels * p->plane / n;
    const float *x = (const float *)r->tensors[0] + row * n;
    float *y = norm_tensor(r, p->y) + row * n, mean = 0, variance = 0;
    const float *scale = norm_tensor(r, p->scale), *bias = norm_tensor(r, p->bias);
    if (p->kind != NORM_BATCH) {
        mean = m->sum(x, n) / (float)n;
        variance = m->sum_squares(x, n, mean) / (float)n;
    }
    for (size_t at = 0; at < n; at += p->plane) {
        const size_t channel = row % groups * (n / p->plane) + at / p->plane;
        if (p->kind == NORM_BATCH) {
            mean = ((const float *)r->tensors[3])[channel];
            variance = ((const float *)r->tensors[4])[channel];
        }
        const float factor = scale[channel] / sqrtf(variance + p->epsilon);
        m->affine(y + at, x + at, p->plane, mean, factor, bias[channel]);
        if (p->silu) m->silu(y + at, y + at, p->plane);
    }
}

static void norm_lp(const params *p, const kernel_run *r, const vec_math *m, size_t row)
{
    const size_t n = p->length;
    const float *x = (const float *)r->tensors[0] + row * n;
    float *y = norm_tensor(r, p->y) + row * n;
    const float norm = sqrtf(m->sum_squares(x, n, 0));
    if (norm == 0)
        memset(y, 0, n * sizeof *y);
    else
        m->affine(y, x, n, 0, 1 / norm, 0);
}

static void norm_run(const kernel_run *r)
{
    const params *p = r->params;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    size_t from, to;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from, rows = 1; row < to && !cancel_requested(); row += rows) {
        if (p->kind == NORM_LP) {
            norm_lp(p, r, m, row);
        } else if (p->kind == NORM_LAYER || p->kind == NORM_ROOT) {
            rows = rows_together(p, row, to);
            norm_layer(p, r, m, row, rows);
        } else {
            norm_planes(p, r, m, row);
        }
    }
}

static int32_t norm_free_axes(const kernel_problem *u)
{
    params p;
    if (!norm_describe(&p, u) || (p.kind != NORM_LAYER && p.kind != NORM_ROOT)) return 0;
    return kernel_axes_before(u, p.skip_count ? -1 : op_attr_int(u->node, "axis", -1));
}

#define ROW(suffix, level, each, row)                                                             \
    {                                                                                             \
        .name = "norm_f32_" #suffix, .version = 2,                                                \
        .ops = "LayerNormalization RMSNormalization SimplifiedLayerNormalization "                \
               "InstanceNormalization GroupNormalization BatchNormalization LpNormalization "     \
               "com.microsoft:GroupNorm "                                                         \
               "com.microsoft:SkipLayerNormalization "                                            \
               "com.microsoft:SkipSimplifiedLayerNormalization",                                  \
        .needs = level, .rates = {each, row}, .free_axes = norm_free_axes, .accept = norm_accept, \
        .prepare = norm_prepare, .run = norm_run, .extent = norm_extent                           \
    }
const kernel KERNELS_norm[] = {
    ROW(portable, CPU_PORTABLE, 1, 30),
    ROW(avx2, CPU_AVX2, 0.5, 20),
    ROW(avx512, CPU_AVX512, 0.2, 10),
    {0},
};
