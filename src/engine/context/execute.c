/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on shapes and addresses that the caller set by name. A program is looked up only when a
 * shape has changed. */
#include <string.h>

#include "base/alloc.h"
#include "engine/context/state.h"

/* Wraps the inputs as tensors over the caller's memory. */
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
    pgy_status st = context_all_shapes(&shapes, c, err);
    return st ? st : context_prepare(&c->current, c, shapes, err);
}

static pgy_status check_inputs(const context *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->input_count; i++) {
        const bound *b = &c->bounds[i];
        size_t wanted = 0;
        if (b->info.form != PGY_FORM_TENSOR || b->info.dtype == PGY_STRING || !b->info.dtype)
            return pgy_error_set(
                err, PGY_E_UNSUPPORTED,
                "input '%s' is not a numeric tensor; use pgy_context_run, which takes any value",
                b->info.name);
        if (!bound_is_known(&b->info))
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "input '%s' has no shape: the model does not declare it; set one",
                                 b->info.name);
        st = bound_size(&wanted, &b->info, err);
        if (!st) st = bound_check(b, "input", wanted, err);
    }
    return st;
}

/* Finds memory for an output of known shape. */
static pgy_status find_room(void **out, bound *b, pgy_error *err)
{
    static char empty[64];
    size_t wanted = 0;
    pgy_status st = bound_size(&wanted, &b->info, err);
    if (!st && b->has_allocator) {
        b->data = b->allocator.allocate(b->allocator.user, b->info.name, wanted);
        b->size_bytes = b->data ? wanted : 0;
        if (!b->data && wanted)
            return pgy_error_set(err, PGY_E_MEMORY,
                                 "the allocator of output '%s' did not provide %zu bytes",
                                 b->info.name, wanted);
    }
    if (!st) st = bound_check(b, "output", wanted, err);
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
    pgy_status st = PGY_OK;
    if (c->input_count > FEW) inputs = arena_alloc_array(&memory, c->input_count, sizeof *inputs);
    if (c->output_count > FEW)
        outputs = arena_alloc_array(&memory, c->output_count, sizeof *outputs);
    if (!inputs || !outputs) st = context_no_memory(err);
    for (size_t i = 0; !st && i < c->input_count; i++)
        inputs[i] = c->bounds[i].data ? c->bounds[i].data : (const void *)c;
    for (size_t i = 0; !st && i < c->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        bound_keep(&c->bounds[c->input_count + i], t->dtype, t->rank, t->shape);
        st = find_room(&outputs[i], &c->bounds[c->input_count + i], err);
    }
    if (!st) st = context_keep_bound(c, c->current, err);
    if (!st) st = program_context_check_overlap(c->current->run, inputs, outputs, err);
    if (!st) st = context_run_program(c, c->current, inputs, outputs, err);
    for (size_t i = 0; !st && i < c->output_count; i++) tell_filled(&c->bounds[c->input_count + i]);
    arena_deinit(&memory);
    return st;
}

static bool overlaps(const bound *b, const bound *other, size_t size_bytes)
{
    const char *x = b->data, *y = other->data;
    return size_bytes && y && x < y + other->size_bytes && y < x + size_bytes;
}

/* Gives memory for an output while the graph is interpreted, unless the memory is that of an input,
 * which nodes may still read. */
static void *give_room(void *user, const char *name, pgy_dtype dtype, size_t rank,
                       const int64_t *shape)
{
    const context *c = user;
    bound *b = bound_find(c, name, true);
    void *room = NULL;
    pgy_error unused;
    if (!b || dtype == PGY_STRING) return NULL;
    bound_keep(b, dtype, (int32_t)rank, shape);
    if (find_room(&room, b, &unused)) return NULL; /* take_output finds the error again */
    b->given = room;
    size_t wanted = 0;
    if (bound_size(&wanted, &b->info, &unused)) return NULL;
    for (size_t i = 0; i < c->input_count; i++)
        if (overlaps(b, &c->bounds[i], wanted)) return NULL;
    return room;
}

static pgy_status take_output(bound *b, const pgy_tensor_map *made, pgy_error *err)
{
    const pgy_tensor *t = pgy_tensor_map_find(made, b->info.name);
    void *room = b->given;
    if (!t || pgy_tensor_dtype(t) == PGY_STRING)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "output '%s' is not a numeric tensor; use pgy_context_run, which returns any value",
            b->info.name);
    bound_keep(b, pgy_tensor_dtype(t), (int32_t)pgy_tensor_rank(t), pgy_tensor_shape(t));
    const pgy_status st = room ? PGY_OK : find_room(&room, b, err);
    if (st) return st;
    if (pgy_tensor_size_bytes(t) && room != pgy_tensor_data(t))
        memmove(room, pgy_tensor_data(t), pgy_tensor_size_bytes(t));
    tell_filled(b);
    return PGY_OK;
}

static pgy_status refuse_caches(const context *c, pgy_error *err)
{
    for (size_t i = 0; i < c->output_count; i++)
        if (c->bounds[c->input_count + i].cache)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "output '%s' cannot be a cache in place: the engine has no "
                                 "program for these shapes",
                                 c->bounds[c->input_count + i].info.name);
    return PGY_OK;
}

static pgy_status execute_nodes(context *c, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *made = NULL;
    const flow_rooms rooms = {.user = c, .find = give_room};
    for (size_t i = 0; i < c->output_count; i++) c->bounds[c->input_count + i].given = NULL;
    pgy_status st = refuse_caches(c, err);
    if (!st) st = wrap_inputs(&feed, c, err);
    if (!st) st = pgy_tensor_map_create(&made, err);
    if (!st) st = context_interpret(c, feed, &rooms, made, err);
    for (size_t i = 0; !st && i < c->output_count; i++)
        st = take_output(&c->bounds[c->input_count + i], made, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(made);
    return st;
}

static bool has_shape_inputs(const context *c)
{
    for (size_t i = 0; i < c->input_count; i++)
        if (context_is_shape_input(c, i)) return true;
    return false;
}

static pgy_status execute(context *c, pgy_error *err)
{
    pgy_status st = check_inputs(c, err);
    c->preparing_ns = 0;
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
