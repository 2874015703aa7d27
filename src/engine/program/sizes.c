/* SPDX-License-Identifier: Apache-2.0 */
/* Relations between the sizes of inputs are found in samples of shapes, not in names: exporters
 * name the axes of a mask and of a cache differently although one is the other plus the new tokens.
 * Each use of a range checks the relations, so a wrong guess costs a build, but no result. */
#include "engine/program/sizes.h"

#include <stdio.h>
#include <string.h>

/* ---- Relations ------------------------------------------------------------------------------ */

/* The samples as vectors: number `axis` counts through all axes of all inputs. */
typedef struct learning {
    sizes *s;
    pgy_graph *graph;
    const pgy_metadata *const *samples;
    size_t count;
} learning;

static int64_t sample(const learning *l, size_t i, size_axis a)
{
    return pgy_metadata_at(l->samples[i], a.input)->shape[a.axis];
}

static bool varies(const learning *l, size_axis a)
{
    for (size_t i = 1; i < l->count; i++)
        if (sample(l, i, a) != sample(l, 0, a)) return true;
    return false;
}

/* Is axis a equal to x + factor * y + a constant, in all samples? A combination of two symbols is
 * believed without a constant only, unless there are enough samples. */
static bool follows(int64_t *constant, const learning *l, size_axis a, const size_axis *x,
                    int64_t factor, const size_axis *y)
{
    for (size_t i = 0; i < l->count; i++) {
        const int64_t sum = sample(l, i, *x) + (y ? factor * sample(l, i, *y) : 0);
        const int64_t rest = sample(l, i, a) - sum;
        if (i && rest != *constant) return false;
        *constant = rest;
    }
    return !y || *constant == 0 || l->count > 3;
}

static dim symbol_dim(const learning *l, size_t i)
{
    const size_axis at = l->s->symbols[i];
    return l->s->inputs[at.input].dims[at.axis];
}

/* Expresses an axis by the symbols so far. */
static bool express(dim *out, const learning *l, size_axis a)
{
    const sizes *s = l->s;
    dim_table *t = &state_of(l->graph)->dims;
    int64_t constant = 0;
    for (size_t i = 0; i < s->symbol_count; i++) {
        if (!follows(&constant, l, a, &s->symbols[i], 0, NULL)) continue;
        *out = dim_add(t, symbol_dim(l, i), dim_const(constant));
        return true;
    }
    for (size_t i = 0; i < s->symbol_count; i++)
        for (size_t k = 0; k < s->symbol_count; k++) {
            for (int64_t factor = 1; i != k && factor >= -1; factor -= 2) {
                if (!follows(&constant, l, a, &s->symbols[i], factor, &s->symbols[k])) continue;
                const dim second = dim_mul(t, dim_const(factor), symbol_dim(l, k));
                *out = dim_add(t, dim_add(t, symbol_dim(l, i), second), dim_const(constant));
                return true;
            }
        }
    return false;
}

static pgy_status add_symbol(dim *out, const learning *l, size_axis a, pgy_error *err)
{
    sizes *s = l->s;
    const int64_t value = sample(l, 0, a);
    char name[32];
    if (s->symbol_count == SIZES_SYMBOLS)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "more than %d sizes vary independently",
                             SIZES_SYMBOLS);
    if (value < SIZES_LEAST || value > INT64_MAX / SIZES_SPREAD)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "axis %u of input '%s' has size %lld", a.axis,
                             l->graph->inputs[a.input]->name, (long long)value);
    /* No symbol of the model: a shape that a node declares with one may be wrong. */
    snprintf(name, sizeof name, "axis %u of input %u", a.axis, a.input);
    *out = dim_symbol(&state_of(l->graph)->dims, name);
    const int64_t least = value / SIZES_SPREAD;
    s->least[s->symbol_count] = least < SIZES_LEAST ? SIZES_LEAST : least;
    s->most[s->symbol_count] = value * SIZES_SPREAD;
    s->bound[s->symbol_count] = (dim_bound){dim_symbol_of(*out), value};
    s->symbols[s->symbol_count++] = a;
    return PGY_OK;
}

static pgy_status relate(const learning *l, pgy_error *err)
{
    sizes *s = l->s;
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; !st && i < s->input_count; i++) {
        dim *dims = (dim *)s->inputs[i].dims;
        for (uint32_t d = 0; !st && d < (uint32_t)s->inputs[i].rank; d++) {
            const size_axis a = {i, d};
            if (!varies(l, a))
                dims[d] = dim_const(sample(l, 0, a));
            else if (!express(&dims[d], l, a))
                st = add_symbol(&dims[d], l, a, err);
        }
    }
    return st;
}

/* ---- All sizes ------------------------------------------------------------------------------ */

bool sizes_value(int64_t *out, const sizes *s, dim d)
{
    return dim_value(out, d, s->bound, s->symbol_count);
}

bool sizes_place(uint32_t *out, sizes *s, dim d)
{
    int64_t value;
    size_t i = 0;
    while (i < s->count && !dim_equal(s->items[i], d)) i++;
    if (i == s->count) {
        if (s->count == SIZES_MOST || !sizes_value(&value, s, d)) return false;
        s->varying[s->count] = !dim_is_const(d);
        s->items[s->count++] = d;
    }
    *out = (uint32_t)i;
    return true;
}

