/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of plug-in operators. A plug-in sees symbolic dimensions as negative numbers: -2, -3, ...
 * are indices into a list that lives as long as the call. */
#include "ops/plugin.h"

#include <string.h>

#include "base/alloc.h"

static pgy_status set_error(pgy_error *err, pgy_status status, const char *text)
{
    return pgy_error_set(err, status, "%s", text);
}

/* ---- The node ------------------------------------------------------------------------------- */

static const char *node_name(const pgy_operator_call *c)
{
    return c->node->name;
}

static size_t input_count(const pgy_operator_call *c)
{
    return c->node->input_count;
}

static size_t output_count(const pgy_operator_call *c)
{
    return c->node->output_count;
}

static int64_t attribute_int(const pgy_operator_call *c, const char *name, int64_t fallback)
{
    return op_attr_int(c->node, name, fallback);
}

static double attribute_float(const pgy_operator_call *c, const char *name, double fallback)
{
    return op_attr_float(c->node, name, fallback);
}

static const char *attribute_text(const pgy_operator_call *c, const char *name, size_t *size)
{
    const op_attr *a = op_attr_find(c->node, name);
    const bool given = a && a->kind == OP_ATTR_STRING;
    *size = given ? a->s.size : 0;
    return given ? a->s.data : NULL;
}

static const int64_t *attribute_ints(const pgy_operator_call *c, const char *name, size_t *count)
{
    return op_attr_ints(c->node, name, count);
}

static const float *attribute_floats(const pgy_operator_call *c, const char *name, size_t *count)
{
    return op_attr_floats(c->node, name, count);
}

/* ---- Dimensions ----------------------------------------------------------------------------- */

static int64_t dim_to_handle(pgy_operator_call *c, dim d)
{
    if (dim_is_const(d) && d.value >= 0) return d.value; /* negative numbers are handles */
    if (c->dim_count == c->dim_capacity) {
        const size_t wanted = c->dim_capacity ? 2 * c->dim_capacity : 16;
        dim *dims = op_dims(c->infer, wanted);
        if (!dims) return PGY_OPERATOR_UNKNOWN_DIM;
        if (c->dim_count) memcpy(dims, c->dims, c->dim_count * sizeof *dims);
        c->dims = dims;
        c->dim_capacity = wanted;
    }
    c->dims[c->dim_count++] = d;
    return -1 - (int64_t)c->dim_count;
}

static dim dim_from_handle(pgy_operator_call *c, int64_t handle)
{
    if (handle >= 0) return dim_const(handle);
    const uint64_t place = (uint64_t)(-2 - handle);
    if (handle == PGY_OPERATOR_UNKNOWN_DIM || place >= c->dim_count)
        return dim_unknown(c->infer->dims,
                           "the operator's infer function does not give this dimension");
    return c->dims[place];
}

static int64_t handle_of(pgy_operator_call *c, int64_t a, int64_t b,
                         dim (*compute)(dim_table *, dim, dim))
{
    if (!c->infer) return PGY_OPERATOR_UNKNOWN_DIM;
    return dim_to_handle(c, compute(c->infer->dims, dim_from_handle(c, a), dim_from_handle(c, b)));
}

static int64_t add(pgy_operator_call *c, int64_t a, int64_t b)
{
    return handle_of(c, a, b, dim_add);
}

static int64_t subtract(pgy_operator_call *c, int64_t a, int64_t b)
{
    return handle_of(c, a, b, dim_sub);
}

static int64_t multiply(pgy_operator_call *c, int64_t a, int64_t b)
{
    return handle_of(c, a, b, dim_mul);
}

static int64_t divide(pgy_operator_call *c, int64_t a, int64_t b)
{
    return handle_of(c, a, b, dim_div_floor);
}

/* ---- Inference ------------------------------------------------------------------------------ */

static pgy_operator_type input_type(pgy_operator_call *c, size_t i)
{
    pgy_operator_type type = {.rank = -1};
    if (!c->infer || !op_has_input(c->infer, i)) return type;
    const op_value *v = &c->infer->inputs[i];
    type.present = true;
    type.dtype = v->dtype;
    if (v->rank < 0) return type;
    int64_t *dims = arena_alloc_array(c->infer->memory, (size_t)v->rank, sizeof *dims);
    if (!dims) return type;
    for (int32_t d = 0; d < v->rank; d++) dims[d] = dim_to_handle(c, v->dims[d]);
    type.rank = v->rank;
    type.dims = dims;
    return type;
}

static bool describe(pgy_operator_value *out, pgy_dtype declared, const pgy_tensor *t)
{
    if (!t || pgy_tensor_dtype(t) == PGY_STRING) return false;
    *out = (pgy_operator_value){.dtype = declared,
                                .held = pgy_tensor_dtype(t),
                                .rank = pgy_tensor_rank(t),
                                .shape = pgy_tensor_shape(t),
                                .count = pgy_tensor_count(t),
                                .data = pgy_tensor_data(t)};
    return true;
}

static bool input_constant(const pgy_operator_call *c, size_t i, pgy_operator_value *out)
{
    *out = (pgy_operator_value){0};
    if (!c->infer || !op_has_input(c->infer, i)) return false;
    return describe(out, c->infer->inputs[i].dtype, c->infer->inputs[i].data);
}

