/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that shape rules use: setting outputs, axes, integer inputs as dims, broadcasting,
 * and the ready-made rules. They never guess: if two symbolic dims may differ, the result is
 * unknown. */
#include <string.h>

#include "base/alloc.h"
#include "ops/op.h"

enum { MAX_ELEMENTS = 4096 }; /* longer integer inputs are data, not shapes */

bool op_has_input(const op_infer *c, size_t i)
{
    return i < c->node->input_count && c->present[i];
}

dim *op_dims(op_infer *c, size_t rank)
{
    return arena_alloc_array(c->memory, rank, sizeof(dim));
}

void op_set_output(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank, const dim *dims)
{
    if (i >= c->node->output_count) return;
    c->outputs[i] = (op_value){.dtype = dtype, .rank = rank, .dims = dims};
}

void op_set_like(op_infer *c, size_t i, size_t input)
{
    if (i >= c->node->output_count || input >= c->node->input_count) return;
    const op_value *from = &c->inputs[input];
    op_set_output(c, i, from->dtype, from->rank, from->dims);
    c->outputs[i].sequence = from->sequence;
    c->outputs[i].optional = from->optional;
}

void op_set_unknown(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank, const char *why)
{
    if (!c->why) c->why = why;
    dim *dims = rank >= 0 ? op_dims(c, (size_t)rank) : NULL;
    if (!dims) rank = -1;
    for (int32_t d = 0; d < rank; d++) dims[d] = dim_unknown(c->dims, why);
    op_set_output(c, i, dtype, rank, dims);
}

void op_set_elements(op_infer *c, size_t i, const dim *elements, size_t count)
{
    if (i >= c->node->output_count) return;
    c->outputs[i].elements = elements;
    c->outputs[i].element_count = count;
}

pgy_status op_axis(size_t *out, const op_node *n, int64_t axis, int32_t rank, pgy_error *err)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return op_error(n, err, PGY_E_SHAPE, "axis %lld is not in [-%d, %d)", (long long)axis, rank,
                        rank);
    *out = (size_t)(axis < 0 ? axis + rank : axis);
    return PGY_OK;
}

/* ---- Integer inputs ------------------------------------------------------------------------- */

static int64_t stored_int(const pgy_tensor *t, size_t i, bool *fits)
{
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    if (dtype == PGY_I64) return ((const int64_t *)pgy_tensor_data(t))[i];
    const uint64_t v = ((const uint64_t *)pgy_tensor_data(t))[i];
    if (v > INT64_MAX) *fits = false;
    return (int64_t)v;
}

static bool holds_ints(const pgy_tensor *t)
{
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    return (dtype == PGY_I64 || dtype == PGY_U64) && pgy_tensor_rank(t) <= 1 &&
           pgy_tensor_count(t) <= MAX_ELEMENTS;
}

bool op_input_ints(const op_infer *c, size_t i, const dim **out, size_t *count)
{
    if (!op_has_input(c, i)) return false;
    const op_value *v = &c->inputs[i];
    if (v->elements) {
        *out = v->elements;
        *count = v->element_count;
        return true;
    }
    if (!v->data || !holds_ints(v->data)) return false;
    bool fits = true;
    const size_t n = pgy_tensor_count(v->data);
    dim *dims = arena_alloc_array(c->memory, n, sizeof *dims);
    if (!dims) return false;
    for (size_t k = 0; k < n; k++) dims[k] = dim_const(stored_int(v->data, k, &fits));
    if (!fits) return false;
    *out = dims;
    *count = n;
    return true;
}

bool op_input_constants(const op_infer *c, size_t i, const int64_t **out, size_t *count)
{
    const dim *dims;
    size_t n;
    if (!op_input_ints(c, i, &dims, &n)) return false;
    int64_t *values = arena_alloc_array(c->memory, n, sizeof *values);
    if (!values) return false;
    for (size_t k = 0; k < n; k++) {
        if (!dim_is_const(dims[k])) return false;
        values[k] = dims[k].value;
    }
    *out = values;
    *count = n;
    return true;
}

dim op_dims_product(op_infer *c, const dim *dims, size_t from, size_t to)
{
    dim product = dim_const(1);
    for (size_t i = from; i < to; i++) product = dim_mul(c->dims, product, dims[i]);
    return product;
}

/* ---- Broadcasting --------------------------------------------------------------------------- */

bool op_unify(dim *out, dim a, dim b)
{
    if (dim_differ(a, b)) return false;
    if (dim_is_const(a))
        *out = a;
    else if (dim_is_const(b))
        *out = b;
    else
        *out = dim_is_unknown(a) ? b : a;
    return true;
}

static bool is_one(dim d)
{
    return dim_is_const(d) && d.value == 1;
}

/* Is d certainly not 1? Then every valid broadcast with d gives d. */
static bool decides(dim d)
{
    return !is_one(d) && dim_differ(d, dim_const(1));
}

static bool broadcast_dim(dim_table *t, dim *out, dim a, dim b)
{
    if (dim_equal(a, b) || is_one(b)) {
        *out = a;
    } else if (is_one(a)) {
        *out = b;
    } else if (decides(a) && decides(b)) {
        return op_unify(out, a, b);
    } else if (decides(a) || decides(b)) {
        *out = decides(a) ? a : b;
    } else if (dim_is_capped(a, b) || dim_is_capped(b, a)) {
        *out = dim_is_capped(a, b) ? b : a;
    } else {
        *out = dim_unknown_upto(t, "two symbolic dimensions broadcast to it", dim_max(t, a, b));
    }
    return true;
}

