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
#include "kernels/vec_math.h"

typedef enum kind { LAYER, ROOT, INSTANCE, GROUP, BATCH, LP } kind;

enum { NO_TENSOR = 255 };

typedef struct params {
    uint64_t rows, length;    /* of the input */
    uint64_t channels, plane; /* channels of the input; positions of one channel */
    uint64_t skip_count;      /* elements of the skip input, which is repeated; 0: no skip */
    uint32_t kind, level;
    uint8_t scale, bias, extra;   /* operand indices; extra: bias added to the input */
    uint8_t y, mean, factor, sum; /* outputs */
    float epsilon;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    kind kind;
    bool skip;
} OPS[] = {
    {"LayerNormalization", LAYER, false},
    {"RMSNormalization", ROOT, false},
    {"SimplifiedLayerNormalization", ROOT, false},
    {"SkipLayerNormalization", LAYER, true},
    {"SkipSimplifiedLayerNormalization", ROOT, true},
    {"InstanceNormalization", INSTANCE, false},
    {"GroupNormalization", GROUP, false},
    {"BatchNormalization", BATCH, false},
    {"LpNormalization", LP, false},
};

static uint64_t product(const kernel_tensor *t, int64_t from, int64_t to)
{
    uint64_t p = 1;
    for (int64_t d = from; d < to; d++) p *= (uint64_t)t->shape[d];
    return p;
}

static uint8_t output_of(const kernel_problem *u, size_t i)
{
    return i < u->output_count && u->outputs[i].dtype ? (uint8_t)(u->input_count + i) : NO_TENSOR;
}

static uint8_t input_of(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype ? (uint8_t)i : NO_TENSOR;
}

/* Is scale or bias absent or exactly one row long? */
static bool is_row(const kernel_problem *u, uint8_t i, uint64_t length, int64_t most_rank)
{
    return i == NO_TENSOR ||
           (kernel_count(&u->inputs[i]) == length && u->inputs[i].rank <= most_rank);
}

static bool describe_layer(params *p, const kernel_problem *u, bool skip)
{
    const kernel_tensor *x = &u->inputs[0];
    int64_t axis = skip ? -1 : op_attr_int(u->node, "axis", -1);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank) return false;
    p->rows = product(x, 0, axis);
    p->length = product(x, axis, x->rank);
    p->scale = input_of(u, skip ? 2 : 1);
    p->bias = p->kind == LAYER ? input_of(u, skip ? 3 : 2) : NO_TENSOR;
    p->mean = p->kind == LAYER || skip ? output_of(u, 1) : NO_TENSOR;
    p->factor = output_of(u, p->kind == LAYER || skip ? 2 : 1);
    if (p->kind == ROOT && p->mean != NO_TENSOR) return false;
    if (!is_row(u, p->scale, p->length, x->rank - axis)) return false;
    if (!is_row(u, p->bias, p->length, x->rank - axis)) return false;
    if (!skip) return op_attr_int(u->node, "stash_type", 1) == 1;
    p->extra = input_of(u, p->kind == LAYER ? 4 : 3);
    p->sum = output_of(u, 3);
    p->skip_count = kernel_count(&u->inputs[1]);
    return is_row(u, p->extra, p->length, 1) && p->skip_count &&
           p->rows * p->length % p->skip_count == 0 && p->skip_count % p->length == 0;
}

static bool describe_planes(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const uint64_t n = (uint64_t)x->shape[0], channels = (uint64_t)x->shape[1];
    const uint64_t plane = product(x, 2, x->rank);
    const uint64_t groups =
        p->kind == GROUP ? (uint64_t)op_attr_int(u->node, "num_groups", 1) : channels;
    if (u->output_count != 1 || !groups || channels % groups) return false;
    if (p->kind == GROUP && u->node->def->since < 21) return false;
    if (p->kind == BATCH && op_attr_int(u->node, "training_mode", 0)) return false;
    if (p->kind == BATCH && u->node->def->since < 9) return false;
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
    p->rows = product(x, 0, x->rank - 1);
    p->length = (uint64_t)x->shape[x->rank - 1];
    return true;
}

