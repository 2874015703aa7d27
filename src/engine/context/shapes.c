/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of inputs, which must fit the model and lie in the profile, and the output shapes that
 * follow. */
#include <string.h>

#include "engine/context/state.h"

static void put_shape(str *out, size_t rank, const int64_t *shape)
{
    str_printf(out, "[");
    for (size_t i = 0; i < rank; i++) str_printf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_printf(out, "]");
}

static pgy_status refuse_shape(const bound *b, size_t rank, const int64_t *shape, pgy_error *err)
{
    str text = {0};
    str_printf(&text, "input '%s': shape ", b->info.name);
    put_shape(&text, rank, shape);
    str_printf(&text, " does not fit the model's ");
    put_shape(&text, (size_t)b->declared->rank, b->declared->shape);
    pgy_error_set(err, PGY_E_SHAPE, "%s", str_text(&text));
    str_deinit(&text);
    return PGY_E_SHAPE;
}

static pgy_status check_shape(const bound *b, size_t rank, const int64_t *shape, pgy_error *err)
{
    const pgy_tensor_info *d = b->declared;
    size_t count = 0;
    const pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (st) return pgy_error_prefix(err, st, "input '%s': ", b->info.name);
    if (d->rank >= 0 && (size_t)d->rank != rank) return refuse_shape(b, rank, shape, err);
    for (int32_t i = 0; i < d->rank; i++)
        if (d->shape[i] >= 0 && d->shape[i] != shape[i]) return refuse_shape(b, rank, shape, err);
    return PGY_OK;
}

static bool is_inside(const pgy_profile_range *r, size_t rank, const int64_t *shape)
{
    if (r->count != rank) return false;
    for (size_t i = 0; i < rank; i++)
        if (shape[i] < r->min[i] || shape[i] > r->max[i]) return false;
    return true;
}

/* Checks the shape against the selected profile, or against any. Whether all inputs fit the same
 * profile is checked once all shapes are set. */
static pgy_status check_range(const context *c, const bound *b, size_t rank, const int64_t *shape,
                              pgy_error *err)
{
    const profile_set *profiles = engine_profiles(c->engine);
    const size_t count = profiles ? profiles_count(profiles) : 0;
    const size_t first = c->profile == PROFILE_ANY ? 0 : c->profile;
    const size_t last = c->profile == PROFILE_ANY ? count : c->profile + 1;
    str text = {0};
    bool inside = count == 0;
    for (size_t p = first; !inside && p < last && p < count; p++) {
        pgy_profile_range r = {0};
        inside = profiles_range(&r, profiles, p, (size_t)(b - c->bounds)) != PGY_BOUND_SHAPE ||
                 is_inside(&r, rank, shape);
        if (inside) break;
        str_printf(&text, "%sinput '%s' has shape ", p > first ? "; " : "", b->info.name);
        put_shape(&text, rank, shape);
        str_printf(&text, ", outside the range of profile %zu: ", p);
        put_shape(&text, r.count, r.min);
        str_printf(&text, " to ");
        put_shape(&text, r.count, r.max);
    }
    if (!inside) pgy_error_set(err, PGY_E_SHAPE, "%s", str_text(&text));
    str_deinit(&text);
    return inside ? PGY_OK : PGY_E_SHAPE;
}

static pgy_status set_shape(context *c, const char *name, size_t rank, const int64_t *shape,
                            pgy_error *err)
{
    bound *b = NULL;
    pgy_status st = bound_need(&b, c, name, false, err);
    if (!st && rank > PGY_MAX_RANK)
        st = pgy_error_set(err, PGY_E_SHAPE, "input '%s': rank %zu is more than %d", name, rank,
                           PGY_MAX_RANK);
    if (!st) st = check_shape(b, rank, shape, err);
    if (!st) st = check_range(c, b, rank, shape, err);
    if (st) return st;
    if (b->info.rank == (int32_t)rank && (!rank || !memcmp(b->shape, shape, rank * sizeof *shape)))
        return PGY_OK;
    b->info.rank = (int32_t)rank;
    if (rank) memcpy(b->shape, shape, rank * sizeof *shape);
    c->current = NULL;
    return PGY_OK;
}

