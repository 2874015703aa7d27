/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft HyperConnectionPreMix and HyperConnectionPostMix: several streams are reduced to
 * the input of a block, and the output of a block is added to the mixed streams.
 *
 *     pre:  y[h]    = reduction_scale * sum over c of x[c, h] * pre_mix[c, h]
 *     post: y[k, h] = sum over c of stream_mix[c, k] * x[c, h] + post_mix[k, h] * block[h]
 *
 * Gates have one element for a branch or for each of its features. */
#include "ops/class_branches.h"
#include "ops/class_rows.h"

enum { STREAMS, PRE_MIX };
enum { BLOCK = 1, POST_MIX, STREAM_MIX };

static const op_attr_def PRE_ATTRS[] = {
    {"num_branches", OP_ATTR_INT, false, "0", .range = "0.."},
    {"reduction_scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};
static const op_attr_def POST_ATTRS[] = {
    {"num_branches", OP_ATTR_INT, false, "0", .range = "0.."},
    {NULL},
};

static pgy_status infer_pre(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[STREAMS];
    const pgy_status st = branches_check(c, STREAMS, err);
    op_set_unknown(c, 0, x->dtype, -1, "the shape of the streams is not known");
    if (st || x->rank < 0) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    int32_t rank = x->rank;
    if (branches_are_flat(c->node)) {
        const int64_t count = op_attr_int(c->node, "num_branches", 1);
        dims[rank - 1] = dim_div_floor(c->dims, x->dims[rank - 1], dim_const(count));
    } else {
        dims[--rank - 1] = x->dims[x->rank - 1];
    }
    op_set_output(c, 0, x->dtype, rank, dims);
    return PGY_OK;
}

static pgy_status infer_post(op_infer *c, pgy_error *err)
{
    op_set_like(c, 0, STREAMS);
    return branches_check(c, STREAMS, err);
}

typedef struct mix {
    const op_eval *c;
    branches b;
    size_t gates; /* of a branch: 1 or its width */
    double scale;
} mix;

static void run_pre(size_t begin, size_t end, void *user)
{
    const mix *m = user;
    const size_t count = m->b.count, width = m->b.width;
    for (size_t i = begin; i < end; i++) {
        const size_t row = i / width, h = i % width;
        double sum = 0;
        for (size_t s = 0; s < count; s++) {
            const size_t branch = row * count + s;
            const double gate = in_f64(m->c, PRE_MIX)[m->gates == 1 ? branch : branch * width + h];
            sum += in_f64(m->c, STREAMS)[branch * width + h] * gate;
        }
        out_f64(m->c, 0)[i] = m->scale * sum;
    }
}

static void run_post(size_t begin, size_t end, void *user)
{
    const mix *m = user;
    const size_t count = m->b.count, width = m->b.width;
    const double *x = in_f64(m->c, STREAMS), *table = in_f64(m->c, STREAM_MIX);
    for (size_t i = begin; i < end; i++) {
        const size_t branch = i / width, h = i % width, row = branch / count, k = branch % count;
        double sum = table ? 0 : x[i];
        for (size_t s = 0; table && s < count; s++)
            sum += table[(row * count + s) * count + k] * x[(row * count + s) * width + h];
        const double gate = in_f64(m->c, POST_MIX)[m->gates == 1 ? branch : i];
        out_f64(m->c, 0)[i] = sum + gate * in_f64(m->c, BLOCK)[row * width + h];
    }
}

/* Checks that input i has one of two numbers of elements. */
static pgy_status check_count(const op_eval *c, size_t i, size_t a, size_t b, const char *what,
                              pgy_error *err)
{
    if (in_count(c, i) == a || in_count(c, i) == b) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input %zu (%s) has %zu elements, but the shape of the streams asks for %zu "
                    "or %zu",
                    i, what, in_count(c, i), a, b);
}

static pgy_status eval_pre(op_eval *c, pgy_error *err)
{
    mix m = {.c = c, .scale = op_attr_float(c->node, "reduction_scale", 1)};
    pgy_status st = inputs_check(c, "FF", err);
    if (st || !in_count(c, STREAMS)) return st;
    m.b = branches_of(c, STREAMS);
    const size_t gates = m.b.rows * m.b.count;
    st = check_count(c, PRE_MIX, gates, gates * m.b.width, "pre_mix", err);
    if (st) return st;
    m.gates = in_count(c, PRE_MIX) / gates;
    rows_run(out_count(c, 0), 3 * m.b.count, run_pre, &m);
    return PGY_OK;
}

static pgy_status eval_post(op_eval *c, pgy_error *err)
{
    mix m = {.c = c};
    pgy_status st = inputs_check(c, "FFFf", err);
    if (st || !in_count(c, STREAMS)) return st;
    m.b = branches_of(c, STREAMS);
    const size_t gates = m.b.rows * m.b.count, block = m.b.rows * m.b.width;
    st = check_count(c, POST_MIX, gates, gates * m.b.width, "post_mix", err);
    if (!st) st = check_count(c, BLOCK, block, block, "block_output", err);
    if (!st && op_has_value(c, STREAM_MIX))
        st = check_count(c, STREAM_MIX, gates * m.b.count, gates * m.b.count, "stream_mix", err);
    if (st) return st;
    m.gates = in_count(c, POST_MIX) / gates;
    rows_run(out_count(c, 0), 3 * m.b.count, run_post, &m);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"

const op_def OP_hyper_connection[] = {
    {"HyperConnectionPreMix", "com.microsoft", 1, 0, 2, 2, 1, 1, 0, PRE_ATTRS, TYPES, infer_pre,
     eval_pre, NULL, .signature = "T = " TYPES "; M = " TYPES "; streams:T, pre_mix:M -> output:T"},
    {"HyperConnectionPostMix", "com.microsoft", 1, 0, 3, 4, 1, 1, 0, POST_ATTRS, TYPES, infer_post,
     eval_post, NULL,
     .signature = "T = " TYPES "; M = " TYPES "; streams:T, block_output:T, post_mix:M, "
                  "?stream_mix:M -> output:T"},
    {NULL},
};
