/* SPDX-License-Identifier: Apache-2.0 */
/* Operators outside the library, as a template for your own: domain `example`, version 1.
 *
 *   SoftClip  Y = limit * tanh(X / limit), element by element; attribute limit (default 1)
 *   PadRows   X [n, ...] with `rows` further rows of zeros: [n + rows, ...], whatever n is
 *
 * SoftClip also has a tactic for the engine, in float32; plans store its limit as a parameter.
 *
 * Build it with this header only, and use it:
 *
 *     cc -O2 -shared -fPIC -I<prefix>/include -o soft_clip.so soft_clip.c -lm
 *     polygraphy run model.onnx --trt --opref --plugins soft_clip.so
 */
#include <math.h>
#include <string.h>

#include <polygraphy/operator.h>

static const pgy_operator_host *host;

static pgy_status same_shape(pgy_operator_call *c, pgy_error *err)
{
    const pgy_operator_type x = host->input_type(c, 0);
    return host->set_output(c, 0, x.dtype, x.rank, x.dims, err);
}

static pgy_status soft_clip(pgy_operator_call *c, pgy_error *err)
{
    const double limit = host->attribute_float(c, "limit", 1);
    pgy_operator_value x;
    void *data;
    if (!(limit > 0)) return host->set_error(err, PGY_E_ARGUMENT, "limit is not positive");
    if (!host->input_value(c, 0, &x))
        return host->set_error(err, PGY_E_ARGUMENT, "input 0 is missing");
    const pgy_status st = host->output_data(c, 0, x.rank, x.shape, &data, err);
    if (st) return st;
    for (size_t i = 0; i < x.count; i++)
        ((double *)data)[i] = limit * tanh(((const double *)x.data)[i] / limit);
    return PGY_OK;
}

/* ---- SoftClip in the engine ------------------------------------------------------------------ */

typedef struct soft_clip_params {
    float limit;
    uint64_t count;
} soft_clip_params;

static bool soft_clip_accept(pgy_tactic_use *u, double *cost_ns)
{
    double count = 1;
    if (u->inputs[0].dtype != PGY_F32) return false;
    for (int32_t i = 0; i < u->inputs[0].rank; i++) count *= (double)u->inputs[0].shape[i];
    u->inputs[0].block = u->outputs[0].block = 1; /* row-major */
    *cost_ns = 10 * count;
    return host->attribute_float(u->call, "limit", 1) > 0; /* otherwise `compute` reports the error */
}

static pgy_status soft_clip_prepare(pgy_tactic_plan *out, const pgy_tactic_use *u, pgy_error *err)
{
    soft_clip_params *p = host->allocate(sizeof *p);
    if (!p) return host->set_error(err, PGY_E_MEMORY, "out of memory");
    p->limit = (float)host->attribute_float(u->call, "limit", 1);
    p->count = 1;
    for (int32_t i = 0; i < u->inputs[0].rank; i++) p->count *= (uint64_t)u->inputs[0].shape[i];
    *out = (pgy_tactic_plan){.params = p,
                             .params_bytes = sizeof *p,
                             .parts = (uint32_t)(1 + p->count / 4096),
                             .in_place = 0};
    return PGY_OK;
}

static pgy_status soft_clip_run(const pgy_tactic_run *r, pgy_error *err)
{
    const soft_clip_params *p = r->params;
    const float *x = r->inputs[0];
    float *y = r->outputs[0];
    const uint64_t each = p->count / r->parts + (p->count % r->parts != 0), from = r->part * each;
    (void)err;
    for (uint64_t i = from; i < p->count && i - from < each; i++)
        y[i] = p->limit * tanhf(x[i] / p->limit);
    return PGY_OK;
}

/* Parameters of a plan may be any bytes. */
static bool soft_clip_extent(pgy_tactic_extent *out, const void *params, size_t params_bytes)
{
    const soft_clip_params *p = params;
    if (params_bytes != sizeof *p || p->count > INT64_MAX / sizeof(float)) return false;
    if (out->input_count != 1 || out->output_count != 1) return false;
    out->input_bytes[0] = out->output_bytes[0] = p->count * sizeof(float);
    return true;
}

static const pgy_operator_tactic SOFT_CLIP_F32 = {
    .size = sizeof(pgy_operator_tactic),
    .name = "f32",
    .version = 1,
    .accept = soft_clip_accept,
    .prepare = soft_clip_prepare,
    .run = soft_clip_run,
    .extent = soft_clip_extent,
};
static const pgy_operator_tactic *const SOFT_CLIP_TACTICS[] = {&SOFT_CLIP_F32, NULL};

/* ---- PadRows --------------------------------------------------------------------------------- */

static pgy_status more_rows(pgy_operator_call *c, pgy_error *err)
{
    const pgy_operator_type x = host->input_type(c, 0);
    int64_t dims[PGY_MAX_RANK];
    if (x.rank == 0) return host->set_error(err, PGY_E_SHAPE, "a scalar has no rows");
    if (x.rank < 0) return host->set_output(c, 0, x.dtype, -1, NULL, err);
    memcpy(dims, x.dims, (size_t)x.rank * sizeof *dims);
    dims[0] = host->dim_add(c, x.dims[0], host->attribute_int(c, "rows", 1));
    return host->set_output(c, 0, x.dtype, x.rank, dims, err);
}

static pgy_status pad_rows(pgy_operator_call *c, pgy_error *err)
{
    pgy_operator_value x;
    int64_t shape[PGY_MAX_RANK];
    void *data;
    if (!host->input_value(c, 0, &x))
        return host->set_error(err, PGY_E_ARGUMENT, "input 0 is missing");
    memcpy(shape, x.shape, x.rank * sizeof *shape);
    shape[0] += host->attribute_int(c, "rows", 1);
    const pgy_status st = host->output_data(c, 0, x.rank, shape, &data, err);
    if (!st && x.count) memcpy(data, x.data, x.count * sizeof(double)); /* the rest is zero */
    return st;
}

static const pgy_operator_attribute SOFT_CLIP_ATTRIBUTES[] = {
    {"limit", PGY_OPERATOR_FLOAT, false, "1"},
    {0},
};
static const pgy_operator_attribute PAD_ROWS_ATTRIBUTES[] = {
    {"rows", PGY_OPERATOR_INT, false, "1"},
    {0},
};

static const pgy_operator_definition SOFT_CLIP = {
    .size = sizeof(pgy_operator_definition),
    .abi = PGY_OPERATOR_ABI,
    .domain = "example",
    .name = "SoftClip",
    .since = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .attributes = SOFT_CLIP_ATTRIBUTES,
    .signature = "T = float16 bfloat16 float32 float64; X:T -> Y:T",
    .infer = same_shape,
    .compute = soft_clip,
    .tactics = SOFT_CLIP_TACTICS,
};
static const pgy_operator_definition PAD_ROWS = {
    .size = sizeof(pgy_operator_definition),
    .abi = PGY_OPERATOR_ABI,
    .domain = "example",
    .name = "PadRows",
    .since = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .attributes = PAD_ROWS_ATTRIBUTES,
    .signature = "T = float16 bfloat16 float32 float64; X:T -> Y:T",
    .infer = more_rows,
    .compute = pad_rows,
};

__attribute__((visibility("default"))) const pgy_operator_definition *const *pgy_operators_v1(
    const pgy_operator_host *h)
{
    static const pgy_operator_definition *const ALL[] = {&SOFT_CLIP, &PAD_ROWS, NULL};
    if (h->abi != PGY_OPERATOR_ABI || h->size < sizeof *h) return NULL;
    host = h;
    return ALL;
}