static pgy_status broadcast_error(op_infer *c, const op_value *values, size_t count, pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(&text, i + 1 == count ? " and " : ", ");
        op_print_shape(&text, values[i].rank, values[i].dims);
    }
    op_error(c->node, err, PGY_E_SHAPE, "the input shapes %s do not broadcast", str_text(&text));
    str_deinit(&text);
    return PGY_E_SHAPE;
}

pgy_status op_broadcast(op_infer *c, int32_t *rank, const dim **dims, const op_value *values,
                        size_t count, pgy_error *err)
{
    int32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i].rank < 0) {
            *rank = -1;
            *dims = NULL;
            return PGY_OK;
        }
        if (values[i].rank > most) most = values[i].rank;
    }
    dim *result = op_dims(c, (size_t)most);
    if (!result) return op_error(c->node, err, PGY_E_MEMORY, "out of memory");
    for (int32_t d = 0; d < most; d++) {
        result[d] = dim_const(1);
        for (size_t i = 0; i < count; i++) {
            const int32_t at = d - (most - values[i].rank);
            if (at >= 0 && !broadcast_dim(c->dims, &result[d], result[d], values[i].dims[at]))
                return broadcast_error(c, values, count, err);
        }
    }
    *rank = most;
    *dims = result;
    return PGY_OK;
}

/* ---- Ready-made rules ----------------------------------------------------------------------- */

pgy_status op_infer_same(op_infer *c, pgy_error *err)
{
    (void)err;
    for (size_t i = 0; i < c->node->output_count; i++) op_set_like(c, i, 0);
    if (c->inputs[0].rank < 0) c->why = "the shape of its input is not known";
    return PGY_OK;
}

pgy_status op_infer_broadcast(op_infer *c, pgy_dtype dtype, pgy_error *err)
{
    int32_t rank;
    const dim *dims;
    const pgy_status st = op_broadcast(c, &rank, &dims, c->inputs, c->node->input_count, err);
    if (st) return st;
    if (rank < 0) c->why = "the shape of an input is not known";
    op_set_output(c, 0, dtype, rank, dims);
    return PGY_OK;
}

/* Integer division that truncates, as in C. For symbolic dims it is known only if floor gives the
 * same. */
static dim divide(dim_table *t, dim a, dim b)
{
    if (dim_is_const(a) && dim_is_const(b) && b.value != 0 &&
        !(a.value == INT64_MIN && b.value == -1))
        return dim_const(a.value / b.value);
    const dim one = dim_const(1);
    if (dim_is_positive(dim_add(t, a, one)) && dim_is_positive(dim_add(t, b, one)))
        return dim_div_floor(t, a, b);
    return dim_unknown(t, "it is a quotient of a value that may be negative");
}

typedef dim (*dim_function)(dim_table *t, dim a, dim b);
static const dim_function ARITHMETIC[OP_ARITH_COUNT] = {
    [OP_ARITH_ADD] = dim_add, [OP_ARITH_SUB] = dim_sub, [OP_ARITH_MUL] = dim_mul,
    [OP_ARITH_DIV] = divide,  [OP_ARITH_MIN] = dim_min, [OP_ARITH_MAX] = dim_max};

/* Sets a to function(a, b), broadcasting a list of one element. False: lengths differ or out of
 * memory. */
static bool combine(op_infer *c, dim_function function, const dim **a, size_t *na, const dim *b,
                    size_t nb)
{
    if (*na != nb && *na != 1 && nb != 1) return false;
    const size_t n = *na == 1 ? nb : *na;
    dim *result = op_dims(c, n);
    if (!result) return false;
    for (size_t i = 0; i < n; i++)
        result[i] = function(c->dims, (*a)[*na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
    *a = result;
    *na = n;
    return true;
}

static void infer_elements(op_infer *c, dim_function function)
{
    const op_value *out = &c->outputs[0];
    const dim *a, *b;
    size_t na, nb;
    if (!pgy_dtype_is_integer(out->dtype) || out->rank < 0 || out->rank > 1) return;
    if (!op_input_ints(c, 0, &a, &na)) return;
    for (size_t i = 1; i < c->node->input_count; i++)
        if (!op_input_ints(c, i, &b, &nb) || !combine(c, function, &a, &na, b, nb)) return;
    op_set_elements(c, 0, a, na);
}

pgy_status op_infer_elementwise(op_infer *c, pgy_error *err)
{
    pgy_dtype dtype = c->inputs[0].dtype;
    for (size_t i = 1; !dtype && i < c->node->input_count; i++)
        if (c->node->def->flags & OP_SAME_TYPES) dtype = c->inputs[i].dtype;
    const pgy_status st = op_infer_broadcast(c, dtype, err);
    if (st) return st;
    const int user = c->node->def->user;
    if (user > OP_ARITH_NONE && user < OP_ARITH_COUNT) infer_elements(c, ARITHMETIC[user]);
    return PGY_OK;
}
