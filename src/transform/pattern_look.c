/* SPDX-License-Identifier: Apache-2.0 */
/* What fusion rules ask about nodes and values: operators, consumers, shapes, constants, factors of
 * products. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "transform/pattern.h"

/* ---- Nodes and values ----------------------------------------------------------------------- */

bool pattern_is(const pgy_node *n, const char *op)
{
    if (!n) return false;
    const char *colon = strchr(op, ':');
    if (!colon) return node_is(n, op);
    const size_t size = (size_t)(colon - op);
    return strlen(n->domain) == size && memcmp(n->domain, op, size) == 0 &&
           strcmp(n->op_type, colon + 1) == 0;
}

pgy_node *pattern_from(const pgy_value *v, const char *op)
{
    pgy_node *n = v ? v->producer : NULL;
    return n && n->graph == v->graph && pattern_is(n, op) ? n : NULL;
}

bool pattern_is_inner(const pgy_value *v)
{
    return v && v->producer && v->consumer_count == 1 && !v->is_output &&
           v->consumers[0]->graph == v->graph && v->producer->graph == v->graph;
}

pgy_node *pattern_inner(const pgy_value *v, const char *op)
{
    return pattern_is_inner(v) ? pattern_from(v, op) : NULL;
}

pgy_node *pattern_user(const pgy_node *n)
{
    if (!n || !n->output_count || !pattern_is_inner(n->outputs[0])) return NULL;
    pgy_node *user = n->outputs[0]->consumers[0];
    return user->output_count && user->outputs[0] ? user : NULL;
}

pgy_value *pattern_input(const pgy_node *n, size_t i)
{
    return i < n->input_count ? n->inputs[i] : NULL;
}

pgy_value *pattern_other(const pgy_node *n, const pgy_value *v)
{
    if (n->input_count != 2) return NULL;
    return n->inputs[0] == v ? n->inputs[1] : n->inputs[0];
}

/* ---- Shapes --------------------------------------------------------------------------------- */

pgy_dtype pattern_dtype(const pgy_value *v)
{
    return v ? fold_known(v)->dtype : PGY_DTYPE_NONE;
}

bool pattern_is_float(const pgy_value *v)
{
    const pgy_dtype t = pattern_dtype(v);
    return t == PGY_F32 || t == PGY_F16 || t == PGY_BF16 || t == PGY_F64;
}

int32_t pattern_rank(const pgy_value *v)
{
    return v ? fold_known(v)->rank : -1;
}

/* Size of axis d of v (from the end if d < 0); NULL: not known. */
static const dim *dim_of(const pgy_value *v, int32_t d)
{
    if (!v) return NULL;
    const op_value *known = fold_known(v);
    if (d < 0) d += known->rank;
    return d >= 0 && d < known->rank ? &known->dims[d] : NULL;
}

int64_t pattern_size(const pgy_value *v, int32_t d)
{
    const dim *size = dim_of(v, d);
    return size && dim_is_const(*size) ? size->value : -1;
}

bool pattern_same_size(const pgy_value *a, int32_t d, const pgy_value *b, int32_t e)
{
    const dim *x = dim_of(a, d), *y = dim_of(b, e);
    return x && y && dim_equal(*x, *y);
}

bool pattern_same_shape(const pgy_value *a, const pgy_value *b)
{
    if (pattern_rank(a) < 0 || pattern_rank(a) != pattern_rank(b)) return false;
    for (int32_t d = 0; d < pattern_rank(a); d++)
        if (!pattern_same_size(a, d, b, d)) return false;
    return true;
}

bool pattern_covers(const pgy_value *a, int32_t d, const pgy_value *b, int32_t e)
{
    const dim *x = dim_of(a, d), *y = dim_of(b, e);
    return x && y && (dim_equal(*x, *y) || dim_is_capped(*x, *y));
}

bool pattern_has_at_most(const pgy_value *v, int64_t count)
{
    int64_t product = 1;
    for (int32_t d = 0; d < pattern_rank(v); d++)
        if (pattern_size(v, d) < 0 || !i64_mul(&product, product, pattern_size(v, d))) return false;
    return pattern_rank(v) >= 0 && product <= count;
}

/* ---- Constants ------------------------------------------------------------------------------ */

