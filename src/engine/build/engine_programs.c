/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the latest programs by the shapes of their inputs. Builds run without the lock, so that
 * several threads may build at once. */
#include "base/alloc.h"
#include "base/log.h"
#include "engine/build/engine_state.h"
#include "engine/build/shapes.h"

static const char LOG_PATH[] = "engine/build/engine_programs.c";

enum { MAX_PROGRAMS = 8 }; /* kept programs, besides those of profiles */

/* ---- What is kept --------------------------------------------------------------------------- */

/* The least recently used program that is not pinned; NULL if there is room for another. */
static built *find_oldest(engine *e)
{
    built *oldest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < e->kept_count; i++) {
        built *b = &e->kept[i];
        if (b->pinned) continue;
        count++;
        if (!oldest || b->used < oldest->used) oldest = b;
    }
    return count < MAX_PROGRAMS ? NULL : oldest;
}

pgy_status engine_keep(built **out, engine *e, built *made, pgy_error *err)
{
    built *room = find_oldest(e);
    if (room) {
        engine_forget(room);
    } else if (mem_grow((void **)&e->kept, &e->kept_capacity, e->kept_count + 1, sizeof *e->kept)) {
        room = &e->kept[e->kept_count++];
    } else {
        engine_forget(made);
        return engine_no_memory(err);
    }
    *room = *made;
    *out = room;
    return PGY_OK;
}

static built *find_built(engine *e, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < e->kept_count; i++)
        if (shapes_equal(e->kept[i].shapes, shapes)) return &e->kept[i];
    return NULL;
}

/* ---- Builds --------------------------------------------------------------------------------- */

static bool sizes_vary(const engine *e)
{
    bool vary = false;
    for (size_t i = 0; i < pgy_metadata_count(e->inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(e->inputs, i);
        vary |= input->rank < 0;
        for (int32_t d = 0; d < input->rank; d++) vary |= input->shape[d] < 0;
    }
    return vary;
}

/* Builds a program. Only one build measures at a time: concurrent measurements would slow each
 * other's kernels. */
static pgy_status build_program(program **out, engine *e, pgy_graph *g, packed_table *packed,
                                const tactics *replay, pgy_error *err)
{
    const build_options options = {.config = e->config,
                                   .replay = replay,
                                   .replay_given = replay == e->replay,
                                   .timing = e->timing,
                                   .threads = e->config->threads,
                                   .sizes_vary = sizes_vary(e),
                                   .packed = packed};
    if (!e->timing) return program_build(out, g, &options, err);
    pthread_mutex_lock(&e->measuring);
    pgy_status st = program_build(out, g, &options, err);
    if (!st) st = timing_save(e->timing, err);
    pthread_mutex_unlock(&e->measuring);
    if (st && *out) {
        program_release(*out);
        *out = NULL;
    }
    return st;
}

pgy_status engine_build_for(built *out, engine *e, pgy_graph *g, packed_table *packed,
                            const pgy_metadata *shapes, const tactics *replay, pgy_error *err)
{
    pgy_error why = {0};
    built made = {0};
    pgy_status st = shapes_copy(&made.shapes, shapes, err);
    if (!st) st = engine_infer(g, shapes, NULL, err);
    if (st) goto done;
    st = build_program(&made.program, e, g, packed, replay, &why);
    if (st == PGY_E_UNSUPPORTED) {
        if (e->config->devices.count)
            LOG(WARNING,
                "No layer runs on '%s': the model has data-dependent shapes, so the engine "
                "interprets it on the host",
                e->config->devices.items[0]);
        LOG(VERBOSE, "No program can be built, so the engine interprets the graph: %s", why.text);
        st = PGY_OK;
    } else if (st) {
        pgy_error_set(err, st, "%s", why.text);
    } else if (program_points_to_graph(made.program)) {
        engine_attach_graph(made.program, g);
        g = NULL;
    }
done:
    pgy_graph_destroy(g);
    if (st)
        engine_forget(&made);
    else
        *out = made;
    return st;
}

/* A build in progress, in the list of its engine. Other threads that need the same shapes wait for
 * it. */
struct engine_build {
    const pgy_metadata *shapes;
    struct engine_build *next;
};

static bool is_going_on(const engine *e, const pgy_metadata *shapes)
{
    for (const struct engine_build *b = e->builds; b; b = b->next)
        if (shapes_equal(b->shapes, shapes)) return true;
    return false;
}

static void end_build(engine *e, const struct engine_build *done)
{
    struct engine_build **at = &e->builds;
    while (*at != done) at = &(*at)->next;
    *at = done->next;
    pthread_cond_broadcast(&e->built);
}

/* Programs with subgraphs have no range, and graphs whose shapes depend on data have no program.
 * Once shapes vary, a context runs such a graph as segments, which have ranges, and no build is
 * tried for each. The caller holds the lock. */
static bool is_for_segments(const engine *e, const range_wish *wish)
{
    return wish->count && e->ranges.in_segments && !e->replay;
}

static pgy_status keep_segments(engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    built made = {0}, *kept;
    const pgy_status st = shapes_copy(&made.shapes, shapes, err);
    LOG(VERBOSE, "These shapes get no program of their own: the graph runs in segments");
    return st ? st : engine_keep(&kept, e, &made, err);
}

/* Builds a range for these shapes and a sample, or else a program for these shapes alone. The
 * caller does not hold the lock. */
static pgy_status build_either(range **ranged, built *out, engine *e, const pgy_metadata *shapes,
                               const range_wish *wish, const tactics *similar, pgy_error *why,
                               pgy_error *err)
{
    pgy_graph *g = NULL;
    packed_table *packed = NULL;
    if (wish->count) {
        const pgy_status st = engine_build_range(ranged, e, wish, similar, why);
        if (!st) return PGY_OK;
        /* A build for the shapes alone tells what is wrong with them. */
        if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED)
            return pgy_error_set(err, st, "%s", why->text);
    }
    pgy_status st = engine_take_graph(&g, &packed, e, err);
    if (!st) st = engine_build_for(out, e, g, packed, shapes, e->replay, err);
    packed_table_release(packed);
    return st;
}

