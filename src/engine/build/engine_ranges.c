/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a range is built. The first shapes get a program of their own. When others come,
 * they and the most similar earlier shapes show which sizes vary, and a range is built for these,
 * unless a range with the same pattern failed before. */
#include "engine/build/engine_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/build/shapes.h"

static const char LOG_PATH[] = "engine/build/engine_ranges.c";

void ranges_init(engine_ranges *r, const pgy_build_config *config)
{
    const char *given = getenv("POLYGRAPHY_RANGES");
    r->off = config->devices.count || (given && strcmp(given, "0") == 0);
}

void ranges_forget(engine_ranges *r)
{
    for (size_t i = 0; i < r->kept_count; i++) range_release(r->kept[i]);
    for (size_t i = 0; i < r->seen_count; i++) pgy_metadata_destroy(r->seen[i]);
    r->kept_count = r->seen_count = 0;
    strmap_deinit(&r->refused);
    r->refused = (strmap){0};
}

void ranges_deinit(engine_ranges *r)
{
    ranges_forget(r);
}

/* ---- Use ------------------------------------------------------------------------------------ */

pgy_status ranges_find(program **out, engine_ranges *r, const pgy_metadata *shapes, pgy_error *err)
{
    pgy_error why = {0};
    *out = NULL;
    for (size_t i = 0; i < r->kept_count; i++) {
        if (!range_covers(r->kept[i], shapes)) continue;
        const pgy_status st = range_program(out, r->kept[i], shapes, &why);
        if (!st) return PGY_OK;
        if (st != PGY_E_UNSUPPORTED) return pgy_error_set(err, st, "%s", why.text);
        LOG(EXTRA_VERBOSE, "A range of shapes has no program for these shapes: %s", why.text);
    }
    return PGY_OK;
}

void ranges_keep(engine_ranges *r, range *made)
{
    if (r->kept_count == RANGES_KEPT) range_release(r->kept[--r->kept_count]);
    memmove(&r->kept[1], &r->kept[0], r->kept_count * sizeof *r->kept);
    r->kept[0] = made;
    r->kept_count++;
}

/* ---- Samples -------------------------------------------------------------------------------- */

static bool are_alike(const pgy_metadata *a, const pgy_metadata *b)
{
    for (size_t i = 0; i < pgy_metadata_count(a); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(a, i), *y = pgy_metadata_at(b, i);
        if (x->dtype != y->dtype || x->rank != y->rank || x->rank < 0) return false;
    }
    return true;
}

static size_t count_differences(const pgy_metadata *a, const pgy_metadata *b)
{
    size_t count = 0;
    for (size_t i = 0; i < pgy_metadata_count(a); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(a, i), *y = pgy_metadata_at(b, i);
        for (int32_t d = 0; d < x->rank; d++) count += x->shape[d] != y->shape[d];
    }
    return count;
}

/* The earlier shapes that differ in the fewest sizes. */
static const pgy_metadata *find_nearest(const engine_ranges *r, const pgy_metadata *shapes)
{
    const pgy_metadata *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = r->seen_count; i-- > 0;) {
        if (!are_alike(r->seen[i], shapes)) continue;
        const size_t differences = count_differences(r->seen[i], shapes);
        if (!differences || differences >= least) continue;
        best = r->seen[i];
        least = differences;
    }
    return best;
}

/* "i.d" for each axis that varies, with the power of two of its size: a range that fails for small
 * sizes may exist for large ones. */
static void put_pattern(str *out, const pgy_metadata *shapes, const pgy_metadata *sample)
{
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(shapes, i), *y = pgy_metadata_at(sample, i);
        for (int32_t d = 0; d < x->rank; d++) {
            int power = 0;
            if (x->shape[d] == y->shape[d]) continue;
            while (x->shape[d] >> power > 1) power++;
            str_printf(out, "%zu.%d:%d ", i, d, power);
        }
    }
}

pgy_status ranges_wish(range_wish *out, const engine_ranges *r, const pgy_metadata *shapes,
                       pgy_error *err)
{
    const pgy_metadata *nearest = r->off ? NULL : find_nearest(r, shapes);
    *out = (range_wish){0};
    if (!nearest) return PGY_OK;
    put_pattern(&out->pattern, shapes, nearest);
    if (out->pattern.failed)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a range of shapes");
    if (strmap_get(&r->refused, str_text(&out->pattern))) return PGY_OK;
    return shapes_copy(&out->sample, nearest, err);
}

void range_wish_deinit(range_wish *w)
{
    pgy_metadata_destroy(w->sample);
    str_deinit(&w->pattern);
    *w = (range_wish){0};
}

void ranges_refuse(engine_ranges *r, const range_wish *w, const char *why)
{
    static char refused;
    LOG(VERBOSE, "These shapes get a program of their own, not one of a range: %s", why);
    (void)strmap_put(&r->refused, str_text(&w->pattern), &refused); /* else it is tried again */
}

pgy_status ranges_note(engine_ranges *r, const pgy_metadata *shapes, pgy_error *err)
{
    pgy_metadata *copy = NULL;
    if (r->off) return PGY_OK;
    const pgy_status st = shapes_copy(&copy, shapes, err);
    if (st) return st;
    if (r->seen_count == RANGES_SEEN) {
        pgy_metadata_destroy(r->seen[0]);
        memmove(&r->seen[0], &r->seen[1], --r->seen_count * sizeof *r->seen);
    }
    r->seen[r->seen_count++] = copy;
    return PGY_OK;
}
