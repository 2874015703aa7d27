/* SPDX-License-Identifier: Apache-2.0 */
/* A model file is simplified, measured on small inputs: there is a model again that can be read, or
 * an error, and outputs that changed beyond rounding are told. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <polygraphy/graph.h>
#include <polygraphy/simplify.h>

enum { MAX_INPUT_ELEMENTS = 4096, MAX_BYTES = 1 << 18, MAX_STEPS = 400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static pgy_status make_input(pgy_tensor **out, const pgy_tensor_info *info, size_t set,
                             pgy_error *err)
{
    size_t count = 0;
    pgy_tensor *wide = NULL;
    if (info->rank < 0 || info->dtype == PGY_STRING || info->dtype == PGY_DTYPE_NONE)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "no such input is made");
    pgy_status st = pgy_shape_count(&count, (size_t)info->rank, info->shape, err);
    if (!st && count > MAX_INPUT_ELEMENTS)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "the input is large");
    if (!st) st = pgy_tensor_create(&wide, PGY_F64, (size_t)info->rank, info->shape, err);
    for (size_t i = 0; !st && i < count; i++)
        ((double *)pgy_tensor_data(wide))[i] = (double)((i + set) % 7);
    if (!st) st = pgy_tensor_cast(out, pgy_tensor_view(wide), info->dtype, err);
    pgy_tensor_release(wide);
    return st;
}

/* One map for each set; *user counts them. */
static pgy_status sample(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set, void *user,
                         pgy_error *err)
{
    unsigned *given = user;
    pgy_tensor_map *map = NULL;
    *out = NULL;
    if (*given >> set & 1) return PGY_OK;
    *given |= 1u << set;
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        pgy_tensor *t = NULL;
        st = make_input(&t, info, set, err);
        if (!st) st = pgy_tensor_map_adopt(map, info->name, t, err);
    }
    if (st)
        pgy_tensor_map_destroy(map);
    else
        *out = map;
    return PGY_OK; /* an input that cannot be made is the end */
}

static void read_again(pgy_model *model)
{
    pgy_error err = {0};
    pgy_model *again = NULL;
    pgy_graph *g = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_status st = pgy_model_serialize(&bytes, &size, model, &err);
    if (!st) st = pgy_model_parse(&again, bytes, size, true, NULL, &err);
    if (!st && pgy_graph_import(&g, again, &err) == PGY_E_FORMAT) abort();
    pgy_graph_destroy(g);
    pgy_model_destroy(again);
    pgy_text_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL, *made = NULL;
    pgy_simplify_report *report = NULL;
    pgy_error err = {0};
    unsigned given = 0;
    pgy_simplify_options o = pgy_simplify_options_default();
    o.fuse_batch_norm = size % 3 == 0;
    o.no_check = size % 5 == 0;
    o.opset = size % 7 == 0 ? 24 : 0;
    o.max_steps = MAX_STEPS;
    o.sample = sample;
    o.user = &given;
    pgy_set_max_memory(MAX_BYTES);
    if (pgy_model_parse(&model, data, size, true, NULL, &err)) return 0;
    if (pgy_model_simplify(&made, model, &o, &report, &err) == PGY_OK) read_again(made);
    pgy_simplify_report_destroy(report);
    pgy_model_destroy(made);
    pgy_model_destroy(model);
    return 0;
}