/* Keeps what was built, unless a refit happened meanwhile: the build used the old weights. The
 * shapes are a sample for later ranges; NULL: they are not. */
static pgy_status keep_either(engine *e, range *ranged, built *made, range_wish *wish,
                              const pgy_metadata *sample, uint64_t version, const pgy_error *why,
                              pgy_error *err)
{
    built *kept;
    if (version != engine_version(e)) {
        range_release(ranged);
        engine_forget(made);
        return PGY_OK;
    }
    e->ranges.in_segments |= !ranged && (!made->program || program_needs_graph(made->program));
    if (wish->count && !ranged) ranges_refuse(&e->ranges, wish, why->text);
    const pgy_status st = sample ? ranges_note(&e->ranges, sample, err) : PGY_OK;
    if (ranged)
        ranges_keep(&e->ranges, ranged, wish);
    else if (st)
        engine_forget(made);
    return st || ranged ? st : engine_keep(&kept, e, made, err);
}

typedef enum program_wish {
    FOR_SHAPES, /* any program for the shapes */
    ALONE,      /* not one of a range */
    FOR_PROFILE /* nor one that is ever evicted */
} program_wish;

/* Builds a program for these shapes, if `alone` for no others. The caller holds the lock, which is
 * released during the build. */
static pgy_status build(engine *e, const pgy_metadata *shapes, bool alone, program_wish for_what,
                        pgy_error *err)
{
    struct engine_build this = {shapes, e->builds};
    /* A profile that was not given has sizes that nobody chose. */
    const pgy_metadata *sample = for_what == FOR_PROFILE ? NULL : shapes;
    const uint64_t version = engine_version(e);
    range_wish wish = {0};
    range *ranged = NULL;
    built made = {0};
    pgy_error why = {0};
    if (engine_is_stripped(e))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the plan was stripped of its weights: add them with "
                             "pgy_refitter_refit before it runs");
    tactics *similar = NULL;
    pgy_status st = alone ? PGY_OK : ranges_wish(&wish, &e->ranges, shapes, err);
    if (!st && is_for_segments(e, &wish)) {
        st = keep_segments(e, shapes, err);
        goto done;
    }
    if (!st) st = engine_similar_tactics(&similar, e, &wish, err);
    if (st) goto done;
    e->builds = &this;
    pthread_mutex_unlock(&e->lock);
    st = build_either(&ranged, &made, e, shapes, &wish, similar, &why, err);
    pthread_mutex_lock(&e->lock);
    end_build(e, &this);
    if (!st) st = keep_either(e, ranged, &made, &wish, sample, version, &why, err);
done:
    tactics_destroy(similar);
    range_wish_deinit(&wish);
    return st;
}

/* The program for these shapes, retained, if there is one or a range that covers them. *found: it
 * was found, or the graph must be interpreted. */
