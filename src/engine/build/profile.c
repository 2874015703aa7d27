/* SPDX-License-Identifier: Apache-2.0 */
/* Binds profiles to the inputs of a model once: names may be wildcards, and the range of an integer
 * input may bound its elements instead of its shape. Feeds are checked against the bound ranges. */
#include "engine/build/profile.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/log.h"

static const char LOG_PATH[] = "engine/build/profile.c";

typedef struct bound_range {
    const pgy_tensor_info *input;
    pgy_bound_kind kind;
    size_t count;
    const int64_t *min, *opt, *max;
} bound_range;

struct profile_set {
    arena memory;
    pgy_metadata *inputs;
    size_t count, input_count;
    bound_range *ranges; /* input_count ranges for each profile, one profile after the other */
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

void profiles_destroy(profile_set *s)
{
    if (!s) return;
    pgy_metadata_destroy(s->inputs);
    arena_deinit(&s->memory);
    mem_free(s);
}

size_t profiles_count(const profile_set *s)
{
    return s->count;
}

/* ---- Text ----------------------------------------------------------------------------------- */

static void put_dims(str *out, const int64_t *dims, size_t count)
{
    str_printf(out, "[");
    for (size_t i = 0; i < count; i++) str_printf(out, "%s%lld", i ? ", " : "", (long long)dims[i]);
    str_printf(out, "]");
}

void profiles_text(str *out, const profile_set *s)
{
    for (size_t p = 0; p < s->count; p++) {
        bool first = true;
        str_printf(out, "%s    Profile %zu:\n        {", p ? ",\n" : "", p);
        for (size_t i = 0; i < s->input_count; i++) {
            const bound_range *r = &s->ranges[p * s->input_count + i];
            if (r->kind == PGY_BOUND_NONE) continue;
            str_printf(out, "%s%s [min=", first ? "" : ",\n         ", r->input->name);
            put_dims(out, r->min, r->count);
            str_printf(out, ", opt=");
            put_dims(out, r->opt, r->count);
            str_printf(out, ", max=");
            put_dims(out, r->max, r->count);
            str_printf(out, "]");
            first = false;
        }
        str_printf(out, "}");
    }
}

static void put_shape(str *out, const int64_t *shape, int32_t rank)
{
    str_printf(out, "(");
    for (int32_t i = 0; i < rank; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_printf(out, rank == 1 ? ",)" : ")");
}

/* ---- Binding -------------------------------------------------------------------------------- */

static const pgy_profile_range *range_for(const pgy_profile *p, const char *name)
{
    for (size_t i = 0; i < p->range_count; i++)
        if (!strcmp(p->ranges[i].name, name)) return &p->ranges[i];
    for (size_t i = 0; i < p->range_count; i++)
        if (str_match_wildcard(p->ranges[i].name, name)) return &p->ranges[i];
    return NULL;
}

/* Copies a range. Open entries (negative) become the model's dimensions, or 1 if those are open,
 * too; generated input data follow the same rule (data/random.c). */
static pgy_status close_range(pgy_profile_range *out, arena *a, const pgy_tensor_info *input,
                              const pgy_profile_range *r, pgy_error *err)
{
    const int64_t *const from[] = {r->min, r->opt, r->max};
    int64_t *dims = arena_alloc_array(a, 3 * r->count + 1, sizeof *dims);
    const bool is_shape = (size_t)input->rank == r->count;
    if (!dims) return no_memory(err);
    for (size_t k = 0; k < 3; k++)
        for (size_t d = 0; d < r->count; d++) {
            const int64_t own = is_shape && input->shape[d] >= 0 ? input->shape[d] : 1;
            dims[k * r->count + d] = from[k][d] < 0 ? own : from[k][d];
        }
    *out = (pgy_profile_range){r->name, r->count, dims, dims + r->count, dims + 2 * r->count};
    return PGY_OK;
}

static pgy_status check_order(const pgy_profile_range *r, const char *input, size_t profile,
                              pgy_error *err)
{
    for (size_t d = 0; d < r->count; d++)
        if (r->min[d] > r->opt[d] || r->opt[d] > r->max[d])
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "profile %zu, input '%s': entry %zu of the shapes is min %lld, "
                                 "opt %lld, max %lld; expected min <= opt <= max",
                                 profile, input, d, (long long)r->min[d], (long long)r->opt[d],
                                 (long long)r->max[d]);
    return PGY_OK;
}

static bool fits_shape(const pgy_tensor_info *input, const pgy_profile_range *r)
{
    if ((size_t)input->rank != r->count) return false;
    for (size_t d = 0; d < r->count; d++)
        if (input->shape[d] >= 0 && (r->min[d] != input->shape[d] || r->opt[d] != input->shape[d] ||
                                     r->max[d] != input->shape[d]))
            return false;
    return true;
}

/* Can the range bound elements: has the input this many integers, as vector or scalar? */
static bool fits_elements(const pgy_tensor_info *input, const pgy_profile_range *r)
{
    if (input->dtype != PGY_I32 && input->dtype != PGY_I64) return false;
    if (input->rank == 0) return r->count == 1;
    return input->rank == 1 && input->shape[0] >= 0 && (size_t)input->shape[0] == r->count;
}

static pgy_status does_not_fit(const pgy_tensor_info *input, const pgy_profile_range *r,
                               size_t profile, pgy_error *err)
{
    str model = {0}, range = {0};
    put_shape(&model, input->shape, input->rank);
    put_dims(&range, r->min, r->count);
    str_printf(&range, " to ");
    put_dims(&range, r->max, r->count);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT,
                      "profile %zu, input '%s': the range %s does not fit the model's shape %s",
                      profile, input->name, str_text(&range), str_text(&model));
    str_deinit(&model);
    str_deinit(&range);
    return st;
}

