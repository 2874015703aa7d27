/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as keys: inputs are compared in the model's order, without names. */
#include "engine/build/shapes.h"

#include <string.h>

static bool is_numeric(pgy_form form, pgy_dtype dtype)
{
    return form == PGY_FORM_TENSOR && dtype != PGY_STRING;
}

static bool same_dims(const int64_t *a, const int64_t *b, size_t rank)
{
    return !rank || memcmp(a, b, rank * sizeof *a) == 0;
}

bool shapes_equal(const pgy_metadata *a, const pgy_metadata *b)
{
    for (size_t i = 0; i < pgy_metadata_count(a); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(a, i), *y = pgy_metadata_at(b, i);
        if (x->dtype != y->dtype || x->rank != y->rank ||
            !same_dims(x->shape, y->shape, (size_t)x->rank))
            return false;
    }
    return true;
}

bool shapes_fit(const pgy_metadata *shapes, const pgy_tensor_map *feed)
{
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *wanted = pgy_metadata_at(shapes, i);
        const pgy_tensor *t = pgy_tensor_map_find(feed, wanted->name);
        if (!t || pgy_tensor_dtype(t) != wanted->dtype ||
            pgy_tensor_rank(t) != (size_t)wanted->rank ||
            !same_dims(pgy_tensor_shape(t), wanted->shape, (size_t)wanted->rank))
            return false;
    }
    return true;
}

bool shapes_are_numeric(const pgy_metadata *inputs)
{
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(inputs, i);
        if (!is_numeric(input->form, input->dtype)) return false;
    }
    return true;
}

static pgy_status finish(pgy_metadata **out, pgy_metadata *made, pgy_status st)
{
    if (st)
        pgy_metadata_destroy(made);
    else
        *out = made;
    return st;
}

pgy_status shapes_add(pgy_metadata *out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(out, pgy_metadata_at(from, i), err);
    return st;
}

pgy_status shapes_copy(pgy_metadata **out, const pgy_metadata *from, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    if (!st) st = shapes_add(m, from, err);
    return finish(out, m, st);
}

pgy_status shapes_of(pgy_metadata **out, const pgy_metadata *inputs, const pgy_tensor_map *feed,
                     pgy_error *err)
{
    pgy_metadata *m = NULL;
    *out = NULL;
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(inputs, i);
        const pgy_tensor *t = pgy_tensor_map_find(feed, input->name);
        if (!t || !is_numeric(input->form, pgy_tensor_dtype(t))) return PGY_OK;
    }
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const char *name = pgy_metadata_at(inputs, i)->name;
        const pgy_tensor *t = pgy_tensor_map_find(feed, name);
        const pgy_tensor_info info = {.name = name,
                                      .dtype = pgy_tensor_dtype(t),
                                      .rank = (int32_t)pgy_tensor_rank(t),
                                      .shape = pgy_tensor_shape(t)};
        st = pgy_metadata_set(m, &info, err);
    }
    return finish(out, m, st);
}

pgy_status shapes_complete(pgy_metadata **out, const pgy_metadata *inputs,
                           const pgy_metadata *given, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        pgy_tensor_info input = *pgy_metadata_at(inputs, i);
        const pgy_tensor_info *usual = given ? pgy_metadata_find(given, input.name) : NULL;
        if (usual) {
            input.rank = usual->rank;
            input.shape = usual->shape;
        }
        input.dim_names = NULL;
        input.min_shape = input.max_shape = NULL;
        for (int32_t d = 0; d < input.rank; d++)
            if (input.shape[d] < 0) input.rank = -1;
        st = input.rank < 0 ? pgy_error_set(err, PGY_E_SHAPE,
                                            "input '%s' has no fixed shape, so no program can be "
                                            "built for the plan; give shapes or a profile",
                                            input.name)
                            : pgy_metadata_set(m, &input, err);
    }
    return finish(out, m, st);
}
