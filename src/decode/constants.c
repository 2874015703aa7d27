/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are the same in each step: the encoder's states, its mask, what has no role. */
#include <string.h>

#include "base/alloc.h"
#include "decode/decode.h"

/* Sizes of named dimensions. */
typedef struct bindings {
    strmap sizes; /* name -> size + 1 */
    bool failed;
} bindings;

static void bind(bindings *b, const char *name, int64_t size)
{
    if (!name || size < 0 || strmap_has(&b->sizes, name)) return;
    if (!strmap_put(&b->sizes, name, (void *)(uintptr_t)(size + 1))) b->failed = true;
}

/* The shapes that the user gives tell the sizes of the dimensions' names. */
static pgy_status bind_all(bindings *b, const decode_plan *p, const pgy_decode_options *o,
                           size_t batch, pgy_error *err)
{
    bind(b, p->batch_name, (int64_t)batch);
    for (size_t i = 0; i < p->input_count; i++) {
        const pgy_tensor_info *info = p->inputs[i].info, *given = options_shape(o, info->name);
        if (p->inputs[i].role == ROLE_TOKENS || !given || given->rank != info->rank) continue;
        for (int32_t d = 0; info->dim_names && d < info->rank; d++)
            bind(b, info->dim_names[d], given->shape[d]);
    }
    return b->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

/* Replaces dimensions whose size is known. A dynamic first dimension without a name is the batch.
 */
static pgy_status add_info(pgy_metadata *m, const bindings *b, const pgy_tensor_info *info,
                           size_t batch, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_tensor_info known = *info;
    for (int32_t d = 0; d < info->rank; d++) {
        const char *name = info->dim_names ? info->dim_names[d] : NULL;
        const uintptr_t size = name ? (uintptr_t)strmap_get(&b->sizes, name) : 0;
        shape[d] = info->shape[d];
        if (shape[d] >= 0) continue;
        if (size)
            shape[d] = (int64_t)size - 1;
        else if (!name && d == 0 && info->rank > 1)
            shape[d] = (int64_t)batch;
    }
    if (info->rank >= 0) known.shape = shape;
    return pgy_metadata_set(m, &known, err);
}

static bool is_constant(const decode_input *in)
{
    return in->role == ROLE_CONSTANT || in->role == ROLE_ONES;
}

static pgy_status describe(pgy_metadata **out, const decode_plan *p, const pgy_decode_options *o,
                           const pgy_tensor_map *data, size_t batch, pgy_error *err)
{
    bindings b = {0};
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    if (!st) st = bind_all(&b, p, o, batch, err);
    for (size_t i = 0; !st && i < p->input_count; i++) {
        const pgy_tensor_info *info = p->inputs[i].info;
        if (!is_constant(&p->inputs[i]) || (data && pgy_tensor_map_find(data, info->name)))
            continue;
        st = add_info(m, &b, info, batch, err);
    }
    strmap_deinit(&b.sizes);
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* Random masks of an encoder would hide some of its tokens. */
static pgy_status put_ones(pgy_tensor_map *m, const decode_plan *p, const pgy_metadata *made,
                           pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->input_count; i++) {
        const pgy_tensor_info *info = p->inputs[i].info;
        const pgy_tensor *t = pgy_tensor_map_find(m, info->name);
        if (p->inputs[i].role != ROLE_ONES || !t || !pgy_metadata_find(made, info->name)) continue;
        pgy_tensor *ones = NULL, *cast = NULL;
        st = pgy_tensor_create(&ones, PGY_I64, pgy_tensor_rank(t), pgy_tensor_shape(t), err);
        for (size_t k = 0; !st && k < pgy_tensor_count(ones); k++)
            ((int64_t *)pgy_tensor_data(ones))[k] = 1;
        if (!st) st = pgy_tensor_cast(&cast, pgy_tensor_view(ones), pgy_tensor_dtype(t), err);
        if (!st) st = pgy_tensor_map_adopt(m, info->name, cast, err);
        pgy_tensor_release(ones);
    }
    return st;
}

static pgy_status copy_given(pgy_tensor_map *m, const decode_plan *p, const pgy_tensor_map *data,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && data && i < p->input_count; i++) {
        const pgy_tensor_info *info = p->inputs[i].info;
        pgy_tensor *given = pgy_tensor_map_find(data, info->name), *loaded = NULL, *cast = NULL;
        if (!is_constant(&p->inputs[i]) || !given) continue;
        st = pgy_tensor_load(&loaded, given, err);
        if (!st && info->dtype && info->dtype != pgy_tensor_dtype(loaded))
            st = pgy_tensor_cast(&cast, pgy_tensor_view(loaded), info->dtype, err);
        if (!st) st = pgy_tensor_map_set(m, info->name, cast ? cast : loaded, err);
        pgy_tensor_release(cast);
        pgy_tensor_release(loaded);
    }
    return st;
}

pgy_status constants_make(pgy_tensor_map **out, const decode_plan *p, const pgy_decode_options *o,
                          const pgy_tensor_map *data, size_t batch, pgy_error *err)
{
    pgy_metadata *missing = NULL;
    pgy_tensor_map *m = NULL;
    pgy_status st = describe(&missing, p, o, data, batch, err);
    if (!st)
        st = pgy_metadata_count(missing) ? given_generate(&m, missing, o, err)
                                         : pgy_tensor_map_create(&m, err);
    if (!st) st = put_ones(m, p, missing, err);
    if (!st) st = copy_given(m, p, data, err);
    pgy_metadata_destroy(missing);
    if (st)
        pgy_tensor_map_destroy(m);
    else
        *out = m;
    return st;
}