static pgy_status fill_range(bound_range *out, profile_set *s, bool warn, pgy_error *err)
{
    const pgy_tensor_info *input = out->input;
    int64_t *dims = arena_alloc_array(&s->memory, (size_t)input->rank + 1, sizeof *dims);
    bool dynamic = false;
    if (!dims) return no_memory(err);
    for (int32_t d = 0; d < input->rank; d++) {
        dims[d] = input->shape[d] < 0 ? 1 : input->shape[d];
        dynamic = dynamic || input->shape[d] < 0;
    }
    out->kind = PGY_BOUND_ANY;
    out->count = (size_t)input->rank;
    out->min = out->opt = out->max = dims;
    if (!dynamic || !warn) return PGY_OK;
    str shape = {0};
    put_dims(&shape, dims, out->count);
    LOG_ONCE(WARNING,
             "Input '%s' has dynamic dimensions and no shapes are given for it: the profile uses "
             "%s; set a range by profile.min, profile.opt and profile.max",
             input->name, str_text(&shape));
    str_deinit(&shape);
    return PGY_OK;
}

static pgy_status bind_range(bound_range *out, profile_set *s, const pgy_profile *p, size_t index,
                             pgy_error *err)
{
    const pgy_tensor_info *input = out->input;
    const pgy_profile_range *r = p ? range_for(p, input->name) : NULL;
    if (input->form != PGY_FORM_TENSOR || input->rank < 0) {
        out->kind = PGY_BOUND_NONE;
        return PGY_OK;
    }
    if (!r) return fill_range(out, s, index == 0, err);
    pgy_profile_range closed = {0};
    pgy_status st = close_range(&closed, &s->memory, input, r, err);
    if (st) return st;
    if (!fits_shape(input, &closed) && !fits_elements(input, &closed))
        return does_not_fit(input, &closed, index, err);
    out->kind = fits_shape(input, &closed) ? PGY_BOUND_SHAPE : PGY_BOUND_ELEMENTS;
    out->count = closed.count;
    out->min = closed.min;
    out->opt = closed.opt;
    out->max = closed.max;
    return check_order(&closed, input->name, index, err);
}

/* Reports profile entries whose name matches no input. */
static pgy_status check_names(const pgy_profile *p, const profile_set *s, size_t index,
                              pgy_error *err)
{
    for (size_t i = 0; i < p->range_count; i++) {
        bool found = false;
        for (size_t k = 0; k < s->input_count && !found; k++) {
            const char *name = pgy_metadata_at(s->inputs, k)->name;
            found = !strcmp(p->ranges[i].name, name) || str_match_wildcard(p->ranges[i].name, name);
        }
        if (found) continue;
        str names = {0};
        for (size_t k = 0; k < s->input_count; k++)
            str_printf(&names, "%s'%s'", k ? ", " : "", pgy_metadata_at(s->inputs, k)->name);
        pgy_error_set(err, PGY_E_ARGUMENT,
                      "profile %zu: '%s' is not an input of the model; its inputs are: %s", index,
                      p->ranges[i].name, str_text(&names));
        str_deinit(&names);
        return PGY_E_ARGUMENT;
    }
    return PGY_OK;
}

