/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a range is built. The first shapes get a program of their own. When others come,
 * they and the most similar earlier shapes show which sizes vary, and a range is built for these,
 * unless a range with the same pattern failed before. */
#include "engine/build/engine_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/build/shapes.h"
#include "engine/program/sizes.h"

static const char LOG_PATH[] = "engine/build/engine_ranges.c";

void ranges_init(engine_ranges *r, const pgy_build_config *config)
{
    const char *given = getenv("POLYGRAPHY_RANGES");
    r->off = config->devices.count || (given && strcmp(given, "0") == 0);
}

static void drop(engine_ranges *r, size_t i)
{
    range_release(r->kept[i]);
    range_wish_deinit(&r->wishes[i]);
}

void ranges_forget(engine_ranges *r)
{
    for (size_t i = 0; i < r->kept_count; i++) drop(r, i);
    for (size_t i = 0; i < r->seen_count; i++) pgy_metadata_destroy(r->seen[i]);
    r->kept_count = r->seen_count = 0;
    r->profiles_tried = 0;
    r->in_segments = false;
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
    pgy_error why; /* not cleared: that takes longer than to find a range */
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

void ranges_keep(engine_ranges *r, range *made, range_wish *w)
{
    if (r->kept_count == RANGES_KEPT) drop(r, --r->kept_count);
    memmove(&r->kept[1], &r->kept[0], r->kept_count * sizeof *r->kept);
    memmove(&r->wishes[1], &r->wishes[0], r->kept_count * sizeof *r->wishes);
    r->kept[0] = made;
    r->wishes[0] = *w;
    *w = (range_wish){0};
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

/* "i.d" for each axis that varies, with the power of two of its size, as a range that fails for
 * small sizes may exist for large ones, and with the first axis that has changed by as much: other
 * shapes may show a relation between axes that these have hidden. */
static void put_pattern(str *out, const pgy_metadata *shapes, const pgy_metadata *sample)
{
    enum { MOST_CHANGES = 8 };
    int64_t changes[MOST_CHANGES];
    size_t count = 0;
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(shapes, i), *y = pgy_metadata_at(sample, i);
        for (int32_t d = 0; d < x->rank; d++) {
            const int64_t change = x->shape[d] - y->shape[d];
            size_t like = 0;
            int power = 0;
            if (!change) continue;
            while (x->shape[d] >> power > 1) power++;
            while (like < count && changes[like] != change) like++;
            if (like == count && count < MOST_CHANGES) changes[count++] = change;
            str_printf(out, "%zu.%d:%d=%zu ", i, d, power, like);
        }
    }
}

/* Do the first two shapes differ in the same axes as the last two? */
static bool same_axes(const pgy_metadata *a, const pgy_metadata *b, const pgy_metadata *c,
                      const pgy_metadata *d)
{
    for (size_t i = 0; i < pgy_metadata_count(a); i++) {
        const int64_t *x = pgy_metadata_at(a, i)->shape, *y = pgy_metadata_at(b, i)->shape,
                      *z = pgy_metadata_at(c, i)->shape, *w = pgy_metadata_at(d, i)->shape;
        for (int32_t k = 0; k < pgy_metadata_at(a, i)->rank; k++)
            if ((x[k] == y[k]) != (z[k] == w[k])) return false;
    }
    return true;
}

/* Do these shapes differ only where the sample does? Then they are a sample of the same range. */
static bool varies_like(const pgy_metadata *other, const pgy_metadata *shapes,
                        const pgy_metadata *sample)
{
    if (!are_alike(other, shapes)) return false;
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(shapes, i), *y = pgy_metadata_at(sample, i),
                              *z = pgy_metadata_at(other, i);
        for (int32_t d = 0; d < x->rank; d++)
            if (x->shape[d] == y->shape[d] && z->shape[d] != x->shape[d]) return false;
    }
    return true;
}

/* Sizes 0 and 1 often stand for no size at all, as in the shapes of a prompt without a cache. They
 * follow no relation that others do. */
static bool has_small(const pgy_metadata *other, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(shapes, i), *y = pgy_metadata_at(other, i);
        for (int32_t d = 0; d < x->rank; d++)
            if (x->shape[d] != y->shape[d] && y->shape[d] < SIZES_LEAST) return true;
    }
    return false;
}

/* Shapes that vary like those of a range but differ from them elsewhere show that more sizes vary:
 * one range for all of them is better than a range for each size. NULL: there is no such range. */
static const pgy_metadata *widen(const engine_ranges *r, const pgy_metadata *shapes,
                                 const pgy_metadata *nearest)
{
    for (size_t i = 0; i < r->kept_count; i++) {
        const range_wish *w = &r->wishes[i];
        if (!are_alike(w->samples[0], shapes) || varies_like(w->samples[0], shapes, nearest))
            continue;
        if (same_axes(shapes, nearest, w->samples[0], w->samples[1])) return w->samples[0];
    }
    return NULL;
}

static pgy_status add_sample(range_wish *w, const pgy_metadata *shapes, pgy_error *err)
{
    const pgy_status st = shapes_copy(&w->samples[w->count], shapes, err);
    w->count += !st;
    return st;
}

/* Sets the pattern of a range for shapes that vary as the sample does. False: it failed before, or
 * there is no sample. */
static bool is_open(range_wish *out, const engine_ranges *r, const pgy_metadata *shapes,
                    const pgy_metadata *sample)
{
    if (!sample) return false;
    str_deinit(&out->pattern);
    out->pattern = (str){0};
    put_pattern(&out->pattern, shapes, sample);
    return !out->pattern.failed && !strmap_get(&r->refused, str_text(&out->pattern));
}

pgy_status ranges_wish(range_wish *out, const engine_ranges *r, const pgy_metadata *shapes,
                       pgy_error *err)
{
    const pgy_metadata *nearest = r->off ? NULL : find_nearest(r, shapes);
    const pgy_metadata *wide = nearest ? widen(r, shapes, nearest) : NULL;
    *out = (range_wish){0};
    const pgy_metadata *sample = is_open(out, r, shapes, wide)      ? wide
                                 : is_open(out, r, shapes, nearest) ? nearest
                                                                    : NULL;
    if (!sample) return PGY_OK;
    pgy_status st = add_sample(out, shapes, err);
    if (!st) st = add_sample(out, sample, err); /* it may be seen no more */
    for (size_t i = 0; !st && i < r->seen_count; i++)
        if (r->seen[i] != sample && varies_like(r->seen[i], shapes, sample) &&
            !has_small(r->seen[i], shapes))
            st = add_sample(out, r->seen[i], err);
    return st;
}

void range_wish_deinit(range_wish *w)
{
    for (size_t i = 0; i < w->count; i++) pgy_metadata_destroy(w->samples[i]);
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
