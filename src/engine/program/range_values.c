/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a graph that was inferred with sizes as symbols: their dims, and elements of shape
 * tensors, which are constants although they follow from sizes. */
#include "engine/program/range_parts.h"

static pgy_status refuse_dim(const pgy_value *v, int32_t axis, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "dimension %d of '%s' is no function of the sizes of the inputs", axis,
                         v->name);
}

pgy_status range_dims(const dim **out, const range *r, const pgy_value *v, pgy_error *err)
{
    const value_box *box = v->internal;
    int64_t value;
    /* A declared dimension may be wrong, so only computed ones count. */
    *out = v->producer && box->sizes ? box->sizes : box->known.dims;
    for (int32_t i = 0; i < v->rank; i++)
        if (!sizes_value(&value, &r->sizes, (*out)[i]) || value < 0) return refuse_dim(v, i, err);
    return PGY_OK;
}

static bool can_hold(pgy_dtype dtype)
{
    return dtype == PGY_I64 || dtype == PGY_I32 || dtype == PGY_BOOL;
}

/* Stores a number as an element of this type. False: it does not fit. */
static bool put_element(void *out, pgy_dtype dtype, size_t i, int64_t value)
{
    if (dtype == PGY_I64)
        ((int64_t *)out)[i] = value;
    else if (dtype == PGY_BOOL)
        ((bool *)out)[i] = value != 0;
    else
        ((int32_t *)out)[i] = (int32_t)value;
    return dtype != PGY_I32 || (value >= INT32_MIN && value <= INT32_MAX);
}

bool range_put_elements(void *out, pgy_dtype dtype, const range_varying *t, const int64_t *values)
{
    bool fits = true;
    for (size_t i = 0; i < t->element_count; i++)
        fits &= put_element(out, dtype, i, values[t->elements[i]]);
    return fits;
}

bool range_knows_elements(const range *r, const pgy_value *v)
{
    const op_value *known = &((const value_box *)v->internal)->known;
    int64_t value;
    if (!known->elements || !can_hold(known->dtype) || known->rank < 0 || known->rank > 1 ||
        (known->rank == 0 && known->element_count != 1))
        return false;
    for (size_t i = 0; i < known->element_count; i++)
        if (!sizes_value(&value, &r->sizes, known->elements[i])) return false;
    return true;
}

pgy_status range_elements(pgy_tensor **out, const range *r, const pgy_value *v, pgy_error *err)
{
    const op_value *known = &((const value_box *)v->internal)->known;
    const int64_t shape[1] = {(int64_t)known->element_count};
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, known->dtype, (size_t)known->rank, shape, err);
    for (size_t i = 0; !st && i < known->element_count; i++) {
        int64_t value = 0;
        if (!sizes_value(&value, &r->sizes, known->elements[i]) ||
            !put_element(pgy_tensor_data(t), known->dtype, i, value))
            st = pgy_error_set(err, PGY_E_UNSUPPORTED, "element %zu of '%s' is too large", i,
                               v->name);
    }
    if (st)
        pgy_tensor_release(t);
    else
        *out = t;
    return st;
}
