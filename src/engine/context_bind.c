/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs by name: shapes and addresses that are set once and used by every run until
 * they change. The program for them is looked for when a shape has changed only. */
#include <string.h>

#include "base/alloc.h"
#include "engine/context_state.h"
#include "engine/shapes.h"

pgy_status context_bind_names(context *c, pgy_error *err)
{
    const pgy_metadata *in = engine_inputs(c->engine), *out = engine_outputs(c->engine);
    c->input_count = pgy_metadata_count(in);
    c->output_count = pgy_metadata_count(out);
    c->bounds = mem_calloc(c->input_count + c->output_count + 1, sizeof *c->bounds);
    if (!c->bounds) return context_no_memory(err);
    for (size_t i = 0; i < c->input_count + c->output_count; i++) {
        bound *b = &c->bounds[i];
        b->declared =
            i < c->input_count ? pgy_metadata_at(in, i) : pgy_metadata_at(out, i - c->input_count);
        b->info = (pgy_tensor_info){.name = b->declared->name,
                                    .dtype = b->declared->dtype,
                                    .rank = b->declared->rank,
                                    .shape = b->shape,
                                    .form = b->declared->form};
        for (int32_t d = 0; d < b->info.rank; d++) b->shape[d] = b->declared->shape[d];
    }
    return PGY_OK;
}

/* NULL: there is none. */
static bound *find(const context *c, const char *name, bool output)
{
    const size_t from = output ? c->input_count : 0;
    const size_t to = output ? c->input_count + c->output_count : c->input_count;
    for (size_t i = from; name && i < to; i++)
        if (strcmp(c->bounds[i].info.name, name) == 0) return &c->bounds[i];
    return NULL;
}

static pgy_status need(bound **out, const context *c, const char *name, bool output, pgy_error *err)
{
    str names = {0};
    *out = find(c, name, output);
    if (*out) return PGY_OK;
    const size_t from = output ? c->input_count : 0;
    const size_t count = output ? c->output_count : c->input_count;
    for (size_t i = 0; i < count; i++)
        str_printf(&names, "%s'%s'", i ? ", " : "", c->bounds[from + i].info.name);
    pgy_error_set(err, PGY_E_NOT_FOUND, "'%s' is no %s of the engine; there are: %s",
                  name ? name : "", output ? "output" : "input", str_text(&names));
    str_deinit(&names);
    return PGY_E_NOT_FOUND;
}

static bool is_known(const pgy_tensor_info *info)
{
    for (int32_t d = 0; d < info->rank; d++)
        if (info->shape[d] < 0) return false;
    return info->rank >= 0;
}

/* Bytes of a tensor whose shape is known. */
static pgy_status size_of(size_t *out, const pgy_tensor_info *info, pgy_error *err)
{
    size_t count = 0;
    pgy_status st = pgy_shape_count(&count, (size_t)info->rank, info->shape, err);
    if (!st) st = pgy_dtype_size_bytes(out, info->dtype, count, err);
    return st ? pgy_error_prefix(err, st, "'%s': ", info->name) : PGY_OK;
}

static void put_shape(str *out, size_t rank, const int64_t *shape)
{
    str_printf(out, "[");
    for (size_t i = 0; i < rank; i++) str_printf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_printf(out, "]");
}

static bool is_aligned(const void *data, pgy_dtype dtype)
{
    const size_t bytes = pgy_dtype_describe(dtype)->bits / 8;
    return bytes <= 1 || (uintptr_t)data % (bytes > 8 ? 8 : bytes) == 0;
}

static pgy_status check_address(const bound *b, const char *what, size_t wanted, pgy_error *err)
{
    if (!b->data && wanted)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' has no address", what, b->info.name);
    if (b->size_bytes < wanted)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' needs %zu bytes and has %zu", what,
                             b->info.name, wanted, b->size_bytes);
    if (!is_aligned(b->data, b->info.dtype))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' lies at an address that %s cannot have",
                             what, b->info.name, pgy_dtype_name(b->info.dtype));
    return PGY_OK;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

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

/* In the profile, or in any of them; whether all inputs fit the same one is seen when all are
 * there.
 */
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
    pgy_status st = need(&b, c, name, false, err);
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

static bool is_shape_input(const context *c, size_t i)
{
    const profile_set *profiles = engine_profiles(c->engine);
    pgy_profile_range r;
    return profiles && profiles_range(&r, profiles, c->profile == PROFILE_ANY ? 0 : c->profile,
                                      i) == PGY_BOUND_ELEMENTS;
}

static bool is_missing(const context *c, size_t i)
{
    return !is_known(&c->bounds[i].info) || (is_shape_input(c, i) && !c->bounds[i].data);
}

