/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of what loops without iterations collect. */
#include "evaluate/describe.h"

#include "base/alloc.h"

void describe_deinit(describe *d)
{
    mem_free(d->bounds);
    mem_free(d->pairs);
    mem_free(d->dims);
    *d = (describe){0};
}

void describe_start(describe *d)
{
    d->bound_count = d->pair_count = 0;
}

pgy_status describe_note(describe *d, pgy_value *v, const pgy_tensor *t, pgy_error *err)
{
    const op_value *known = v && t ? &box_of(v)->known : NULL;
    if (!known || known->rank < 0 || (size_t)known->rank != pgy_tensor_rank(t)) return PGY_OK;
    const size_t more = (size_t)known->rank + 1;
    if (!mem_grow((void **)&d->bounds, &d->bound_capacity, d->bound_count + more,
                  sizeof *d->bounds) ||
        !mem_grow((void **)&d->pairs, &d->pair_capacity, d->pair_count + more, sizeof *d->pairs))
        return graph_no_memory(err);
    for (int32_t i = 0; i < known->rank; i++) {
        const dim x = known->dims[i];
        const void *symbol = dim_symbol_of(x);
        const int64_t size = pgy_tensor_shape(t)[i];
        if (symbol)
            d->bounds[d->bound_count++] = (dim_bound){symbol, size};
        else if (!dim_is_const(x))
            d->pairs[d->pair_count++] = (describe_pair){x, size};
    }
    return PGY_OK;
}

int64_t describe_size(const describe *d, dim x)
{
    int64_t size;
    if (dim_value(&size, x, d->bounds, d->bound_count)) return size > 0 ? size : 0;
    for (size_t i = 0; i < d->pair_count; i++)
        if (dim_equal(d->pairs[i].x, x)) return d->pairs[i].size;
    return 0;
}

bool describe_can(const pgy_graph *g)
{
    while (g && !level_of(g)->is_function) g = g->parent;
    return g == NULL;
}

pgy_status describe_outputs(describe *d, const pgy_graph *g, op_value *outputs, size_t count,
                            pgy_error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) outputs[i] = (op_value){.rank = -1};
    if (!g || !describe_can(g)) return PGY_OK;
    if (!mem_grow((void **)&d->dims, &d->dim_capacity, count * PGY_MAX_RANK + 1, sizeof *d->dims))
        return graph_no_memory(err);
    for (size_t i = 0; i < count && i < g->output_count; i++) {
        const op_value *known = &box_of(g->outputs[i])->known;
        dim *dims = d->dims + used;
        outputs[i] = (op_value){.dtype = known->dtype,
                                .rank = known->rank > PGY_MAX_RANK ? -1 : known->rank,
                                .dims = dims,
                                .sequence = known->sequence,
                                .optional = known->optional};
        for (int32_t k = 0; k < outputs[i].rank; k++, used++)
            dims[k] = dim_const(describe_size(d, known->dims[k]));
    }
    return PGY_OK;
}
