/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of weights and Constants: are they there, once, as many as the shape says; are they
 * finite; do they fit what they are cast to; can they be quantisation scales. Every weight is read
 * once, in one pass of integer comparisons. */
#include <math.h>
#include <string.h>

#include "graph/check.h"
#include "onnx/model.h"
#include "ops/signature.h"

/* ---- How a tensor is stored ----------------------------------------------------------------- */

enum { FIELD_RAW = 9 };
typedef enum tensor_field {
    IN_RAW = 1,
    IN_FLOATS = 2,
    IN_DOUBLES = 4,
    IN_INT32 = 8,
    IN_INT64 = 16,
    IN_UINT64 = 32,
    IN_STRINGS = 64
} tensor_field;

static unsigned stored_fields(const pgy_onnx_tensor *t)
{
    const bool raw = (t->message.present >> FIELD_RAW & 1) || t->raw_data.size;
    return (raw ? IN_RAW : 0u) | (t->float_data.size ? IN_FLOATS : 0u) |
           (t->double_data.size ? IN_DOUBLES : 0u) | (t->int32_count ? IN_INT32 : 0u) |
           (t->int64_count ? IN_INT64 : 0u) | (t->uint64_count ? IN_UINT64 : 0u) |
           (t->string_count ? IN_STRINGS : 0u);
}

static unsigned field_of(pgy_dtype dtype)
{
    switch (dtype) {
    case PGY_F32:
    case PGY_C64: return IN_FLOATS;
    case PGY_F64:
    case PGY_C128: return IN_DOUBLES;
    case PGY_I64: return IN_INT64;
    case PGY_U32:
    case PGY_U64: return IN_UINT64;
    case PGY_STRING: return IN_STRINGS;
    default: return IN_INT32;
    }
}

const char *tensor_field_problem(const pgy_onnx_tensor *t)
{
    const unsigned fields = stored_fields(t);
    const pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    if (t->data_location == 1) return fields ? "has external data and elements of its own" : NULL;
    if (fields & (fields - 1)) return "holds its elements in more than one field";
    if (fields == IN_RAW && dtype == PGY_STRING) return "holds strings as raw data";
    if (fields && fields != IN_RAW && fields != field_of(dtype))
        return "holds its elements in the field of another type";
    for (size_t i = 0; i < t->dim_count; i++)
        if (t->dims[i] == 0) return NULL;
    return fields ? NULL : "has no elements";
}

/* ---- Scans ---------------------------------------------------------------------------------- */

static size_t count_wild_16(const uint16_t *x, size_t count, uint16_t exponent)
{
    size_t wild = 0;
    for (size_t i = 0; i < count; i++) wild += (x[i] & exponent) == exponent;
    return wild;
}

static size_t count_wild_32(const uint32_t *x, size_t count)
{
    size_t wild = 0;
    for (size_t i = 0; i < count; i++) wild += (x[i] & 0x7f800000u) == 0x7f800000u;
    return wild;
}

static size_t count_wild_64(const uint64_t *x, size_t count)
{
    const uint64_t exponent = UINT64_C(0x7ff) << 52;
    size_t wild = 0;
    for (size_t i = 0; i < count; i++) wild += (x[i] & exponent) == exponent;
    return wild;
}

/* Elements that are infinite or NaN. */
static size_t count_wild(const pgy_tensor *t)
{
    const void *data = pgy_tensor_data(t);
    const size_t count = pgy_tensor_count(t);
    switch (pgy_tensor_dtype(t)) {
    case PGY_F16: return count_wild_16(data, count, 0x7c00);
    case PGY_BF16: return count_wild_16(data, count, 0x7f80);
    case PGY_F32: return count_wild_32(data, count);
    case PGY_F64: return count_wild_64(data, count);
    default: return 0;
    }
}

/* Beyond int32, but not the ends of int64, which stand for "to the end". */
static size_t count_wide(const pgy_tensor *t)
{
    const int64_t *x = pgy_tensor_data(t);
    size_t wide = 0;
    if (pgy_tensor_dtype(t) != PGY_I64) return 0;
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        wide += (x[i] > INT32_MAX || x[i] < INT32_MIN) && x[i] != INT64_MAX && x[i] != INT64_MIN;
    return wide;
}

/* The largest finite magnitude of a float32 or float64 tensor. */
static double largest(const pgy_tensor *t)
{
    double most = 0;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const double x = pgy_tensor_dtype(t) == PGY_F32
                             ? (double)((const float *)pgy_tensor_data(t))[i]
                             : ((const double *)pgy_tensor_data(t))[i];
        if (isfinite(x) && fabs(x) > most) most = fabs(x);
    }
    return most;
}

/* ---- Findings about a value ----------------------------------------------------------------- */