static pgy_status place_inputs(sizes *s, pgy_error *err)
{
    size_t axes = 0;
    for (size_t i = 0; i < s->input_count; i++) axes += (size_t)s->inputs[i].rank;
    s->forms = arena_alloc_array(&s->memory, s->input_count, sizeof *s->forms);
    s->input_axes = arena_alloc_array(&s->memory, axes, sizeof *s->input_axes);
    s->items = arena_alloc_array(&s->memory, SIZES_MOST, sizeof *s->items);
    s->varying = arena_alloc_array(&s->memory, SIZES_MOST, sizeof *s->varying);
    if (!s->forms || !s->input_axes || !s->items || !s->varying) return graph_no_memory(err);
    uint32_t *axis = s->input_axes;
    for (size_t i = 0; i < s->input_count; i++) {
        s->forms[i] = (size_form){s->inputs[i].dtype, s->inputs[i].rank};
        for (int32_t d = 0; d < s->inputs[i].rank; d++)
            if (!sizes_place(axis++, s, s->inputs[i].dims[d]))
                return pgy_error_set(err, PGY_E_UNSUPPORTED, "the inputs have too many sizes");
    }
    return PGY_OK;
}

static pgy_status copy_inputs(const learning *l, pgy_error *err)
{
    sizes *s = l->s;
    arena *memory = &state_of(l->graph)->memory; /* inference keeps the dims */
    s->input_count = pgy_metadata_count(l->samples[0]);
    s->inputs = arena_alloc_array(&s->memory, s->input_count, sizeof *s->inputs);
    if (!s->inputs) return graph_no_memory(err);
    for (size_t i = 0; i < s->input_count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(l->samples[0], i);
        s->inputs[i] = (op_value){.dtype = info->dtype, .rank = info->rank};
        s->inputs[i].dims = arena_alloc_array(memory, (size_t)info->rank, sizeof(dim));
        if (!s->inputs[i].dims) return graph_no_memory(err);
    }
    return PGY_OK;
}

pgy_status sizes_learn(sizes *out, pgy_graph *g, const pgy_metadata *const *samples, size_t count,
                       pgy_error *err)
{
    const learning l = {out, g, samples, count};
    *out = (sizes){0};
    if (g->input_count != pgy_metadata_count(samples[0]))
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "the graph has other inputs");
    pgy_status st = copy_inputs(&l, err);
    if (!st) st = relate(&l, err);
    return st ? st : place_inputs(out, err);
}

void sizes_deinit(sizes *s)
{
    arena_deinit(&s->memory);
}

/* ---- Use ------------------------------------------------------------------------------------ */

void sizes_limit(sizes *s, const pgy_metadata *least, const pgy_metadata *largest)
{
    for (size_t i = 0; i < s->symbol_count; i++) {
        const size_axis a = s->symbols[i];
        const int64_t from = pgy_metadata_at(least, a.input)->shape[a.axis];
        s->least[i] = from < SIZES_LEAST ? SIZES_LEAST : from;
        s->most[i] = pgy_metadata_at(largest, a.input)->shape[a.axis];
    }
}

bool sizes_cover(const sizes *s, const pgy_metadata *shapes)
{
    const uint32_t *axis = s->input_axes;
    for (size_t i = 0; i < s->input_count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(shapes, i);
        const size_form form = s->forms[i];
        if (info->dtype != form.dtype || info->rank != form.rank) return false;
        for (int32_t d = 0; d < form.rank; d++, axis++)
            if (!s->varying[*axis] && s->items[*axis].value != info->shape[d]) return false;
    }
    for (size_t i = 0; i < s->symbol_count; i++) {
        const size_axis a = s->symbols[i];
        const int64_t value = pgy_metadata_at(shapes, a.input)->shape[a.axis];
        if (value < s->least[i] || value > s->most[i]) return false;
    }
    return true;
}

bool sizes_value_now(int64_t *out, const sizes *s, dim d)
{
    return dim_value(out, d, s->now, s->symbol_count);
}

static bool evaluate_items(int64_t *values, const sizes *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!sizes_value_now(&values[i], s, s->items[i])) return false;
    return true;
}

bool sizes_evaluate_at(int64_t *values, sizes *s, const int64_t *independent)
{
    for (size_t i = 0; i < s->symbol_count; i++) {
        if (independent[i] < s->least[i] || independent[i] > s->most[i]) return false;
        s->now[i] = (dim_bound){s->bound[i].symbol, independent[i]};
    }
    return evaluate_items(values, s);
}

bool sizes_evaluate(int64_t *values, sizes *s, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < s->symbol_count; i++) {
        const size_axis a = s->symbols[i];
        s->now[i] =
            (dim_bound){s->bound[i].symbol, pgy_metadata_at(shapes, a.input)->shape[a.axis]};
    }
    if (!evaluate_items(values, s)) return false;
    const uint32_t *axis = s->input_axes;
    for (size_t i = 0; i < s->input_count; i++) {
        const int64_t *shape = pgy_metadata_at(shapes, i)->shape;
        for (int32_t d = 0; d < s->forms[i].rank; d++)
            if (values[*axis++] != shape[d]) return false;
    }
    return true;
}