pgy_status pgy_context_set_input_shape(pgy_context *c, const char *name, size_t rank,
                                       const int64_t *shape, pgy_error *err)
{
    pgy_error own;
    if (!err) err = &own;
    return context_tell(c, set_shape(c, name, rank, shape, err), err);
}

bool context_is_shape_input(const context *c, size_t i)
{
    const profile_set *profiles = engine_profiles(c->engine);
    pgy_profile_range r;
    return profiles && profiles_range(&r, profiles, c->profile == PROFILE_ANY ? 0 : c->profile,
                                      i) == PGY_BOUND_ELEMENTS;
}

static bool is_missing(const context *c, size_t i)
{
    return !bound_is_known(&c->bounds[i].info) ||
           (context_is_shape_input(c, i) && !c->bounds[i].data);
}

pgy_status context_all_shapes(pgy_metadata **out, const context *c, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < c->input_count; i++) {
        const pgy_tensor_info *b = &c->bounds[i].info;
        const pgy_tensor_info info = {
            .name = b->name, .dtype = b->dtype, .rank = b->rank, .shape = b->shape};
        st = bound_is_known(b)
                 ? pgy_metadata_set(m, &info, err)
                 : pgy_error_set(err, PGY_E_SHAPE,
                                 "input '%s' has no shape: the model does not declare it; set one",
                                 b->name);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* Collects the elements of the inputs that hold shapes. */
static pgy_status shape_values(pgy_tensor_map **out, const context *c, pgy_error *err)
{
    pgy_tensor_map *values = NULL;
    pgy_status st = pgy_tensor_map_create(&values, err);
    for (size_t i = 0; !st && i < c->input_count; i++) {
        const bound *b = &c->bounds[i];
        size_t wanted = 0;
        pgy_tensor *t = NULL;
        if (!context_is_shape_input(c, i)) continue;
        st = bound_size(&wanted, &b->info, err);
        if (!st) st = bound_check(b, "input", wanted, err);
        if (!st)
            st = pgy_tensor_copy(
                &t, pgy_view_of(b->data, b->info.dtype, (size_t)b->info.rank, b->shape), err);
        if (!st) st = pgy_tensor_map_adopt(values, b->info.name, t, err);
    }
    if (st)
        pgy_tensor_map_destroy(values);
    else
        *out = values;
    return st;
}

static pgy_status infer_outputs(context *c, pgy_error *err)
{
    pgy_metadata *shapes = NULL, *found = NULL;
    pgy_tensor_map *values = NULL;
    pgy_status st = context_all_shapes(&shapes, c, err);
    if (!st) st = shape_values(&values, c, err);
    if (!st) st = engine_infer_outputs(&found, c->engine, shapes, values, err);
    for (size_t i = 0; !st && i < c->output_count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(found, i);
        bound_keep(&c->bounds[c->input_count + i], info->dtype, info->rank, info->shape);
    }
    pgy_tensor_map_destroy(values);
    pgy_metadata_destroy(shapes);
    pgy_metadata_destroy(found);
    return st;
}

pgy_status pgy_context_infer_shapes(pgy_context *c, const char **missing, size_t capacity,
                                    size_t *missing_count, pgy_error *err)
{
    pgy_error own;
    size_t count = 0;
    if (!err) err = &own;
    for (size_t i = 0; i < c->input_count; i++) {
        if (!is_missing(c, i)) continue;
        if (missing && count < capacity) missing[count] = c->bounds[i].info.name;
        count++;
    }
    if (missing_count) *missing_count = count;
    return count ? PGY_OK : context_tell(c, infer_outputs(c, err), err);
}
