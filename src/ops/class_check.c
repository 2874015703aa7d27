/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and accessors that the operators with matrices, images and reductions share. */
#include "ops/class_check.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"

static bool storage_fits(const op_eval *c, size_t i, char kind)
{
    pgy_dtype have = pgy_tensor_dtype(c->inputs[i].value);
    switch (tolower((unsigned char)kind)) {
    case 'f': return have == PGY_F64;
    case 'w': return have == PGY_F64 || have == PGY_F32;
    case 'i': return have == PGY_I64;
    case 'b': return have == PGY_BOOL;
    case 's': return have == pgy_tensor_dtype(c->inputs[0].value);
    default: return true;
    }
}

pgy_status inputs_check(const op_eval *c, const char *kinds, pgy_error *err)
{
    for (size_t i = 0; kinds[i]; i++) {
        if (i >= c->node->input_count || !c->inputs[i].value) {
            if (isupper((unsigned char)kinds[i]) || kinds[i] == '!')
                return op_error(c->node, err, PGY_E_ARGUMENT, "input %zu is missing", i);
            continue;
        }
        if (!storage_fits(c, i, kinds[i]))
            return op_error(c->node, err, PGY_E_TYPE,
                            "input %zu has type %s, which does not fit input 0 of type %s", i,
                            pgy_dtype_name(c->inputs[i].dtype), pgy_dtype_name(c->inputs[0].dtype));
    }
    return PGY_OK;
}

static const pgy_tensor *in_tensor(const op_eval *c, size_t i)
{
    return i < c->node->input_count ? c->inputs[i].value : NULL;
}

static const pgy_tensor *out_tensor(const op_eval *c, size_t i)
{
    return i < c->node->output_count ? c->outputs[i].value : NULL;
}

const void *in_data(const op_eval *c, size_t i)
{
    const pgy_tensor *t = in_tensor(c, i);
    return t ? pgy_tensor_data(t) : NULL;
}

const double *in_f64(const op_eval *c, size_t i)
{
    return in_data(c, i);
}

const int64_t *in_i64(const op_eval *c, size_t i)
{
    return in_data(c, i);
}

const int64_t *in_shape(const op_eval *c, size_t i)
{
    const pgy_tensor *t = in_tensor(c, i);
    return t ? pgy_tensor_shape(t) : NULL;
}

size_t in_rank(const op_eval *c, size_t i)
{
    const pgy_tensor *t = in_tensor(c, i);
    return t ? pgy_tensor_rank(t) : 0;
}

size_t in_count(const op_eval *c, size_t i)
{
    const pgy_tensor *t = in_tensor(c, i);
    return t ? pgy_tensor_count(t) : 0;
}

void *out_data(const op_eval *c, size_t i)
{
    const pgy_tensor *t = out_tensor(c, i);
    return t ? pgy_tensor_data(t) : NULL;
}

double *out_f64(const op_eval *c, size_t i)
{
    return out_data(c, i);
}

int64_t *out_i64(const op_eval *c, size_t i)
{
    return out_data(c, i);
}

const int64_t *out_shape(const op_eval *c, size_t i)
{
    const pgy_tensor *t = out_tensor(c, i);
    return t ? pgy_tensor_shape(t) : NULL;
}

size_t out_rank(const op_eval *c, size_t i)
{
    const pgy_tensor *t = out_tensor(c, i);
    return t ? pgy_tensor_rank(t) : 0;
}

size_t out_count(const op_eval *c, size_t i)
{
    const pgy_tensor *t = out_tensor(c, i);
    return t ? pgy_tensor_count(t) : 0;
}

bool rank_known(const op_infer *c, size_t i)
{
    return op_has_input(c, i) && c->inputs[i].rank >= 0;
}

pgy_status rank_check(const op_infer *c, size_t i, int32_t least, int32_t most, pgy_error *err)
{
    if (!rank_known(c, i)) return PGY_OK;
    int32_t rank = c->inputs[i].rank;
    if (rank >= least && rank <= most) return PGY_OK;
    if (least == most)
        return op_error(c->node, err, PGY_E_SHAPE, "input %zu must have rank %d, not %d", i,
                        (int)least, (int)rank);
    return op_error(c->node, err, PGY_E_SHAPE, "input %zu must have rank %d to %d, not %d", i,
                    (int)least, (int)most, (int)rank);
}

pgy_status dim_check(const op_infer *c, size_t i, size_t axis, dim wanted, const char *what,
                     pgy_error *err)
{
    if (!rank_known(c, i) || axis >= (size_t)c->inputs[i].rank) return PGY_OK;
    dim have = c->inputs[i].dims[axis];
    if (!dim_differ(have, wanted)) return PGY_OK;
    str a = {0}, b = {0};
    dim_print(&a, have);
    dim_print(&b, wanted);
    pgy_status st =
        op_error(c->node, err, PGY_E_SHAPE, "dimension %zu of input %zu is %s, but %s is %s", axis,
                 i, str_text(&a), what, str_text(&b));
    str_deinit(&a);
    str_deinit(&b);
    return st;
}

dim dim_joined(const op_infer *c, size_t i, size_t axis, dim known)
{
    if (i >= c->node->input_count || !rank_known(c, i) || axis >= (size_t)c->inputs[i].rank)
        return known;
    (void)op_unify(&known, known, c->inputs[i].dims[axis]);
    return known;
}

void output_set(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank, const dim *dims)
{
    if (i < c->node->output_count) op_set_output(c, i, dtype, rank, dims);
}

pgy_status workspace_alloc(void **out, const op_eval *c, size_t count, size_t size, pgy_error *err)
{
    size_t bytes = 0;
    const uint64_t limit =
        c->host && c->host->max_bytes ? c->host->max_bytes : memory_limit_bytes();
    if (!size_mul(&bytes, count, size) || bytes > limit)
        return op_error(c->node, err, PGY_E_MEMORY,
                        "a workspace of %zu elements of %zu bytes exceeds %s", count, size,
                        memory_limit_describe_other(limit).text);
    void *p = mem_calloc(count ? count : 1, size);
    if (!p)
        return op_error(c->node, err, PGY_E_MEMORY, "out of memory for a workspace of %zu bytes",
                        bytes);
    *out = p;
    return PGY_OK;
}

double dims_product(const op_value *v)
{
    double product = 1;
    for (int32_t i = 0; i < v->rank; i++) product *= (double)v->dims[i].value;
    return product;
}
