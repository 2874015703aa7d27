/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence is passed, in both directions, as one tensor per element, with the index in its name;
 * an optional is passed as its element, or omitted. Nested sequences follow the same rule. A map is
 * passed as its keys and its values. */
#include "evaluate/interface.h"

#include <string.h>

#include "base/alloc.h"
#include "tensor/elements.h"

enum { MAX_DEPTH = 16 }; /* limit for the nesting of sequences */

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status feed_tensor(op_tensor *out, pgy_tensor *given, const char *name, pgy_error *err)
{
    pgy_tensor *value = NULL;
    const pgy_status st = op_to_storage(&value, given, err);
    if (st) return pgy_error_prefix(err, st, "input '%s': ", name);
    *out = (op_tensor){.dtype = pgy_tensor_dtype(given), .value = value};
    return PGY_OK;
}

static pgy_status feed_sequence(op_tensor *out, const pgy_tensor_map *feed, const char *stem,
                                int depth, pgy_error *err);

static pgy_status feed_element(op_tensor *out, const pgy_tensor_map *feed, const char *stem,
                               size_t i, int depth, pgy_error *err)
{
    str name = {0};
    str_printf(&name, "%s[%zu]", stem, i);
    pgy_tensor *given = pgy_tensor_map_find(feed, str_text(&name));
    pgy_status st = PGY_OK;
    if (name.failed)
        st = graph_no_memory(err);
    else if (given)
        st = feed_tensor(out, given, str_text(&name), err);
    else
        st = feed_sequence(out, feed, str_text(&name), depth + 1, err);
    str_deinit(&name);
    return st;
}

static pgy_status feed_sequence(op_tensor *out, const pgy_tensor_map *feed, const char *stem,
                                int depth, pgy_error *err)
{
    size_t count = 0;
    if (depth > MAX_DEPTH)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s': sequences are nested too deep", stem);
    pgy_status st = elements_count(&count, feed, stem, err);
    if (st) return pgy_error_prefix(err, st, "input ");
    op_sequence *s = op_sequence_create(count);
    if (!s) return graph_no_memory(err);
    for (size_t i = 0; !st && i < count; i++)
        st = feed_element(&s->items[i], feed, stem, i, depth, err);
    if (st)
        op_sequence_release(s);
    else
        *out = (op_tensor){.sequence = s};
    return st;
}

static pgy_status feed_none(op_tensor *out, pgy_error *err)
{
    op_sequence *none = op_sequence_create(0);
    if (!none) return graph_no_memory(err);
    none->none = true;
    *out = (op_tensor){.sequence = none};
    return PGY_OK;
}

static pgy_status check_part(const pgy_tensor *t, pgy_dtype wanted, const char *name,
                             const char *part, pgy_error *err)
{
    if (!wanted || pgy_tensor_dtype(t) == wanted) return PGY_OK;
    return pgy_error_set(err, PGY_E_TYPE, "the %s of map '%s' have type %s, but must have type %s",
                         part, name, pgy_dtype_name(pgy_tensor_dtype(t)), pgy_dtype_name(wanted));
}

static pgy_status feed_map(op_tensor *out, const pgy_value *v, const pgy_tensor_map *feed,
                           pgy_error *err)
{
    const op_value *known = &((value_box *)v->internal)->known;
    pgy_tensor *keys, *values;
    pgy_status st = elements_map(&keys, &values, feed, v->name, err);
    if (!st && !keys)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "input '%s', a map, is missing", v->name);
    if (!st) st = check_part(keys, known->map_key, v->name, "keys", err);
    if (!st) st = check_part(values, known->map_value, v->name, "values", err);
    if (st) return st;
    op_sequence *map = op_sequence_create(2);
    if (!map) return graph_no_memory(err);
    map->map = true;
    st = feed_tensor(&map->items[0], keys, v->name, err);
    if (!st) st = feed_tensor(&map->items[1], values, v->name, err);
    if (st)
        op_sequence_release(map);
    else
        *out = (op_tensor){.sequence = map};
    return st;
}