static bool describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    size_t i = 0;
    while (strcmp(OPS[i].name, u->node->def->name)) i++; /* every operator of .ops is listed */
    *p = (params){.kind = OPS[i].kind,
                  .scale = NO_TENSOR,
                  .bias = NO_TENSOR,
                  .extra = NO_TENSOR,
                  .mean = NO_TENSOR,
                  .factor = NO_TENSOR,
                  .sum = NO_TENSOR,
                  .y = output_of(u, 0),
                  .epsilon = (float)op_attr_float(u->node, "epsilon", 1e-5)};
    for (size_t k = 0; k < u->input_count; k++)
        if (u->inputs[k].dtype && u->inputs[k].dtype != PGY_F32) return false;
    for (size_t k = 0; k < u->output_count; k++)
        if (u->outputs[k].dtype && u->outputs[k].dtype != PGY_F32) return false;
    if (p->y == NO_TENSOR || x->rank < 1 || !kernel_count(x)) return false;
    if (p->kind == LP) return describe_lp(p, u);
    if (p->kind == LAYER || p->kind == ROOT) return describe_layer(p, u, OPS[i].skip);
    return x->rank > 1 && describe_planes(p, u);
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool accept_at(kernel_problem *u, double *cost_ns, double each)
{
    params p;
    if (!describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.rows * p.length) * each + (double)p.rows * 20;
    return true;
}

static bool accept_portable(kernel_problem *u, double *cost_ns)
{
    return accept_at(u, cost_ns, 1);
}

static bool accept_avx2(kernel_problem *u, double *cost_ns)
{
    return accept_at(u, cost_ns, 0.5);
}

static bool accept_avx512(kernel_problem *u, double *cost_ns)
{
    return accept_at(u, cost_ns, 0.4);
}

static pgy_status prepare_at(kernel_plan *out, const kernel_problem *u, cpu_level level,
                             pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)describe(p, u); /* accepted before */
    p->level = level;
    const uint64_t worth = p->rows * p->length / 8192 + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->parts = (uint32_t)(p->rows < worth ? p->rows : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static pgy_status prepare_portable(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return prepare_at(out, u, CPU_PORTABLE, err);
}

static pgy_status prepare_avx2(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return prepare_at(out, u, CPU_AVX2, err);
}

static pgy_status prepare_avx512(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return prepare_at(out, u, CPU_AVX512, err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static void touch(kernel_extent *e, uint8_t tensor, uint64_t count)
{
    if (tensor != NO_TENSOR) extent_tensor(e, tensor, count, sizeof(float));
}

/* Do the members for inputs hold indices of inputs, and those for outputs indices of outputs? */
static bool has_valid_numbers(const params *p, const kernel_claim *q)
{
    const uint8_t inputs[] = {p->scale, p->bias, p->extra},
                  outputs[] = {p->mean, p->factor, p->sum};
    const uint32_t end = q->input_count + q->output_count;
    for (size_t i = 0; i < sizeof inputs; i++)
        if (inputs[i] != NO_TENSOR && inputs[i] >= q->input_count) return false;
    for (size_t i = 0; i < sizeof outputs; i++)
        if (outputs[i] != NO_TENSOR && (outputs[i] < q->input_count || outputs[i] >= end))
            return false;
    return q->input_count && p->y >= q->input_count && p->y < end;
}

static bool extent_layer(kernel_extent *e, const params *p, const kernel_claim *q)
{
    if (p->skip_count && (p->skip_count % p->length || q->input_count < 2))
        return extent_refuse(e, "skip");
    if (p->scale == NO_TENSOR) return extent_refuse(e, "number of inputs");
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
    if (p->scale == NO_TENSOR || p->bias == NO_TENSOR || (p->kind == BATCH && q->input_count < 5))
        return extent_refuse(e, "number of inputs");
    touch(e, p->scale, p->channels);
    touch(e, p->bias, p->channels);
    for (uint8_t i = 3; p->kind == BATCH && i < 5; i++) touch(e, i, p->channels);
    return true;
}

static bool extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, LP + 1, "kind")) return false;
    if (!has_valid_numbers(p, q)) return extent_refuse(e, "numbers of operands");
    if (!p->length) return extent_refuse(e, "shape");
    const uint64_t count = extent_mul(p->rows, p->length);
    touch(e, 0, count);
    touch(e, p->y, count);
    if (p->kind == LP) return true;
    return p->kind == LAYER || p->kind == ROOT ? extent_layer(e, p, q) : extent_planes(e, p, q);
}

/* ---- Running -------------------------------------------------------------------------------- */