/* Types and shapes of all inputs, as programs are found by. */
static pgy_status all_shapes(pgy_metadata **out, const context *c, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < c->input_count; i++) {
        const pgy_tensor_info *b = &c->bounds[i].info;
        const pgy_tensor_info info = {
            .name = b->name, .dtype = b->dtype, .rank = b->rank, .shape = b->shape};
        st = is_known(b) ? pgy_metadata_set(m, &info, err)
                         : pgy_error_set(err, PGY_E_SHAPE,
                                         "input '%s' has no shape: the model does not fix it, and "
                                         "none was set",
                                         b->name);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static void keep_output(bound *b, pgy_dtype dtype, int32_t rank, const int64_t *shape)
{
    b->info.dtype = dtype;
    b->info.rank = rank;
    for (int32_t d = 0; d < rank; d++) b->shape[d] = shape[d];
}

/* Of inputs whose elements are shapes. */
static pgy_status shape_values(pgy_tensor_map **out, const context *c, pgy_error *err)
{
    pgy_tensor_map *values = NULL;
    pgy_status st = pgy_tensor_map_create(&values, err);
    for (size_t i = 0; !st && i < c->input_count; i++) {
        const bound *b = &c->bounds[i];
        size_t wanted = 0;
        pgy_tensor *t = NULL;
        if (!is_shape_input(c, i)) continue;
        st = size_of(&wanted, &b->info, err);
        if (!st) st = check_address(b, "input", wanted, err);
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
    pgy_status st = all_shapes(&shapes, c, err);
    if (!st) st = shape_values(&values, c, err);
    if (!st) st = engine_infer_outputs(&found, c->engine, shapes, values, err);
    for (size_t i = 0; !st && i < c->output_count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(found, i);
        keep_output(&c->bounds[c->input_count + i], info->dtype, info->rank, info->shape);
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

const pgy_tensor_info *pgy_context_tensor(const pgy_context *c, const char *name)
{
    const bound *b = find(c, name, false);
    if (!b) b = find(c, name, true);
    return b ? &b->info : NULL;
}

pgy_status pgy_context_output_bytes(size_t *out, const pgy_context *c, const char *name,
                                    pgy_error *err)
{
    bound *b = NULL;
    const pgy_status st = need(&b, c, name, true, err);
    if (st) return st;
    if (!is_known(&b->info) || !b->info.dtype)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the size of output '%s' is not known: shapes are missing, or it "
                             "depends on data",
                             name);
    return size_of(out, &b->info, err);
}

/* ---- Addresses ------------------------------------------------------------------------------ */

static pgy_status set_address(context *c, const char *name, bool output, void *data,
                              size_t size_bytes, pgy_error *err)
{
    bound *b = NULL;
    const pgy_status st = need(&b, c, name, output, err);
    if (st) return context_tell(c, st, err);
    b->data = data;
    b->size_bytes = size_bytes;
    b->has_allocator = false;
    return PGY_OK;
}

pgy_status pgy_context_set_input(pgy_context *c, const char *name, const void *data,
                                 size_t size_bytes, pgy_error *err)
{
    pgy_error own;
    return set_address(c, name, false, (void *)data, size_bytes, err ? err : &own);
}

pgy_status pgy_context_set_output(pgy_context *c, const char *name, void *data, size_t size_bytes,
                                  pgy_error *err)
{
    pgy_error own;
    return set_address(c, name, true, data, size_bytes, err ? err : &own);
}

pgy_status pgy_context_set_output_allocator(pgy_context *c, const char *name,
                                            const pgy_output_allocator *allocator, pgy_error *err)
{
    bound *b = NULL;
    const pgy_status st = need(&b, c, name, true, err);
    if (st) return st;
    b->has_allocator = allocator != NULL;
    if (allocator) b->allocator = *allocator;
    b->data = NULL;
    b->size_bytes = 0;
    return PGY_OK;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Inputs as tensors over the caller's memory. */
static pgy_status wrap_inputs(pgy_tensor_map **out, const context *c, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t i = 0; !st && i < c->input_count; i++) {
        static char empty[64];
        const bound *b = &c->bounds[i];
        pgy_tensor *t = NULL;
        st = pgy_tensor_wrap(&t, b->data ? b->data : empty, b->info.dtype, (size_t)b->info.rank,
                             b->shape, NULL, NULL, err);
        if (!st) st = pgy_tensor_map_adopt(feed, b->info.name, t, err);
    }
    if (st)
        pgy_tensor_map_destroy(feed);
    else
        *out = feed;
    return st;
}

static pgy_status check_profile(const context *c, pgy_error *err)
{
    const profile_set *profiles = engine_profiles(c->engine);
    pgy_tensor_map *feed = NULL;
    if (!profiles) return PGY_OK;
    pgy_status st = wrap_inputs(&feed, c, err);
    if (!st) st = profiles_check(profiles, c->profile, feed, err);
    pgy_tensor_map_destroy(feed);
    return st;
}

static pgy_status find_current(context *c, pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    context_follow(c);
    if (c->current) return PGY_OK;
    pgy_status st = all_shapes(&shapes, c, err);
    return st ? st : context_prepare(&c->current, c, shapes, err);
}

static pgy_status check_inputs(const context *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->input_count; i++) {
        const bound *b = &c->bounds[i];
        size_t wanted = 0;
        if (b->info.form != PGY_FORM_TENSOR || b->info.dtype == PGY_STRING || !b->info.dtype)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "input '%s' is no tensor of numbers: pgy_context_run takes it",
                                 b->info.name);
        if (!is_known(&b->info))
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "input '%s' has no shape: the model does not fix it, and none was "
                                 "set",
                                 b->info.name);
        st = size_of(&wanted, &b->info, err);
        if (!st) st = check_address(b, "input", wanted, err);
    }
    return st;
}