static pgy_status copy_inputs(profile_set *s, const pgy_metadata *inputs, pgy_error *err)
{
    pgy_status st = pgy_metadata_create(&s->inputs, err);
    s->input_count = pgy_metadata_count(inputs);
    for (size_t i = 0; !st && i < s->input_count; i++)
        st = pgy_metadata_set(s->inputs, pgy_metadata_at(inputs, i), err);
    return st;
}

pgy_status profiles_create(profile_set **out, const pgy_build_config *config,
                           const pgy_metadata *inputs, pgy_error *err)
{
    profile_set *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    const size_t given = config ? config->profile_count : 0;
    s->count = given ? given : 1;
    pgy_status st = copy_inputs(s, inputs, err);
    if (!st) {
        s->ranges = arena_alloc_array(&s->memory, s->count * s->input_count + 1, sizeof *s->ranges);
        if (!s->ranges) st = no_memory(err);
    }
    for (size_t p = 0; !st && p < s->count; p++) {
        const pgy_profile *profile = given ? &config->profiles[p] : NULL;
        if (profile) st = check_names(profile, s, p, err);
        for (size_t i = 0; !st && i < s->input_count; i++) {
            bound_range *r = &s->ranges[p * s->input_count + i];
            *r = (bound_range){.input = pgy_metadata_at(s->inputs, i)};
            st = bind_range(r, s, profile, p, err);
        }
    }
    if (st)
        profiles_destroy(s);
    else
        *out = s;
    return st;
}

/* ---- Out and in again ----------------------------------------------------------------------- */

pgy_bound_kind profiles_range(pgy_profile_range *out, const profile_set *s, size_t index, size_t i)
{
    const bound_range *r = &s->ranges[index * s->input_count + i];
    *out = (pgy_profile_range){
        .name = r->input->name, .count = r->count, .min = r->min, .opt = r->opt, .max = r->max};
    return r->kind;
}

/* Could binding have produced this range for the input? */
static bool is_bound(const pgy_tensor_info *input, const profile_bound *b)
{
    const pgy_profile_range *r = &b->range;
    for (size_t i = 0; i < r->count; i++)
        if (r->min[i] > r->opt[i] || r->opt[i] > r->max[i]) return false;
    switch (b->kind) {
    case PGY_BOUND_NONE: return !r->count;
    case PGY_BOUND_ANY:
    case PGY_BOUND_SHAPE:
        return input->form == PGY_FORM_TENSOR && input->rank >= 0 && fits_shape(input, r);
    case PGY_BOUND_ELEMENTS:
        return input->form == PGY_FORM_TENSOR && input->rank >= 0 && fits_elements(input, r);
    }
    return false;
}

static pgy_status restore(bound_range *out, profile_set *s, const profile_bound *b, pgy_error *err)
{
    const pgy_profile_range *r = &b->range;
    int64_t *dims = arena_alloc_array(&s->memory, 3 * r->count + 1, sizeof *dims);
    if (!dims) return no_memory(err);
    if (!is_bound(out->input, b))
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "a profile's range of shapes does not fit the declared shape of input '%s'",
            out->input->name);
    if (r->count) {
        memcpy(dims, r->min, r->count * sizeof *dims);
        memcpy(dims + r->count, r->opt, r->count * sizeof *dims);
        memcpy(dims + 2 * r->count, r->max, r->count * sizeof *dims);
    }
    out->kind = b->kind;
    out->count = r->count;
    out->min = dims;
    out->opt = dims + r->count;
    out->max = dims + 2 * r->count;
    return PGY_OK;
}

pgy_status profiles_restore(profile_set **out, const profile_bound *bounds, size_t count,
                            const pgy_metadata *inputs, pgy_error *err)
{
    profile_set *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    s->count = count;
    pgy_status st = copy_inputs(s, inputs, err);
    const size_t ranges = count * s->input_count;
    if (!st && !(s->ranges = arena_alloc_array(&s->memory, ranges + 1, sizeof *s->ranges)))
        st = no_memory(err);
    for (size_t i = 0; !st && i < ranges; i++) {
        s->ranges[i].input = pgy_metadata_at(s->inputs, i % s->input_count);
        st = restore(&s->ranges[i], s, &bounds[i], err);
    }
    if (st)
        profiles_destroy(s);
    else
        *out = s;
    return st;
}

