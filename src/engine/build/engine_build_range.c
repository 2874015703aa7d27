/* SPDX-License-Identifier: Apache-2.0 */
/* Builds ranges with the kernels of a program for similar shapes: nothing is measured, and the
 * range shares all packed weights with that program. */
#include "engine/build/engine_state.h"
#include "engine/build/shapes.h"

/* ---- Similar programs ----------------------------------------------------------------------- */

/* Do all sizes differ by a factor of 4 at most? */
static bool are_close(const pgy_metadata *a, const pgy_metadata *b)
{
    enum { FACTOR = 4 };
    for (size_t i = 0; i < pgy_metadata_count(a); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(a, i), *y = pgy_metadata_at(b, i);
        for (int32_t d = 0; d < x->rank; d++)
            if (x->shape[d] / FACTOR > y->shape[d] || y->shape[d] / FACTOR > x->shape[d] ||
                !x->shape[d] != !y->shape[d])
                return false;
    }
    return true;
}

const program *engine_find_exact(const engine *e, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < e->kept_count; i++)
        if (e->kept[i].program && shapes_equal(e->kept[i].shapes, shapes))
            return e->kept[i].program;
    for (size_t i = 0; i < e->ranges.kept_count; i++) {
        const range_wish *w = &e->ranges.wishes[i];
        if (w->count && shapes_equal(w->samples[0], shapes)) return range_base(e->ranges.kept[i]);
    }
    return NULL;
}

pgy_status engine_similar_tactics(tactics **out, const engine *e, const range_wish *wish,
                                  pgy_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < wish->count; i++) {
        const program *p = are_close(wish->samples[0], wish->samples[i])
                               ? engine_find_exact(e, wish->samples[i])
                               : NULL;
        if (p) return tactics_of(out, p, err);
    }
    return PGY_OK;
}

/* ---- Builds --------------------------------------------------------------------------------- */

static pgy_status build(range **out, engine *e, const range_wish *wish, const tactics *replay,
                        timing *measured, pgy_error *err)
{
    const pgy_metadata *const *samples = (const pgy_metadata *const *)wish->samples;
    build_options options = {.config = e->config,
                             .replay = replay,
                             .replay_given = replay == e->replay,
                             .timing = measured,
                             .threads = e->config->threads,
                             .sizes_vary = true};
    pgy_graph *g = NULL;
    pgy_status st = engine_take_graph(&g, &options.packed, e, err);
    if (st) return st;
    if (measured) pthread_mutex_lock(&e->measuring);
    st = range_build(out, g, samples, wish->count, &options, err);
    if (!st && measured) st = timing_save(measured, err);
    if (measured) pthread_mutex_unlock(&e->measuring);
    packed_table_release(options.packed);
    if (st && *out) {
        range_release(*out);
        *out = NULL;
    }
    return st;
}

pgy_status engine_build_range(range **out, engine *e, const range_wish *wish,
                              const tactics *similar, pgy_error *err)
{
    *out = NULL;
    if (!similar || e->replay) return build(out, e, wish, e->replay, e->timing, err);
    const pgy_status st = build(out, e, wish, similar, NULL, err);
    /* A kernel may refuse these sizes; then the choice is free. */
    return st == PGY_E_NOT_FOUND ? build(out, e, wish, NULL, e->timing, err) : st;
}
