/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the elements of weights and Constants: are they stored once, in the number that the shape
 * needs; are they finite; do they fit the types to which they are cast; are they valid quantisation
 * scales. Every weight is read once, in pieces, in one pass of integer comparisons. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "graph/check.h"
#include "onnx/model.h"
#include "onnx/reader.h"
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
    if (t->data_location == 1)
        return fields ? "has external data and also stores elements in the model" : NULL;
    if (fields & (fields - 1)) return "stores its elements in more than one field";
    if (fields == IN_RAW && dtype == PGY_STRING) return "stores strings as raw data";
    if (fields && fields != IN_RAW && fields != field_of(dtype))
        return "stores its elements in the field of another type";
    for (size_t i = 0; i < t->dim_count; i++)
        if (t->dims[i] == 0) return NULL;
    return fields ? NULL : "has no elements";
}

/* ---- Scans ---------------------------------------------------------------------------------- */

enum { PIECE_BYTES = 256 * 1024 };

/* Results for the elements read so far. */
typedef struct scan {
    pgy_dtype dtype;
    bool wants_largest;
    size_t count;
    size_t wild; /* number of elements that are infinite or NaN */
    size_t wide; /* number of elements beyond int32; the limits of int64 do not count, as they mean
                    "to the end" */
    double largest; /* largest finite magnitude; only for float32 and float64 */
} scan;

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

static size_t count_wide(const int64_t *x, size_t count)
{
    size_t wide = 0;
    for (size_t i = 0; i < count; i++)
        wide += (x[i] > INT32_MAX || x[i] < INT32_MIN) && x[i] != INT64_MAX && x[i] != INT64_MIN;
    return wide;
}

static double largest(pgy_dtype dtype, const void *data, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        const double x =
            dtype == PGY_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
        if (isfinite(x) && fabs(x) > most) most = fabs(x);
    }
    return most;
}

static void scan_piece(scan *s, const void *data, size_t count)
{
    switch (s->dtype) {
    case PGY_F16: s->wild += count_wild_16(data, count, 0x7c00); break;
    case PGY_BF16: s->wild += count_wild_16(data, count, 0x7f80); break;
    case PGY_F32: s->wild += count_wild_32(data, count); break;
    case PGY_F64: s->wild += count_wild_64(data, count); break;
    case PGY_I64: s->wide += count_wide(data, count); break;
    default: break;
    }
    if (!s->wants_largest) return;
    const double most = largest(s->dtype, data, count);
    if (most > s->largest) s->largest = most;
}

static bool is_looked_at(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_BF16 || dtype == PGY_F32 || dtype == PGY_F64 ||
           dtype == PGY_I64;
}

/* Reads the elements in pieces, because weights may be larger than memory. If the type has no
 * checks, only tests that the data exist. */
static pgy_status scan_elements(scan *s, pgy_model *m, const pgy_onnx_tensor *t, pgy_error *err)
{
    element_reader r = {0};
    pgy_status st = element_reader_open(&r, m, t, err);
    if (st || !is_looked_at(s->dtype)) {
        element_reader_close(&r);
        return st;
    }
    const size_t width = pgy_dtype_describe(s->dtype)->bits / 8;
    char *piece = mem_alloc(PIECE_BYTES);
    if (!piece) st = graph_no_memory(err);
    for (size_t done = 0, n; !st && done < r.size_bytes; done += n) {
        n = r.size_bytes - done < PIECE_BYTES ? r.size_bytes - done : PIECE_BYTES;
        st = element_reader_get(&r, piece, done, n, err);
        if (!st) scan_piece(s, piece, n / width);
    }
    s->count = r.size_bytes / width;
    mem_free(piece);
    element_reader_close(&r);
    return st;
}

/* ---- Findings about a value ----------------------------------------------------------------- */

static void report_elements(checker *c, const pgy_value *v, const scan *s)
{
    const bool half = s->dtype == PGY_F16 || s->dtype == PGY_BF16;
    if (s->wild)
        finding_add_value(&c->list, half ? CHECK_HALF_NOT_FINITE : CHECK_WEIGHT_NOT_FINITE,
                          v->graph, v->name,
                          "'%s' (%s) holds %zu of %zu elements that are infinite or NaN", v->name,
                          pgy_dtype_name(s->dtype), s->wild, s->count);
    if (s->wide)
        finding_add_value(&c->list, CHECK_WIDE_INTEGER, v->graph, v->name,
                          "'%s' holds %zu of %zu elements beyond int32", v->name, s->wide,
                          s->count);
}

/* The least magnitude that rounds to infinity in this type: its largest number plus half a step. */
static double limit_of(int64_t onnx)
{
    switch (pgy_dtype_from_onnx((int)onnx)) {
    case PGY_F16: return 65520;
    case PGY_BF16: return 0x1.ffp127;
    default: return INFINITY;
    }
}

/* The `to` attribute of consumer `user` if that is a Cast in which large elements of v become
 * infinite; else NULL. */
static const pgy_onnx_attribute *narrow_cast(const pgy_value *v, size_t user)
{
    const pgy_node *n = v->consumers[user];
    const pgy_onnx_attribute *to = node_is(n, "Cast") ? node_attribute(n, "to") : NULL;
    return to && to->i >= 0 && to->i <= 64 && !isinf(limit_of(to->i)) ? to : NULL;
}

static bool has_narrow_cast(const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (narrow_cast(v, i)) return true;
    return false;
}

static void report_casts(checker *c, const pgy_value *v, const scan *s)
{
    for (size_t i = 0; s->wants_largest && i < v->consumer_count; i++) {
        const pgy_onnx_attribute *to = narrow_cast(v, i);
        if (to && s->largest >= limit_of(to->i))
            finding_add(&c->list, c->state, CHECK_HALF_OVERFLOW, v->consumers[i],
                        "'%s' holds %.9g, which is infinite as %s", v->name, s->largest,
                        pgy_dtype_name(pgy_dtype_from_onnx((int)to->i)));
    }
}

static pgy_status check_tensor(checker *c, pgy_value *v, const pgy_onnx_tensor *stored,
                               pgy_error *err)
{
    const pgy_dtype dtype = pgy_dtype_from_onnx(stored->data_type);
    pgy_tensor *strings = NULL;
    pgy_error failure = {0};
    const char *problem = tensor_field_problem(stored);
    if (problem) {
        finding_add_value(&c->list, CHECK_TENSOR_FIELDS, v->graph, v->name, "'%s' %s", v->name,
                          problem);
        return PGY_OK;
    }
    const pgy_model *m = v->graph->model;
    if (stored->data_location == 1 && m && m->ignore_external) return PGY_OK;
    scan found = {.dtype = dtype,
                  .wants_largest = (dtype == PGY_F32 || dtype == PGY_F64) && has_narrow_cast(v)};
    const pgy_status st = dtype == PGY_STRING
                              ? pgy_graph_value_data(&strings, v, &failure)
                              : scan_elements(&found, v->graph->model, stored, &failure);
    pgy_tensor_release(strings);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", failure.text);
    if (st) {
        finding_add_value(&c->list,
                          stored->data_location == 1 ? CHECK_EXTERNAL_DATA : CHECK_TENSOR_FIELDS,
                          v->graph, v->name, "%s", failure.text);
        return PGY_OK;
    }
    report_elements(c, v, &found);
    report_casts(c, v, &found);
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
    /* Elements that cannot be read are no failure here; the check of the weight itself reports
     * them. */
    return status_ends_all(st) ? pgy_error_set(err, st, "%s", failure.text) : PGY_OK;
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