static void report_elements(checker *c, const pgy_value *v, const pgy_tensor *t)
{
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    const size_t wild = count_wild(t), wide = count_wide(t);
    const bool half = dtype == PGY_F16 || dtype == PGY_BF16;
    if (wild)
        finding_add_value(&c->list, half ? CHECK_HALF_NOT_FINITE : CHECK_WEIGHT_NOT_FINITE,
                          v->graph, v->name,
                          "'%s' (%s) holds %zu of %zu elements that are infinite or NaN", v->name,
                          pgy_dtype_name(dtype), wild, pgy_tensor_count(t));
    if (wide)
        finding_add_value(&c->list, CHECK_WIDE_INTEGER, v->graph, v->name,
                          "'%s' holds %zu of %zu elements beyond int32", v->name, wide,
                          pgy_tensor_count(t));
}

/* From this magnitude on a value becomes infinity: the largest number and half a step. */
static double limit_of(int64_t onnx)
{
    switch (pgy_dtype_from_onnx((int)onnx)) {
    case PGY_F16: return 65520;
    case PGY_BF16: return 0x1.ffp127;
    default: return INFINITY;
    }
}

static void report_casts(checker *c, const pgy_value *v, const pgy_tensor *t)
{
    double most = -1;
    if (pgy_tensor_dtype(t) != PGY_F32 && pgy_tensor_dtype(t) != PGY_F64) return;
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *n = v->consumers[i];
        const pgy_onnx_attribute *to = node_is(n, "Cast") ? node_attribute(n, "to") : NULL;
        if (!to || to->i < 0 || to->i > 64 || isinf(limit_of(to->i))) continue;
        if (most < 0) most = largest(t);
        if (most >= limit_of(to->i))
            finding_add(&c->list, c->state, CHECK_HALF_OVERFLOW, n,
                        "'%s' holds %.9g, which is infinite as %s", v->name, most,
                        pgy_dtype_name(pgy_dtype_from_onnx((int)to->i)));
    }
}

static pgy_status check_tensor(checker *c, pgy_value *v, const pgy_onnx_tensor *stored,
                               pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_error failure = {0};
    const char *problem = tensor_field_problem(stored);
    if (problem) {
        finding_add_value(&c->list, CHECK_TENSOR_FIELDS, v->graph, v->name, "'%s' %s", v->name,
                          problem);
        return PGY_OK;
    }
    const pgy_model *m = v->graph->model;
    if (stored->data_location == 1 && m && m->ignore_external) return PGY_OK;
    const pgy_status st = pgy_graph_value_data(&t, v, &failure);
    if (st == PGY_E_MEMORY) return pgy_error_set(err, st, "%s", failure.text);
    if (st) {
        finding_add_value(&c->list,
                          stored->data_location == 1 ? CHECK_EXTERNAL_DATA : CHECK_TENSOR_FIELDS,
                          v->graph, v->name, "%s", failure.text);
        return PGY_OK;
    }
    report_elements(c, v, t);
    report_casts(c, v, t);
    pgy_tensor_release(t);
    return PGY_OK;
}

pgy_status check_weights(checker *c, pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->initializer_count; i++)
        if (g->initializers[i]->initializer)
            st = check_tensor(c, g->initializers[i], g->initializers[i]->initializer, err);
    return st;
}

/* ---- Quantisation --------------------------------------------------------------------------- */

static bool is_constant(const pgy_value *v)
{
    return v->initializer || (v->producer && node_constant(v->producer));
}

static pgy_status check_scale(checker *c, const pgy_node *n, pgy_value *v, pgy_error *err)
{
    pgy_tensor *t = NULL, *wide = NULL;
    pgy_error failure = {0};
    size_t bad = 0;
    pgy_status st = pgy_graph_value_data(&t, v, &failure);
    if (!st) st = op_to_storage(&wide, t, &failure);
    if (!st && pgy_tensor_dtype(wide) == PGY_F64)
        for (size_t i = 0; i < pgy_tensor_count(wide); i++)
            bad += !(op_f64(wide)[i] > 0) || isinf(op_f64(wide)[i]);
    if (bad)
        finding_add(&c->list, c->state, CHECK_QUANTIZATION_SCALE, n,
                    "Scale '%s' holds %zu of %zu elements that are not positive and finite",
                    v->name, bad, pgy_tensor_count(wide));
    pgy_tensor_release(wide);
    pgy_tensor_release(t);
    /* What cannot be read is reported where the weight is. */
    return st == PGY_E_MEMORY ? pgy_error_set(err, st, "%s", failure.text) : PGY_OK;
}

static pgy_status check_scales(checker *c, const pgy_node *n, pgy_error *err)
{
    const op_signature *s = node_box_of(n)->signature;
    pgy_status st = PGY_OK;
    if (!s || (!strstr(n->op_type, "Quantize") && !strstr(n->op_type, "QLinear"))) return PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        pgy_value *v = n->inputs[i];
        if (p && v && str_ends_with(p->name, "scale") && is_constant(v))
            st = check_scale(c, n, v, err);
    }
    return st;
}

pgy_status check_constants(checker *c, pgy_node *n, pgy_error *err)
{
    const pgy_onnx_tensor *constant = node_constant(n);
    if (constant && n->outputs[0]) return check_tensor(c, n->outputs[0], constant, err);
    return check_scales(c, n, err);
}
