/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller gives for inputs by name: shapes and ranges of generated ones, and data. The same
 * names count as in a run without decoding, and those that fit no input are told. */
#include <string.h>

#include "base/alloc.h"
#include "data/random_names.h"
#include "decode/decode.h"

const pgy_tensor_info *options_shape(const pgy_decode_options *o, const char *name)
{
    const pgy_tensor_info *info = o->random ? random_find_given(o->random->inputs, name) : NULL;
    return info && info->rank >= 0 ? info : NULL;
}

void given_warn(const pgy_decode_options *o, const pgy_metadata *inputs)
{
    const pgy_random_options *r = o->random;
    if (r) random_warn_unmatched(r->inputs, r->ranges, r->range_count, inputs);
}

/* ---- Data ------------------------------------------------------------------------------------ */

static bool reads_data(const decode_input *in)
{
    return in->role == ROLE_TOKENS || in->role == ROLE_CACHE || in->role == ROLE_CONSTANT ||
           in->role == ROLE_ONES;
}

static pgy_status refuse_data(const pgy_tensor_map *data, const decode_plan *p, pgy_error *err)
{
    str given = {0}, wanted = {0};
    for (size_t i = 0; i < pgy_tensor_map_count(data); i++)
        str_printf(&given, "%s'%s'", i ? ", " : "", pgy_tensor_map_name(data, i));
    for (size_t i = 0; i < p->input_count; i++)
        if (reads_data(&p->inputs[i]))
            str_printf(&wanted, "%s'%s'", wanted.size ? ", " : "", p->inputs[i].info->name);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT,
                      "nothing of the input data is used: it has %s, but decoding takes %s from it",
                      given.size ? str_text(&given) : "no tensors", str_text(&wanted));
    str_deinit(&given);
    str_deinit(&wanted);
    return st;
}

pgy_status given_check_data(const pgy_tensor_map *data, const decode_plan *p, pgy_error *err)
{
    for (size_t i = 0; data && i < p->input_count; i++)
        if (reads_data(&p->inputs[i]) && pgy_tensor_map_find(data, p->inputs[i].info->name))
            return PGY_OK;
    return data ? refuse_data(data, p, err) : PGY_OK;
}

/* ---- Generated inputs ------------------------------------------------------------------------ */

/* The entries for these inputs, so that the generator does not tell the names of others. */
static pgy_status keep_shapes(pgy_metadata **out, const pgy_metadata *given,
                              const pgy_metadata *inputs, pgy_error *err)
{
    pgy_status st = pgy_metadata_create(out, err);
    for (size_t i = 0; !st && given && i < pgy_metadata_count(given); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(given, i);
        bool fits = false;
        for (size_t k = 0; k < pgy_metadata_count(inputs); k++)
            fits = fits || random_name_fits(info->name, pgy_metadata_at(inputs, k)->name);
        if (fits) st = pgy_metadata_set(*out, info, err);
    }
    return st;
}

static size_t keep_ranges(pgy_value_range *out, const pgy_random_options *o,
                          const pgy_metadata *inputs)
{
    size_t count = 0;
    for (size_t i = 0; i < o->range_count; i++) {
        const char *name = o->ranges[i].name;
        if (!name || !name[0] || pgy_metadata_find(inputs, name)) out[count++] = o->ranges[i];
    }
    return count;
}

pgy_status given_generate(pgy_tensor_map **out, const pgy_metadata *inputs,
                          const pgy_decode_options *o, pgy_error *err)
{
    pgy_random_options random = o->random ? *o->random : pgy_random_options_default();
    pgy_metadata *shapes = NULL;
    pgy_data_loader *loader = NULL;
    pgy_value_range *ranges = mem_calloc(random.range_count + 1, sizeof *ranges);
    if (!ranges) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = keep_shapes(&shapes, random.inputs, inputs, err);
    random.iterations = 1;
    random.range_count = keep_ranges(ranges, &random, inputs);
    random.ranges = ranges;
    random.inputs = shapes;
    if (!st) st = pgy_random_loader_create(&loader, &random, err);
    if (!st) st = pgy_data_loader_set_metadata(loader, inputs, err);
    if (!st) st = pgy_data_loader_next(out, loader, err);
    pgy_data_loader_destroy(loader);
    pgy_metadata_destroy(shapes);
    mem_free(ranges);
    return st;
}