static pgy_status set_output(pgy_operator_call *c, size_t i, pgy_dtype dtype, int32_t rank,
                             const int64_t *dims, pgy_error *err)
{
    if (!c->infer || i >= c->node->output_count || rank > PGY_MAX_RANK)
        return op_error(
            c->node, err, PGY_E_INTERNAL,
            "the operator's infer function set output %zu with rank %d; the node has %zu outputs",
            i, rank, c->node->output_count);
    if (!op_storage(dtype) || dtype == PGY_STRING)
        return op_error(c->node, err, PGY_E_INTERNAL,
                        "the operator's infer function set a type that an output cannot have");
    if (rank < 0) {
        op_set_unknown(c->infer, i, dtype, -1,
                       "the operator's infer function does not give the rank");
        return PGY_OK;
    }
    dim *kept = op_dims(c->infer, (size_t)rank);
    if (!kept) return op_error(c->node, err, PGY_E_MEMORY, "out of memory");
    for (int32_t d = 0; d < rank; d++) {
        kept[d] = dim_from_handle(c, dims[d]);
        if (dim_is_const(kept[d]) && kept[d].value < 0)
            return op_error(
                c->node, err, PGY_E_SHAPE,
                "the operator's infer function gave dimension %d of output %zu the size %lld", d, i,
                (long long)kept[d].value);
    }
    op_set_output(c->infer, i, dtype, rank, kept);
    return PGY_OK;
}

pgy_status plugin_infer(op_infer *c, pgy_error *err)
{
    const pgy_operator_definition *d = c->node->def->user_data;
    pgy_operator_call call = {.node = c->node, .infer = c};
    const pgy_status st = d->infer(&call, err);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", c->node->def->name, c->node->name) : PGY_OK;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

static bool input_value(const pgy_operator_call *c, size_t i, pgy_operator_value *out)
{
    *out = (pgy_operator_value){0};
    if (!c->eval || !op_has_value(c->eval, i)) return false;
    return describe(out, c->eval->inputs[i].dtype, c->eval->inputs[i].value);
}

static bool has_shape(const pgy_tensor *t, size_t rank, const int64_t *shape)
{
    return t && pgy_tensor_rank(t) == rank &&
           (rank == 0 || memcmp(pgy_tensor_shape(t), shape, rank * sizeof *shape) == 0);
}

/* The shape must be the inferred one: shapes of later nodes were derived from it. */
static pgy_status output_data(pgy_operator_call *c, size_t i, size_t rank, const int64_t *shape,
                              void **data, pgy_error *err)
{
    *data = NULL;
    if (!c->eval || i >= c->node->output_count || rank > PGY_MAX_RANK)
        return op_error(c->node, err, PGY_E_INTERNAL,
                        "the operator's compute function asked for output %zu of rank %zu; the "
                        "node has %zu outputs",
                        i, rank, c->node->output_count);
    op_tensor *out = &c->eval->outputs[i];
    if (out->value && !has_shape(out->value, rank, shape))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the operator computes output %zu in another shape than it inferred", i);
    const pgy_status st =
        out->value ? PGY_OK : op_output(c->eval, i, PGY_DTYPE_NONE, rank, shape, err);
    if (!st) *data = pgy_tensor_data(out->value);
    return st;
}

pgy_status plugin_eval(op_eval *c, pgy_error *err)
{
    const pgy_operator_definition *d = c->node->def->user_data;
    for (size_t i = 0; i < c->node->input_count; i++)
        if (c->inputs[i].sequence ||
            (c->inputs[i].value && pgy_tensor_dtype(c->inputs[i].value) == PGY_STRING))
            return op_error(
                c->node, err, PGY_E_UNSUPPORTED,
                "input %zu holds strings or a sequence, which operators of plug-ins cannot take",
                i);
    if (!d->compute)
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "the operator has no compute function for the reference, only tactics of "
                        "the engine, and none of them accepts these types and shapes");
    pgy_operator_call call = {.node = c->node, .eval = c};
    const pgy_status st = d->compute(&call, err);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", c->node->def->name, c->node->name) : PGY_OK;
}

/* ---- Tactics -------------------------------------------------------------------------------- */

bool plugin_is(const op_def *def)
{
    return def && def->infer == plugin_infer;
}

static void *allocate(size_t size_bytes)
{
    return mem_calloc(1, size_bytes);
}

static const pgy_operator_host HOST = {
    .size = sizeof(pgy_operator_host),
    .abi = PGY_OPERATOR_ABI,
    .set_error = set_error,
    .node_name = node_name,
    .input_count = input_count,
    .output_count = output_count,
    .attribute_int = attribute_int,
    .attribute_float = attribute_float,
    .attribute_text = attribute_text,
    .attribute_ints = attribute_ints,
    .attribute_floats = attribute_floats,
    .input_type = input_type,
    .input_constant = input_constant,
    .dim_add = add,
    .dim_sub = subtract,
    .dim_mul = multiply,
    .dim_div = divide,
    .set_output = set_output,
    .input_value = input_value,
    .output_data = output_data,
    .allocate = allocate,
};

const pgy_operator_host *plugin_host(void)
{
    return &HOST;
}
