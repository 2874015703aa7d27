/* SPDX-License-Identifier: Apache-2.0 */
/* Opens engines from plan files and writes them. A plan's programs are made when it is opened, as
 * they are little more than pointers into it; its graphs are parsed when they are needed. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "engine/build/config.h"
#include "engine/build/engine_state.h"
#include "engine/build/progress.h"
#include "engine/build/shapes.h"

static const char LOG_PATH[] = "engine/build/engine_plan.c";

/* ---- Opening -------------------------------------------------------------------------------- */

/* Makes a replay of the program's kernels that this library still has, to rebuild the program with
 * them. */
static pgy_status replay_known(engine *e, size_t index, pgy_error *err)
{
    program *look = NULL;
    tactics *known = NULL;
    pgy_status st = plan_program_at(&look, e->file, index, false, err);
    if (!st) st = tactics_create(&known, err);
    for (size_t i = 0; !st && i < look->step_count; i++) {
        const char *name = plan_kernel_name(e->file, index, i);
        const kernel *k = name ? plan_step_kernel(e->file, index, i) : NULL;
        if (!name || k) st = tactics_add(known, look, &look->steps[i], k, err);
    }
    program_release(look);
    if (!st && !e->replay) {
        e->replay = known;
        return PGY_OK;
    }
    tactics_destroy(known);
    return st;
}

/* Handles a program whose kernel this library lacks: no error if the plan holds the whole graph and
 * allows a rebuild. */
static pgy_status do_without(engine *e, size_t index, pgy_error *why, pgy_error *err)
{
    const uint32_t wanted = PLAN_WHOLE | PLAN_VERSION_COMPATIBLE;
    if ((plan_describe(e->file)->flags & wanted) != wanted)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "%s", why->text);
    LOG(WARNING, "%s; the engine rebuilds this program now and keeps the other kernels", why->text);
    return replay_known(e, index, err);
}

static pgy_status open_program(engine *e, size_t index, pgy_error *err)
{
    built made = {.pinned = true}, *kept;
    pgy_error why = {0};
    pgy_status st = plan_program_at(&made.program, e->file, index, true, &why);
    if (st == PGY_E_NOT_FOUND) return do_without(e, index, &why, err);
    if (st) return pgy_error_set(err, st, "%s", why.text);
    st = plan_program_inputs(&made.shapes, made.program, err);
    if (!st && !engine_is_stripped(e) && plan_needs_nodes(made.program)) {
        pgy_graph *g = NULL;
        st = engine_clone_graph(&g, e, err);
        if (!st) engine_attach_graph(made.program, g);
        if (!st) st = engine_infer(g, made.shapes, NULL, err);
        if (!st) st = plan_bind(made.program, e->file, index, g, err);
    }
    if (!st) return engine_keep(&kept, e, &made, err);
    engine_forget(&made);
    return st;
}

static pgy_status open_programs(engine *e, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t count = plan_describe(e->file)->program_count;
    for (size_t i = 0; !st && i < count; i++) st = open_program(e, i, err);
    return st;
}

/* Reads a plan from `data`, or if that is NULL from the file at `path`. */
static pgy_status read_plan(engine *e, const char *path, const void *data, size_t size,
                            pgy_error *err)
{
    pgy_status st =
        data ? plan_parse(&e->file, data, size, false, err) : plan_open(&e->file, path, err);
    if (st) return st;
    const plan_info *info = plan_describe(e->file);
    e->model_hash = info->model_hash;
    e->name = info->name;
    atomic_store_explicit(&e->stripped, info->flags & PLAN_STRIPPED, memory_order_release);
    st = plan_config(&e->config, e->file, &e->memory, err);
    if (!st) st = plan_metadata(&e->inputs, e->file, false, err);
    if (!st) st = plan_metadata(&e->outputs, e->file, true, err);
    if (!st) st = plan_profiles(&e->profiles, e->file, e->inputs, err);
    return st ? st : open_programs(e, err);
}

pgy_status engine_open(engine **out, const char *path, pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = engine_create(&e, NULL, err);
    if (st) return st;
    st = read_plan(e, path, NULL, 0, err);
    if (st) {
        const bool named = e->file == NULL;
        engine_release(e);
        return named ? st : pgy_error_prefix(err, st, "'%s': ", path);
    }
    *out = e;
    return PGY_OK;
}

pgy_status engine_load(engine **out, const void *data, size_t size_bytes, bool borrow,
                       pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = engine_create(&e, NULL, err);
    if (st) return st;
    if (!borrow || !data) {
        e->bytes = mem_alloc_aligned(PLAN_ALIGN, size_bytes ? size_bytes : 1);
        if (!e->bytes) st = engine_no_memory(err);
        if (e->bytes && size_bytes) memcpy(e->bytes, data, size_bytes);
        data = e->bytes;
    }
    if (!st) st = read_plan(e, NULL, data, size_bytes, err);
    if (st)
        engine_release(e);
    else
        *out = e;
    return st;
}

void engine_prefetch(engine *e)
{
    if (e->file && !atomic_exchange(&e->prefetched, true)) plan_prefetch(e->file);
}

pgy_status engine_need_original(engine *e, pgy_error *err)
{
    if (e->original || !e->file) return PGY_OK;
    return plan_original(&e->original, e->file, err);
}

