/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance of rows, in two passes, so that a large mean does not cost digits of the
 * variance. */
#include "ops/class_norm.h"

norm_stats norm_of(const double *x, size_t count)
{
    double mean = row_sum(x, count) / (double)count;
    return (norm_stats){mean, row_sum_squares(x, count, mean) / (double)count};
}

double norm_flops(const op_infer *c)
{
    return 8 * dims_product(&c->inputs[0]);
}

pgy_status norm_check(const op_infer *c, size_t i, pgy_error *err)
{
    if (!rank_known(c, i) || !rank_known(c, 0)) return PGY_OK;
    const op_value *v = &c->inputs[i], *x = &c->inputs[0];
    bool fits = v->rank <= x->rank;
    for (int32_t behind = 1; fits && behind <= v->rank; behind++) {
        const dim has = v->dims[v->rank - behind];
        fits = !dim_differ(has, dim_const(1)) || !dim_differ(has, x->dims[x->rank - behind]);
    }
    if (fits) return PGY_OK;
    str text = {0}, target = {0};
    op_print_shape(&text, v->rank, v->dims);
    op_print_shape(&target, x->rank, x->dims);
    const pgy_status st =
        op_error(c->node, err, PGY_E_SHAPE, "input %zu of shape %s does not broadcast to %s", i,
                 str_text(&text), str_text(&target));
    str_deinit(&text);
    str_deinit(&target);
    return st;
}

pgy_status norm_broadcast(size_t *strides, const op_eval *c, size_t input, const int64_t *shape,
                          size_t rank, pgy_error *err)
{
    const int64_t *own = in_shape(c, input);
    size_t own_rank = in_rank(c, input), stride = 1;
    bool fits = own_rank <= rank;
    for (size_t i = 0; i < rank; i++) strides[i] = 0;
    for (size_t behind = 1; fits && behind <= own_rank; behind++) {
        int64_t extent = own[own_rank - behind];
        if (extent != 1 && extent != shape[rank - behind]) fits = false;
        strides[rank - behind] = extent == 1 ? 0 : stride;
        stride *= (size_t)extent;
    }
    if (fits) return PGY_OK;
    str text = {0}, target = {0};
    for (size_t i = 0; i < own_rank; i++)
        str_printf(&text, i ? ", %lld" : "%lld", (long long)own[i]);
    for (size_t i = 0; i < rank; i++)
        str_printf(&target, i ? ", %lld" : "%lld", (long long)shape[i]);
    pgy_status st =
        op_error(c->node, err, PGY_E_SHAPE, "input %zu of shape (%s) does not broadcast to (%s)",
                 input, str_text(&text), str_text(&target));
    str_deinit(&text);
    str_deinit(&target);
    return st;
}