static float *tensor(const kernel_run *r, uint8_t i)
{
    return i == NO_TENSOR ? NULL : r->tensors[i];
}

/* Adds skip and bias to a row. The result goes to the output for sums if there is one, else to
 * y. */
static const float *add_skip(const params *p, const kernel_run *r, size_t row)
{
    static const uint32_t both[] = {1, 1};
    const elementwise_loop add = elementwise_table((cpu_level)p->level)[ELEMENTWISE_add_f32];
    const size_t at = row * p->length;
    float *to = (p->sum != NO_TENSOR ? tensor(r, p->sum) : tensor(r, p->y)) + at;
    const float *x = (const float *)r->tensors[0] + at;
    const float *skip = (const float *)r->tensors[1] + at % p->skip_count;
    add(to, (const void *const[]){x, skip}, both, p->length, NULL);
    if (p->extra != NO_TENSOR)
        add(to, (const void *const[]){to, tensor(r, p->extra)}, both, p->length, NULL);
    return to;
}

static void run_layer(const params *p, const kernel_run *r, const vec_math *m, size_t row)
{
    const size_t n = p->length;
    const float *x = (const float *)r->tensors[0] + row * n;
    if (p->skip_count) x = add_skip(p, r, row);
    const float mean = p->kind == LAYER ? m->sum(x, n) / (float)n : 0;
    const float variance = m->sum_squares(x, n, mean) / (float)n;
    const float factor = 1 / sqrtf(variance + p->epsilon);
    if (p->mean != NO_TENSOR) tensor(r, p->mean)[row] = mean;
    if (p->factor != NO_TENSOR) tensor(r, p->factor)[row] = factor;
    m->normalize(tensor(r, p->y) + row * n, x, n, mean, factor, tensor(r, p->scale),
                 tensor(r, p->bias));
}

static void run_planes(const params *p, const kernel_run *r, const vec_math *m, size_t row)
{
    const size_t n = p->length, groups = p->channels * p->plane / n;
    const float *x = (const float *)r->tensors[0] + row * n;
    float *y = tensor(r, p->y) + row * n, mean = 0, variance = 0;
    const float *scale = tensor(r, p->scale), *bias = tensor(r, p->bias);
    if (p->kind != BATCH) {
        mean = m->sum(x, n) / (float)n;
        variance = m->sum_squares(x, n, mean) / (float)n;
    }
    for (size_t at = 0; at < n; at += p->plane) {
        const size_t channel = row % groups * (n / p->plane) + at / p->plane;
        if (p->kind == BATCH) {
            mean = ((const float *)r->tensors[3])[channel];
            variance = ((const float *)r->tensors[4])[channel];
        }
        const float factor = scale[channel] / sqrtf(variance + p->epsilon);
        m->affine(y + at, x + at, p->plane, mean, factor, bias[channel]);
    }
}

static void run_lp(const params *p, const kernel_run *r, const vec_math *m, size_t row)
{
    const size_t n = p->length;
    const float *x = (const float *)r->tensors[0] + row * n;
    float *y = tensor(r, p->y) + row * n;
    const float norm = sqrtf(m->sum_squares(x, n, 0));
    if (norm == 0)
        memset(y, 0, n * sizeof *y);
    else
        m->affine(y, x, n, 0, 1 / norm, 0);
}

static void run(const kernel_run *r)
{
    const params *p = r->params;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    size_t from, to;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        if (p->kind == LP)
            run_lp(p, r, m, row);
        else if (p->kind == LAYER || p->kind == ROOT)
            run_layer(p, r, m, row);
        else
            run_planes(p, r, m, row);
    }
}

#define ROW(suffix, needs_)                                                                   \
    {                                                                                         \
        .name = "norm_f32_" #suffix, .version = 1,                                            \
        .ops = "LayerNormalization RMSNormalization SimplifiedLayerNormalization "            \
               "InstanceNormalization GroupNormalization BatchNormalization LpNormalization " \
               "com.microsoft:SkipLayerNormalization "                                        \
               "com.microsoft:SkipSimplifiedLayerNormalization",                              \
        .needs = needs_, .accept = accept_##suffix, .prepare = prepare_##suffix, .run = run,  \
        .extent = extent                                                                      \
    }
const kernel KERNELS_norm[] = {
    ROW(portable, CPU_PORTABLE),
    ROW(avx2, CPU_AVX2),
    ROW(avx512, CPU_AVX512),
    {0},
};
