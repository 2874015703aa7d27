/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of shape rules. Integer values are handled as dims throughout, so that one code path
 * serves constants and the shape arithmetic of exporters; an undecidable value becomes unknown,
 * never a guess. */
#include "ops/rule.h"

#include "base/alloc.h"

pgy_status rule_no_memory(const op_node *n, pgy_error *err)
{
    return op_error(n, err, PGY_E_MEMORY, "out of memory");
}

double rule_no_flops(const op_infer *c)
{
    (void)c;
    return 0;
}

static bool read_value(dim *out, const pgy_tensor *t, size_t i)
{
    const void *data = pgy_tensor_data(t);
    switch (pgy_tensor_dtype(t)) {
    case PGY_I64: *out = dim_const(((const int64_t *)data)[i]); return true;
    case PGY_BOOL: *out = dim_const(((const uint8_t *)data)[i]); return true;
    case PGY_U64:
        if (((const uint64_t *)data)[i] > INT64_MAX) return false;
        *out = dim_const((int64_t)((const uint64_t *)data)[i]);
        return true;
    default: return false;
    }
}

/* Longer tensors are data, which no shape comes from; copying them at each node of a loop's body
 * took most of its time. */
enum { MOST_VALUES = 4 * RULE_MAX_ELEMENTS };

bool rule_values(const op_infer *c, size_t input, const dim **out, size_t *count)
{
    if (!op_has_input(c, input)) return false;
    const op_value *v = &c->inputs[input];
    if (v->elements) {
        *out = v->elements;
        *count = v->element_count;
        return true;
    }
    if (!v->data || pgy_tensor_rank(v->data) > 1 || !pgy_tensor_data(v->data)) return false;
    const size_t n = pgy_tensor_count(v->data);
    if (n > MOST_VALUES) return false;
    dim *values = arena_alloc_array(c->memory, n + 1, sizeof *values);
    if (!values) return false;
    for (size_t i = 0; i < n; i++)
        if (!read_value(&values[i], v->data, i)) return false;
    *out = values;
    *count = n;
    return true;
}

/* Whether the type can hold the value unchanged; symbolic values count as fitting. */
static bool fits(pgy_dtype dtype, dim d)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    if (!dim_is_const(d)) return true;
    if (info->kind == PGY_KIND_BOOL) return d.value == 0 || d.value == 1;
    if (info->kind == PGY_KIND_UNSIGNED)
        return d.value >= 0 && (info->bits >= 63 || d.value < (int64_t)1 << info->bits);
    if (info->kind != PGY_KIND_SIGNED) return false;
    if (info->bits >= 64) return true;
    const int64_t limit = (int64_t)1 << (info->bits - 1);
    return d.value >= -limit && d.value < limit;
}

void rule_set_elements(op_infer *c, size_t output, const dim *elements, size_t count)
{
    op_value *v = &c->outputs[output];
    if (!elements || count > RULE_MAX_ELEMENTS || v->rank < 0 || v->rank > 1) return;
    if (v->rank == 0 && count != 1) return;
    if (v->rank == 1 && dim_differ(v->dims[0], dim_const((int64_t)count))) return;
    if (v->dtype != PGY_BOOL && !pgy_dtype_is_integer(v->dtype)) return;
    for (size_t i = 0; i < count; i++)
        if (!fits(v->dtype, elements[i])) return;
    v->elements = elements;
    v->element_count = count;
}

dim rule_element(const dim *elements, size_t count, size_t i)
{
    return elements[count == 1 ? 0 : i];
}

bool rule_count(const op_infer *c, dim *out, int32_t rank, const dim *dims)
{
    if (rank < 0) return false;
    dim total = dim_const(1);
    for (int32_t i = 0; i < rank; i++) {
        if (dim_is_const(dims[i]) && dims[i].value == 0) {
            *out = dim_const(0);
            return true;
        }
        total = dim_mul(c->dims, total, dims[i]);
    }
    *out = total;
    return true;
}

dim *rule_copy_dims(op_infer *c, const op_value *v)
{
    const size_t rank = v->rank > 0 ? (size_t)v->rank : 0;
    dim *dims = op_dims(c, rank + 1);
    if (!dims) return NULL;
    for (size_t i = 0; i < rank; i++) dims[i] = v->dims[i];
    return dims;
}

dim *rule_from_ints(op_infer *c, const int64_t *ints, size_t count)
{
    dim *dims = op_dims(c, count + 1);
    if (!dims) return NULL;
    for (size_t i = 0; i < count; i++) dims[i] = dim_const(ints[i]);
    return dims;
}

bool rule_is_negative(dim d)
{
    return dim_is_const(d) && d.value < 0;
}

bool rule_is_natural(dim_table *t, dim d)
{
    if (dim_is_const(d)) return d.value >= 0;
    return dim_is_positive(d) || dim_is_positive(dim_add(t, d, dim_const(1)));
}