/* Room for an output whose shape is known. */
static pgy_status find_room(void **out, bound *b, pgy_error *err)
{
    static char empty[64];
    size_t wanted = 0;
    pgy_status st = size_of(&wanted, &b->info, err);
    if (!st && b->has_allocator) {
        b->data = b->allocator.allocate(b->allocator.user, b->info.name, wanted);
        b->size_bytes = b->data ? wanted : 0;
        if (!b->data && wanted)
            return pgy_error_set(err, PGY_E_MEMORY,
                                 "the allocator of output '%s' has no room for %zu bytes",
                                 b->info.name, wanted);
    }
    if (!st) st = check_address(b, "output", wanted, err);
    if (!st) *out = b->data ? b->data : empty;
    return st;
}

static void tell_filled(const bound *b)
{
    if (b->has_allocator && b->allocator.filled)
        b->allocator.filled(b->allocator.user, b->info.name,
                            pgy_view_of(b->data, b->info.dtype, (size_t)b->info.rank, b->shape));
}

static pgy_status execute_program(context *c, const program *p, pgy_error *err)
{
    enum { FEW = 16 };
    const void *few_inputs[FEW], **inputs = few_inputs;
    void *few_outputs[FEW], **outputs = few_outputs;
    arena memory = {0};
    int64_t unused;
    pgy_status st = PGY_OK;
    if (c->input_count > FEW) inputs = arena_alloc_array(&memory, c->input_count, sizeof *inputs);
    if (c->output_count > FEW)
        outputs = arena_alloc_array(&memory, c->output_count, sizeof *outputs);
    if (!inputs || !outputs) st = context_no_memory(err);
    for (size_t i = 0; !st && i < c->input_count; i++)
        inputs[i] = c->bounds[i].data ? c->bounds[i].data : (const void *)c;
    for (size_t i = 0; !st && i < c->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        keep_output(&c->bounds[c->input_count + i], t->dtype, t->rank, t->shape);
        st = find_room(&outputs[i], &c->bounds[c->input_count + i], err);
    }
    if (!st) st = context_run_program(c, c->current, inputs, outputs, &unused, err);
    for (size_t i = 0; !st && i < c->output_count; i++) tell_filled(&c->bounds[c->input_count + i]);
    arena_deinit(&memory);
    return st;
}

static pgy_status take_output(bound *b, const pgy_tensor_map *made, pgy_error *err)
{
    const pgy_tensor *t = pgy_tensor_map_find(made, b->info.name);
    void *room = NULL;
    if (!t || pgy_tensor_dtype(t) == PGY_STRING)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "output '%s' is no tensor of numbers: pgy_context_run gives it",
                             b->info.name);
    keep_output(b, pgy_tensor_dtype(t), (int32_t)pgy_tensor_rank(t), pgy_tensor_shape(t));
    const pgy_status st = find_room(&room, b, err);
    if (st) return st;
    if (pgy_tensor_size_bytes(t)) memcpy(room, pgy_tensor_data(t), pgy_tensor_size_bytes(t));
    tell_filled(b);
    return PGY_OK;
}

static pgy_status execute_nodes(context *c, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *made = NULL;
    int64_t unused;
    pgy_status st = wrap_inputs(&feed, c, err);
    if (!st) st = pgy_tensor_map_create(&made, err);
    if (!st) st = context_interpret(c, feed, made, &unused, err);
    for (size_t i = 0; !st && i < c->output_count; i++)
        st = take_output(&c->bounds[c->input_count + i], made, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(made);
    return st;
}

static bool has_shape_inputs(const context *c)
{
    for (size_t i = 0; i < c->input_count; i++)
        if (is_shape_input(c, i)) return true;
    return false;
}

static pgy_status execute(context *c, pgy_error *err)
{
    pgy_status st = check_inputs(c, err);
    if (!st && (!c->current || has_shape_inputs(c))) st = check_profile(c, err);
    if (!st) st = find_current(c, err);
    if (st) return st;
    const program *p = c->current->program;
    return p ? execute_program(c, p, err) : execute_nodes(c, err);
}

pgy_status pgy_context_execute(pgy_context *c, pgy_error *err)
{
    pgy_error own;
    if (!err) err = &own;
    return context_tell(c, execute(c, err), err);
}

pgy_status pgy_context_memory_bytes(uint64_t *out, pgy_context *c, pgy_error *err)
{
    pgy_error own;
    if (!err) err = &own;
    const pgy_status st = find_current(c, err);
    const program *p = st ? NULL : c->current->program;
    if (!st) *out = p ? program_memory_bytes(p, team_size(team_within(c->team))) : 0;
    return context_tell(c, st, err);
}