pgy_status engine_original(pgy_model **out, engine *e, pgy_error *err)
{
    pthread_mutex_lock(&e->lock);
    pgy_status st = engine_need_original(e, err);
    if (!st && !e->original)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the engine cannot be refitted: build it with config.refittable");
    if (!st) *out = pgy_model_retain(e->original);
    pthread_mutex_unlock(&e->lock);
    return st;
}

/* ---- Saving --------------------------------------------------------------------------------- */

/* The programs of all profiles, and those that their ranges are based on, each once. */
typedef struct profile_programs {
    program **programs;
    uint32_t *places; /* indexed by profile: index of its program */
    size_t count, profile_count;
} profile_programs;

static void release_programs(profile_programs *s)
{
    for (size_t i = 0; s->programs && i < s->count; i++) program_release(s->programs[i]);
    mem_free(s->programs);
    mem_free(s->places);
}

/* Finds a profile's program in a stripped plan, which has programs although it cannot run. */
static pgy_status find_stripped(program **out, engine *e, size_t profile)
{
    const uint32_t place = plan_profile_program(e->file, profile);
    pthread_mutex_lock(&e->lock);
    *out = place < e->kept_count ? program_retain(e->kept[place].program) : NULL;
    pthread_mutex_unlock(&e->lock);
    return PGY_OK;
}

/* Takes a program. @return its index */
static size_t add_program(profile_programs *s, program *p)
{
    size_t place = 0;
    while (place < s->count && s->programs[place] != p) place++;
    if (place < s->count)
        program_release(p);
    else
        s->programs[s->count++] = p;
    return place;
}

static pgy_status gather(profile_programs *out, engine *e, pgy_error *err)
{
    pgy_status st = PGY_OK;
    out->profile_count = profiles_count(e->profiles);
    out->programs = mem_calloc(2 * out->profile_count + 1, sizeof *out->programs);
    out->places = mem_calloc(out->profile_count + 1, sizeof *out->places);
    if (!out->programs || !out->places) return engine_no_memory(err);
    for (size_t i = 0; !st && i < out->profile_count; i++) {
        program *p = NULL;
        st = engine_is_stripped(e) ? find_stripped(&p, e, i) : engine_program_for(&p, e, i, err);
        out->places[i] = PLAN_NO_PROGRAM;
        if (st || !p) continue;
        out->places[i] = (uint32_t)add_program(out, p);
    }
    for (size_t i = 0; !st && i < out->profile_count; i++) {
        program *p = NULL;
        if (out->places[i] == PLAN_NO_PROGRAM) continue;
        st = engine_range_base(&p, e, i, err);
        if (p) add_program(out, p);
    }
    return st;
}

/* Will the plan need the graph's weights: for other shapes, other kernels, or bodies of branches
 * and loops? */
static bool needs_weights(const engine *e, const profile_programs *s)
{
    for (size_t i = 0; i < s->profile_count; i++)
        if (s->places[i] == PLAN_NO_PROGRAM) return true;
    for (size_t i = 0; i < s->count; i++)
        if (program_needs_graph(s->programs[i])) return true;
    if (e->config->version_compatible || !shapes_are_numeric(e->inputs)) return true;
    for (size_t i = 0; i < pgy_metadata_count(e->inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(e->inputs, i);
        if (input->rank < 0) return true;
        for (int32_t d = 0; d < input->rank; d++)
            if (input->shape[d] < 0) return true;
    }
    return false;
}

/* Exports the graph that programs look up their nodes in. The caller holds the lock. */
static pgy_status export_graph(pgy_model **out, engine *e, pgy_error *err)
{
    pgy_status st = engine_need_graph(e, err);
    if (!st) st = pgy_graph_infer_shapes(e->graph, NULL, err);
    return st ? st : pgy_graph_export(out, e->graph, err);
}

/* Writes to a file, or to memory if `path` is NULL. */
static pgy_status write_plan(engine *e, const char *path, void **data, size_t *size, pgy_error *err)
{
    profile_programs programs = {0};
    pgy_model *model = NULL;
    pgy_status st = gather(&programs, e, err);
    if (!st && !programs.count)
        LOG(WARNING, "The model has data-dependent shapes: the plan holds the graph only, and the "
                     "engine interprets it");
    pthread_mutex_lock(&e->lock);
    if (!st) st = export_graph(&model, e, err);
    if (!st) st = engine_need_original(e, err);
    if (!st) {
        const plan_source source = {
            .name = e->name,
            .programs = (const program *const *)programs.programs,
            .program_count = programs.count,
            .profile_programs = programs.places,
            .profiles = e->profiles,
            .config = e->config,
            .model = model,
            .original = e->original,
            .packed = e->packed,
            .whole = needs_weights(e, &programs),
            .stripped = e->config->strip_plan,
            .inputs = e->inputs,
            .outputs = e->outputs,
            .model_hash = e->model_hash,
        };
        st = path ? plan_write(path, &source, err) : plan_serialize(data, size, &source, err);
    }
    pthread_mutex_unlock(&e->lock);
    pgy_model_destroy(model);
    release_programs(&programs);
    return st;
}

pgy_status engine_save(engine *e, const char *path, pgy_error *err)
{
    progress_begin(PROGRESS_WRITING, 0);
    const pgy_status st = write_plan(e, path, NULL, NULL, err);
    progress_end();
    return st;
}

pgy_status engine_serialize(void **out, size_t *size_bytes, engine *e, pgy_error *err)
{
    return write_plan(e, NULL, out, size_bytes, err);
}