bool pattern_is_constant(const pattern *p, const pgy_value *v)
{
    return v && v->kind == PGY_VALUE_TENSOR && fold_is_constant(&p->f, v);
}

pgy_tensor *pattern_floats(pattern *p, pgy_value *v)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    if (!pattern_is_constant(p, v) || !pattern_is_float(v)) return NULL;
    if (fold_constant(&stored, &p->f, v, NULL) == PGY_OK && stored &&
        op_to_storage(&wide, stored, NULL) != PGY_OK)
        wide = NULL;
    pgy_tensor_release(stored);
    return wide;
}

bool pattern_scalar(pattern *p, pgy_value *v, double *out)
{
    for (int32_t d = 0; d < pattern_rank(v); d++)
        if (pattern_size(v, d) != 1) return false;
    pgy_tensor *t = pattern_rank(v) < 0 ? NULL : pattern_floats(p, v);
    if (!t) return false;
    *out = op_f64(t)[0];
    pgy_tensor_release(t);
    return true;
}

bool pattern_close(const pgy_value *like, double a, double b)
{
    const pgy_dtype t = pattern_dtype(like);
    const double tolerance = t == PGY_F16 ? 1e-3 : t == PGY_BF16 ? 4e-3 : 1e-6;
    return fabs(a - b) <= tolerance * fabs(b);
}

bool pattern_fits_attribute(const pattern *p, const pgy_value *like, double number)
{
    return p->standard || pattern_dtype(like) != PGY_F64 || (double)(float)number == number;
}

bool pattern_scalar_is(pattern *p, pgy_value *v, double wanted)
{
    double x;
    return pattern_scalar(p, v, &x) && pattern_close(v, x, wanted);
}

bool pattern_ints(pattern *p, pgy_value *v, const int64_t **out, size_t *count)
{
    return v && fold_ints(&p->f, v, out, count);
}

/* ---- Attributes ----------------------------------------------------------------------------- */

int64_t pattern_int(const pgy_node *n, const char *name, int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    return a ? a->i : fallback;
}

double pattern_float(const pgy_node *n, const char *name, double fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    return a ? (double)a->f : fallback;
}

bool pattern_text_is(const pgy_node *n, const char *name, const char *text, const char *fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    if (!a) return strcmp(text, fallback) == 0;
    return a->s.size == strlen(text) && memcmp(a->s.data, text, a->s.size) == 0;
}

/* ---- Products ------------------------------------------------------------------------------- */

static void add_factor(pattern_product *q, pgy_value *v)
{
    if (q->count < PATTERN_MAX_FACTORS) q->values[q->count] = v;
    if (q->count <= PATTERN_MAX_FACTORS) q->count++;
}

static void take_apart(pattern *p, pattern_product *q, pgy_value *v, bool open);

static bool take_node(pattern *p, pattern_product *q, pgy_node *n)
{
    double x;
    if (n->input_count != 2) return false;
    if (pattern_is(n, "Mul")) {
        for (size_t i = 0; i < n->input_count; i++) take_apart(p, q, n->inputs[i], false);
        return true;
    }
    if (pattern_is(n, "Div") && pattern_scalar(p, n->inputs[1], &x) && x != 0) {
        take_apart(p, q, n->inputs[0], false);
        q->factor /= x;
        return true;
    }
    if (!pattern_is(n, "Pow") || !pattern_scalar(p, n->inputs[1], &x) || (x != 2 && x != 3))
        return false;
    for (int i = 0; i < (int)x; i++) add_factor(q, n->inputs[0]);
    return true;
}

/* Decomposes v into factors; `open`: v itself may have several consumers, unlike the values inside
 * it. */
static void take_apart(pattern *p, pattern_product *q, pgy_value *v, bool open)
{
    double x;
    if (!v || q->count > PATTERN_MAX_FACTORS) return;
    if (pattern_scalar(p, v, &x))
        q->factor *= x;
    else if (!(++q->steps <= PATTERN_MAX_STEPS && v->producer && v->producer->graph == v->graph &&
               (open || pattern_is_inner(v)) && take_node(p, q, v->producer)))
        add_factor(q, v);
}

pattern_product pattern_factors(pattern *p, pgy_value *v)
{
    pattern_product q = {.factor = 1};
    take_apart(p, &q, v, true);
    return q;
}