static pgy_status find(program **out, bool *found, engine *e, const pgy_metadata *shapes,
                       program_wish wish, pgy_error *err)
{
    built *b = find_built(e, shapes);
    *found = b != NULL;
    *out = NULL;
    if (b) {
        b->pinned |= wish == FOR_PROFILE;
        b->used = ++e->clock;
        *out = b->program ? program_retain(b->program) : NULL;
        return PGY_OK;
    }
    if (wish != FOR_SHAPES) return PGY_OK;
    const pgy_status st = ranges_find(out, &e->ranges, shapes, err);
    *found = *out != NULL;
    return st;
}

static pgy_status find_program(program **out, bool *made, engine *e, const pgy_metadata *shapes,
                               program_wish wish, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool found = false, alone = wish != FOR_SHAPES;
    *out = NULL;
    *made = false;
    pthread_mutex_lock(&e->lock);
    while (!st && !found) {
        if (!engine_is_stripped(e)) st = find(out, &found, e, shapes, wish, err);
        if (st || found) break;
        *made = true;
        if (is_going_on(e, shapes)) {
            pthread_cond_wait(&e->built, &e->lock);
            continue;
        }
        bool tried = false;
        if (!alone) st = engine_try_profiles(&tried, e, shapes, err);
        if (st || tried) continue;
        st = build(e, shapes, alone, wish, err);
        alone = true; /* a range may refuse the very shapes that it was built for */
    }
    pthread_mutex_unlock(&e->lock);
    *made |= *out && (*out)->range;
    return st;
}

pgy_status engine_program(program **out, bool *made, engine *e, const pgy_metadata *shapes,
                          pgy_error *err)
{
    return find_program(out, made, e, shapes, FOR_SHAPES, err);
}

pgy_status engine_program_alone(program **out, bool *made, engine *e, const pgy_metadata *shapes,
                                pgy_error *err)
{
    return find_program(out, made, e, shapes, ALONE, err);
}

pgy_status engine_program_for(program **out, engine *e, size_t profile, pgy_error *err)
{
    pgy_metadata *usual = NULL, *shapes = NULL;
    bool made;
    *out = NULL;
    if (!shapes_are_numeric(e->inputs)) return PGY_OK;
    pgy_status st = profiles_shapes(&usual, e->profiles, profile, PROFILE_USUAL, err);
    if (!st) st = shapes_complete(&shapes, e->inputs, usual, err);
    if (!st) st = find_program(out, &made, e, shapes, FOR_PROFILE, err);
    if (!st && *out) st = engine_expect_profile(e, profile, err);
    if (st) {
        program_release(*out);
        *out = NULL;
    }
    pgy_metadata_destroy(shapes);
    pgy_metadata_destroy(usual);
    return st;
}

pgy_status engine_save_tactics(const engine *e, const program *p, pgy_error *err)
{
    const char *path = e->config->save_tactics;
    if (!path) return PGY_OK;
    if (!p) {
        LOG(WARNING, "No tactic replay is saved: the model has data-dependent shapes, so the "
                     "engine interprets it node by node");
        return PGY_OK;
    }
    LOG(INFO, "Saving tactic replay file to %s", path);
    return tactics_save(path, p, e->config->passes, err);
}

/* ---- Shapes of outputs ---------------------------------------------------------------------- */

/* Describes a program's outputs, whose shapes are all known. */
static pgy_status describe_built(pgy_metadata **out, const engine *e, const program *p,
                                 pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < p->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        const pgy_tensor_info info = {.name = pgy_metadata_at(e->outputs, i)->name,
                                      .dtype = t->dtype,
                                      .rank = t->rank,
                                      .shape = t->shape};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

pgy_status engine_infer_outputs(pgy_metadata **out, engine *e, const pgy_metadata *shapes,
                                const pgy_tensor_map *values, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_graph *g = NULL;
    program *p = NULL;
    bool found;
    pthread_mutex_lock(&e->lock);
    pgy_status st = find(&p, &found, e, shapes, FOR_SHAPES, err);
    if (!st) st = p ? describe_built(&m, e, p, err) : engine_clone_graph(&g, e, err);
    pthread_mutex_unlock(&e->lock);
    program_release(p);
    if (!st && g) st = engine_infer(g, shapes, values, err);
    if (!st && g) st = engine_describe(&m, g->outputs, g->output_count, err);
    pgy_graph_destroy(g);
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

pgy_status engine_copy_graph(pgy_graph **out, engine *e, pgy_error *err)
{
    pgy_graph *g = NULL;
    pthread_mutex_lock(&e->lock);
    pgy_status st = engine_clone_graph(&g, e, err);
    pthread_mutex_unlock(&e->lock);
    if (!st) st = engine_infer(g, NULL, NULL, err);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st;
}