pgy_status interface_feed(op_tensor *out, const pgy_value *v, const pgy_tensor_map *feed,
                          pgy_error *err)
{
    pgy_tensor *given = pgy_tensor_map_find(feed, v->name);
    if (v->kind == PGY_VALUE_MAP) return feed_map(out, v, feed, err);
    if (v->kind == PGY_VALUE_SEQUENCE) return feed_sequence(out, feed, v->name, 0, err);
    if (given) return feed_tensor(out, given, v->name, err);
    if (v->kind != PGY_VALUE_OPTIONAL)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "input '%s' is missing", v->name);
    if (elements_given(feed, v->name)) return feed_sequence(out, feed, v->name, 0, err);
    return feed_none(out, err);
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static pgy_status take(pgy_tensor_map *out, const char *name, const op_tensor *value,
                       pgy_dtype element, pgy_error *err);

static pgy_status take_map(pgy_tensor_map *out, const char *stem, const op_sequence *map,
                           pgy_error *err)
{
    pgy_tensor *keys = NULL, *values = NULL;
    pgy_status st = op_from_storage(&keys, map->items[0].value, map->items[0].dtype, err);
    if (!st) st = op_from_storage(&values, map->items[1].value, map->items[1].dtype, err);
    if (!st) return elements_adopt_map(out, stem, keys, values, err);
    pgy_tensor_release(keys);
    return st;
}

/* The maps of a sequence, if there are some and all have the same keys: its vectors of values make
 * the rows of a matrix. */
static pgy_status take_maps(bool *taken, pgy_tensor_map *out, const char *stem,
                            const op_sequence *s, pgy_error *err)
{
    const op_sequence *first = s->count ? s->items[0].sequence : NULL;
    pgy_tensor *rows = NULL, *keys = NULL, *values = NULL;
    *taken = first && first->map && first->items[1].dtype != PGY_STRING;
    for (size_t i = 1; *taken && i < s->count; i++) {
        const op_sequence *other = s->items[i].sequence;
        *taken = other && other->map && first->items[1].dtype != PGY_STRING &&
                 other->items[0].value == first->items[0].value &&
                 other->items[1].dtype == first->items[1].dtype;
    }
    if (!*taken) return PGY_OK;
    const size_t bytes = pgy_tensor_size_bytes(first->items[1].value);
    const int64_t shape[] = {(int64_t)s->count, (int64_t)pgy_tensor_count(first->items[1].value)};
    pgy_status st =
        pgy_tensor_create(&rows, pgy_tensor_dtype(first->items[1].value), 2, shape, err);
    for (size_t i = 0; !st && bytes && i < s->count; i++)
        memcpy((char *)pgy_tensor_data(rows) + i * bytes,
               pgy_tensor_data(s->items[i].sequence->items[1].value), bytes);
    if (!st) st = op_from_storage(&values, rows, first->items[1].dtype, err);
    if (!st) st = op_from_storage(&keys, first->items[0].value, first->items[0].dtype, err);
    pgy_tensor_release(rows);
    if (!st) return elements_adopt_map(out, stem, keys, values, err);
    pgy_tensor_release(values);
    return st;
}

static pgy_status take_sequence(pgy_tensor_map *out, const char *stem, const op_sequence *s,
                                pgy_dtype element, pgy_error *err)
{
    str name = {0};
    bool taken = false;
    if (s->none) return PGY_OK;
    if (s->map) return take_map(out, stem, s, err);
    pgy_status st = take_maps(&taken, out, stem, s, err);
    if (st || taken) return st;
    if (!s->count) return elements_adopt_none(out, stem, element, err);
    for (size_t i = 0; !st && i < s->count; i++) {
        str_clear(&name);
        str_printf(&name, "%s[%zu]", stem, i);
        st = name.failed ? graph_no_memory(err)
                         : take(out, str_text(&name), &s->items[i], element, err);
    }
    str_deinit(&name);
    return st;
}