rule_source rule_list(op_infer *c, const char *attr, size_t input, const dim **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    const int64_t *ints = attr ? op_attr_ints(c->node, attr, count) : NULL;
    if (ints || (attr && op_attr_find(c->node, attr))) {
        dim *dims = rule_from_ints(c, ints, *count);
        *out = dims;
        return dims ? RULE_KNOWN : RULE_UNKNOWN;
    }
    if (!op_has_input(c, input)) return RULE_ABSENT;
    return rule_values(c, input, out, count) ? RULE_KNOWN : RULE_UNKNOWN;
}

pgy_status rule_eval_list(const op_eval *c, const char *attr, size_t input, const int64_t **out,
                          size_t *count, pgy_error *err)
{
    static const int64_t nothing;
    *out = attr ? op_attr_ints(c->node, attr, count) : NULL;
    if (*out) return PGY_OK;
    *count = 0;
    if (attr && op_attr_find(c->node, attr)) {
        *out = &nothing;
        return PGY_OK;
    }
    if (!op_has_value(c, input)) return PGY_OK;
    pgy_status st = op_eval_ints(c, input, out, count, err);
    if (!st && pgy_tensor_rank(c->inputs[input].value) > 1)
        st =
            op_error(c->node, err, PGY_E_SHAPE, "input %zu must have rank 0 or 1, but has rank %zu",
                     input, pgy_tensor_rank(c->inputs[input].value));
    return st;
}

pgy_status rule_check_rank(const op_node *n, int64_t rank, pgy_error *err)
{
    if (rank <= PGY_MAX_RANK) return PGY_OK;
    return op_error(n, err, PGY_E_SHAPE, "rank %lld is above the limit of %d", (long long)rank,
                    PGY_MAX_RANK);
}

pgy_status rule_axes(size_t *out, const op_node *n, const int64_t *axes, size_t count, int32_t rank,
                     pgy_error *err)
{
    bool seen[PGY_MAX_RANK] = {false};
    pgy_status st = rule_check_rank(n, rank, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        st = op_axis(&axis, n, axes[i], rank, err);
        if (st) return st;
        if (seen[axis])
            return op_error(n, err, PGY_E_SHAPE, "axis %lld is given twice", (long long)axes[i]);
        seen[axis] = true;
        out[i] = axis;
    }
    return PGY_OK;
}

pgy_status rule_dim_axes(size_t *out, const op_node *n, const dim *axes, size_t count, int32_t rank,
                         pgy_error *err)
{
    int64_t ints[PGY_MAX_RANK];
    if (count > PGY_MAX_RANK || (int64_t)count > rank)
        return op_error(n, err, PGY_E_SHAPE, "%zu axes for a tensor of rank %d", count, rank);
    for (size_t i = 0; i < count; i++) {
        if (!dim_is_const(axes[i]))
            return op_error(n, err, PGY_E_SHAPE, "the axis at position %zu is not constant", i);
        ints[i] = axes[i].value;
    }
    return rule_axes(out, n, ints, count, rank, err);
}

pgy_status rule_same_type(const op_infer *c, size_t a, size_t b, pgy_error *err)
{
    if (!op_has_input(c, a) || !op_has_input(c, b)) return PGY_OK;
    const pgy_dtype x = c->inputs[a].dtype, y = c->inputs[b].dtype;
    if (x == y || x == PGY_DTYPE_NONE || y == PGY_DTYPE_NONE) return PGY_OK;
    return op_error(c->node, err, PGY_E_TYPE,
                    "inputs %zu and %zu have types %s and %s, which must be the same", a, b,
                    pgy_dtype_name(x), pgy_dtype_name(y));
}

pgy_status rule_output(const op_eval *c, size_t output, pgy_tensor **out, pgy_error *err)
{
    *out = c->outputs[output].value;
    if (!*out)
        return op_error(c->node, err, PGY_E_SHAPE, "the shape of output %zu is unknown", output);
    return rule_check_rank(c->node, (int64_t)pgy_tensor_rank(*out), err);
}

pgy_status rule_input(const op_eval *c, size_t input, pgy_tensor **out, pgy_error *err)
{
    if (!op_has_value(c, input))
        return op_error(c->node, err, PGY_E_ARGUMENT, "input %zu is missing", input);
    *out = c->inputs[input].value;
    if (!*out)
        return op_error(c->node, err, PGY_E_TYPE, "input %zu must be a tensor, not a sequence",
                        input);
    return rule_check_rank(c->node, (int64_t)pgy_tensor_rank(*out), err);
}

bool rule_index(size_t *out, int64_t index, size_t size)
{
    if (index < 0) index += (int64_t)size;
    if (index < 0 || (uint64_t)index >= size) return false;
    *out = (size_t)index;
    return true;
}

pgy_status rule_forward(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = rule_output(c, 0, &y, err);
    return st ? st : op_forward(c, 0, 0, err);
}

void rule_same_elements(op_infer *c)
{
    const dim *values;
    size_t count;
    if (rule_values(c, 0, &values, &count)) rule_set_elements(c, 0, values, count);
}