/* ---- Use ------------------------------------------------------------------------------------ */

static int64_t entry_of(const bound_range *r, const pgy_tensor *t, size_t i)
{
    if (r->kind == PGY_BOUND_SHAPE) return pgy_tensor_shape(t)[i];
    const void *data = pgy_tensor_data(t);
    return pgy_tensor_dtype(t) == PGY_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

static bool is_inside(const bound_range *r, const pgy_tensor *t)
{
    if (!t || r->kind == PGY_BOUND_NONE || r->kind == PGY_BOUND_ANY) return true;
    if (r->kind == PGY_BOUND_SHAPE && pgy_tensor_rank(t) != r->count) return false;
    if (r->kind == PGY_BOUND_ELEMENTS && pgy_tensor_count(t) != r->count) return false;
    for (size_t i = 0; i < r->count; i++)
        if (entry_of(r, t, i) < r->min[i] || entry_of(r, t, i) > r->max[i]) return false;
    return true;
}

/* The range of the first input that lies outside a profile; NULL: all lie inside. */
static const bound_range *find_outside(const profile_set *s, size_t index,
                                       const pgy_tensor_map *feed)
{
    for (size_t i = 0; i < s->input_count; i++) {
        const bound_range *r = &s->ranges[index * s->input_count + i];
        if (!is_inside(r, pgy_tensor_map_find(feed, r->input->name))) return r;
    }
    return NULL;
}

static void describe_outside(str *out, const bound_range *r, size_t profile,
                             const pgy_tensor_map *feed)
{
    const pgy_tensor *t = pgy_tensor_map_find(feed, r->input->name);
    if (r->kind == PGY_BOUND_SHAPE) {
        str_printf(out, "input '%s' has shape ", r->input->name);
        put_shape(out, pgy_tensor_shape(t), (int32_t)pgy_tensor_rank(t));
    } else {
        str_printf(out, "input '%s' has elements [", r->input->name);
        for (size_t i = 0; i < pgy_tensor_count(t); i++)
            str_printf(out, "%s%lld", i ? ", " : "", (long long)entry_of(r, t, i));
        str_printf(out, "]");
    }
    str_printf(out, ", outside the range of profile %zu: ", profile);
    put_dims(out, r->min, r->count);
    str_printf(out, " to ");
    put_dims(out, r->max, r->count);
}

pgy_status profiles_check(const profile_set *s, size_t index, const pgy_tensor_map *feed,
                          pgy_error *err)
{
    const size_t first = index == PROFILE_ANY ? 0 : index;
    const size_t last = index == PROFILE_ANY ? s->count : index + 1;
    for (size_t p = first; p < last; p++)
        if (!find_outside(s, p, feed)) return PGY_OK;
    str text = {0};
    for (size_t p = first; p < last; p++) {
        str_printf(&text, "%s", p > first ? "; " : "");
        describe_outside(&text, find_outside(s, p, feed), p, feed);
    }
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT, "%s", str_text(&text));
    str_deinit(&text);
    return st;
}

bool profiles_are_given(const profile_set *s, size_t index)
{
    for (size_t i = 0; i < s->input_count; i++) {
        const bound_range *r = &s->ranges[index * s->input_count + i];
        if (r->kind == PGY_BOUND_NONE) return false;
        for (int32_t d = 0; r->kind == PGY_BOUND_ANY && d < r->input->rank; d++)
            if (r->input->shape[d] < 0) return false;
    }
    return true;
}

pgy_status profiles_shapes(pgy_metadata **out, const profile_set *s, size_t index,
                           profile_corner which, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < s->input_count; i++) {
        const bound_range *r = &s->ranges[index * s->input_count + i];
        pgy_tensor_info info = *r->input;
        info.dim_names = NULL;
        info.min_shape = info.max_shape = NULL;
        if (r->kind == PGY_BOUND_SHAPE || r->kind == PGY_BOUND_ANY)
            info.shape = which == PROFILE_LEAST     ? r->min
                         : which == PROFILE_LARGEST ? r->max
                                                    : r->opt;
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}