static pgy_status take(pgy_tensor_map *out, const char *name, const op_tensor *value,
                       pgy_dtype element, pgy_error *err)
{
    pgy_tensor *t = NULL;
    if (value->sequence) return take_sequence(out, name, value->sequence, element, err);
    if (!value->value)
        return pgy_error_set(err, PGY_E_INTERNAL, "output '%s' was not computed", name);
    const pgy_status st = op_from_storage(&t, value->value, value->dtype, err);
    return st ? st : elements_adopt(out, name, t, err);
}

/* Gives the description of the tensors inside (nested) sequences; v itself if it is a tensor. */
static const op_value *innermost(const op_value *v)
{
    for (int depth = 0; v->sequence && depth < MAX_DEPTH; depth++) v = v->sequence;
    return v;
}

pgy_status interface_take(pgy_tensor_map *out, const pgy_value *v, const op_tensor *value,
                          pgy_error *err)
{
    const op_value *known = &((value_box *)v->internal)->known;
    return take(out, v->name, value, innermost(known)->dtype, err);
}

/* ---- Metadata ------------------------------------------------------------------------------- */

static pgy_form form_of(const pgy_value *v, const op_value *known)
{
    if (v->kind == PGY_VALUE_SPARSE) return PGY_FORM_OTHER;
    if (v->kind == PGY_VALUE_MAP || known->map_key) return PGY_FORM_MAP;
    if (!known->sequence) return PGY_FORM_TENSOR;
    if (!known->optional) return PGY_FORM_SEQUENCE;
    return known->sequence->sequence ? PGY_FORM_OPTIONAL_SEQUENCE : PGY_FORM_OPTIONAL;
}

pgy_tensor_info interface_describe(const pgy_value *v, int64_t *shape, const char **names)
{
    const op_value *known = &((value_box *)v->internal)->known, *tensor = innermost(known);
    pgy_tensor_info info = {.name = v->name,
                            .dtype = tensor->dtype,
                            .rank = v->rank,
                            .shape = shape,
                            .dim_names = names,
                            .form = form_of(v, known)};
    for (int32_t d = 0; d < v->rank; d++) {
        shape[d] = v->dims[d].value;
        names[d] = v->dims[d].text;
    }
    if (info.form == PGY_FORM_TENSOR) return info;
    if (tensor->map_key) info.dtype = tensor->map_value;
    info.rank = tensor->sequence || tensor->map_key ? -1 : tensor->rank;
    for (int32_t d = 0; d < info.rank; d++) {
        shape[d] = dim_is_const(tensor->dims[d]) ? tensor->dims[d].value : -1;
        names[d] = NULL;
    }
    return info;
}

pgy_status interface_describe_all(pgy_metadata *into, pgy_value *const *values, size_t count,
                                  pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        int64_t shape[PGY_MAX_RANK];
        const char *names[PGY_MAX_RANK];
        const pgy_tensor_info info = interface_describe(values[i], shape, names);
        st = pgy_metadata_set(into, &info, err);
    }
    return st;
}

pgy_status interface_describe_tensors(pgy_metadata **out, const pgy_graph *g, pgy_error *err)
{
    pgy_metadata *inputs = NULL;
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i]->kind != PGY_VALUE_TENSOR)
            return pgy_error_set(err, PGY_E_TYPE, "input '%s' of the model is not a tensor",
                                 g->inputs[i]->name);
    pgy_status st = pgy_metadata_create(&inputs, err);
    if (!st) st = interface_describe_all(inputs, g->inputs, g->input_count, err);
    if (st)
        pgy_metadata_destroy(inputs);
    else
        *out = inputs;
    return st;
}

bool interface_port(op_graph_port *out, const void *graph, bool is_output, size_t i)
{
    const pgy_graph *g = graph;
    const graph_level *level = level_of(g);
    if (i >= (is_output ? g->output_count : level->declared_count)) return false;
    const pgy_value *v = is_output ? g->outputs[i] : level->declared[i];
    *out = (op_graph_port){.name = v->name, .declared = box_of((pgy_value *)v)->declared};
    return true;
}
