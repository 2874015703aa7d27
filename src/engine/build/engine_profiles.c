/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of profiles. The least, usual and largest shapes of a profile are samples that show which
 * sizes vary, so its range is there before other shapes come. It has the kernels of the profile's
 * program, and so the same packed weights. */
#include "base/log.h"
#include "engine/build/engine_state.h"
#include "engine/build/shapes.h"
#include "engine/program/sizes.h"

static const char LOG_PATH[] = "engine/build/engine_profiles.c";

enum { MOST_PROFILES = 64 }; /* with a range of their own: bits of profiles_tried */

static pgy_status corner(pgy_metadata **out, const engine *e, size_t profile, profile_corner which,
                         pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    pgy_status st = profiles_shapes(&shapes, e->profiles, profile, which, err);
    if (!st) st = shapes_complete(out, e->inputs, shapes, err);
    pgy_metadata_destroy(shapes);
    return st;
}

static bool is_within(int64_t from, int64_t size, int64_t to)
{
    return from <= size && size <= to;
}

/* Do the profile's shapes vary, and do these lie between them? */
static bool has_range_for(const engine *e, size_t profile, const pgy_metadata *shapes)
{
    bool varies = false, inside = profiles_are_given(e->profiles, profile);
    for (size_t i = 0; inside && i < pgy_metadata_count(e->inputs); i++) {
        const pgy_tensor_info *x = shapes ? pgy_metadata_at(shapes, i) : NULL;
        pgy_profile_range r;
        const pgy_bound_kind kind = profiles_range(&r, e->profiles, profile, i);
        inside = kind == PGY_BOUND_SHAPE || kind == PGY_BOUND_ANY;
        if (inside && x) inside = x->rank >= 0 && (size_t)x->rank == r.count;
        for (size_t d = 0; inside && d < r.count; d++) {
            varies |= r.min[d] != r.max[d];
            if (x) inside = is_within(r.min[d], x->shape[d], r.max[d]);
        }
    }
    return varies && inside;
}

/* A size of a profile's range at `part` of the `whole` from the least to the largest; part 0: the
 * usual size. */
static int64_t size_at(const pgy_profile_range *r, size_t axis, int64_t part, int64_t whole)
{
    if (!part) return r->opt[axis];
    return r->min[axis] + (r->max[axis] - r->min[axis]) / whole * part;
}

/* Can these sizes be the base of the range: is none that varies too small? */
static bool are_base(const engine *e, size_t profile, int64_t part, int64_t whole)
{
    for (size_t i = 0; i < pgy_metadata_count(e->inputs); i++) {
        pgy_profile_range r;
        (void)profiles_range(&r, e->profiles, profile, i);
        for (size_t d = 0; d < r.count; d++)
            if (r.min[d] != r.max[d] && size_at(&r, d, part, whole) < SIZES_LEAST) return false;
    }
    return true;
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The part of the whole at which no size is more than SIZES_SPREAD times the usual one. */
static int64_t most_parts(const engine *e, size_t profile, int64_t whole)
{
    int64_t most = whole;
    for (size_t i = 0; i < pgy_metadata_count(e->inputs); i++) {
        pgy_profile_range r;
        (void)profiles_range(&r, e->profiles, profile, i);
        for (size_t d = 0; d < r.count; d++) {
            const int64_t step = (r.max[d] - r.min[d]) / whole;
            const int64_t usual = r.opt[d] > 0 ? r.opt[d] : 1;
            const int64_t bound = usual < INT64_MAX / SIZES_SPREAD ? usual * SIZES_SPREAD : usual;
            if (step && (bound - r.min[d]) / step < most) most = (bound - r.min[d]) / step;
        }
    }
    return most;
}

/* Finds the base of the range: the usual shapes, or else shapes between the least and the largest,
 * near the usual ones. All sizes lie at the same part between theirs, so that relations between
 * sizes hold. Always the same, so that a plan has the program for it. False: there is none. */
static bool find_base(int64_t *part, int64_t *whole, const engine *e, size_t profile)
{
    *part = 0;
    *whole = 0;
    if (are_base(e, profile, 0, 0)) return true;
    for (size_t i = 0; i < pgy_metadata_count(e->inputs); i++) {
        pgy_profile_range r;
        (void)profiles_range(&r, e->profiles, profile, i);
        for (size_t d = 0; d < r.count; d++) {
            if (r.min[d] < 0) return false;
            *whole = divisor(*whole, r.max[d] - r.min[d]);
        }
    }
    const int64_t most = *whole ? most_parts(e, profile, *whole) : 0;
    for (int64_t parts = 8; parts; parts /= 2) {
        *part = most / parts;
        if (*part > 0 && are_base(e, profile, *part, *whole)) return true;
    }
    return false;
}

static pgy_status base_shapes(pgy_metadata **out, const engine *e, size_t profile, pgy_error *err)
{
    int64_t part, whole, shape[PGY_MAX_RANK];
    pgy_metadata *m = NULL;
    (void)find_base(&part, &whole, e, profile);
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(e->inputs); i++) {
        const pgy_tensor_info *declared = pgy_metadata_at(e->inputs, i);
        pgy_profile_range r;
        (void)profiles_range(&r, e->profiles, profile, i);
        for (size_t d = 0; d < r.count; d++) shape[d] = size_at(&r, d, part, whole);
        const pgy_tensor_info info = {.name = declared->name,
                                      .dtype = declared->dtype,
                                      .rank = (int32_t)r.count,
                                      .shape = shape};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* A wish for the range of a profile: its corners. The first sample is the base. */
static pgy_status wish_for(range_wish *out, const engine *e, size_t profile, pgy_error *err)
{
    static const profile_corner ALL[] = {PROFILE_USUAL, PROFILE_LEAST, PROFILE_LARGEST};
    int64_t part, whole;
    pgy_status st = PGY_OK;
    (void)find_base(&part, &whole, e, profile);
    if (part) {
        st = base_shapes(&out->samples[0], e, profile, err);
        out->count += !st;
    }
    for (size_t i = 0; !st && i < sizeof ALL / sizeof *ALL; i++) {
        st = corner(&out->samples[out->count], e, profile, ALL[i], err);
        out->count += !st;
    }
    return st;
}

/* Gives the range the bounds of the profile. */
static pgy_status limit(range *r, const engine *e, size_t profile, pgy_error *err)
{
    pgy_metadata *least = NULL, *largest = NULL;
    pgy_status st = corner(&least, e, profile, PROFILE_LEAST, err);
    if (!st) st = corner(&largest, e, profile, PROFILE_LARGEST, err);
    if (!st) range_limit(r, least, largest);
    pgy_metadata_destroy(least);
    pgy_metadata_destroy(largest);
    return st;
}

/* The caller holds the lock, which is released during the build. */
static pgy_status try_profile(engine *e, size_t profile, pgy_error *err)
{
    const uint64_t version = engine_version(e);
    range_wish wish = {0};
    pgy_metadata *usual_shapes = NULL;
    tactics *usual = NULL;
    range *made = NULL;
    pgy_error why = {0};
    e->ranges.profiles_tried |= UINT64_C(1) << profile;
    pgy_status st = wish_for(&wish, e, profile, err);
    if (!st) st = corner(&usual_shapes, e, profile, PROFILE_USUAL, err);
    if (!st) st = ranges_note(&e->ranges, usual_shapes, err);
    if (!st) st = engine_similar_tactics(&usual, e, &wish, err);
    if (st) goto done;
    pthread_mutex_unlock(&e->lock);
    st = engine_build_range(&made, e, &wish, usual, &why);
    if (!st) st = limit(made, e, profile, &why);
    pthread_mutex_lock(&e->lock);
    if (!st && version == engine_version(e)) {
        ranges_keep(&e->ranges, made, &wish);
        made = NULL;
    }
    if (st && st != PGY_E_MEMORY && st != PGY_E_CANCELLED) {
        LOG(VERBOSE, "Profile %zu has no range of shapes: %s", profile, why.text);
        st = PGY_OK;
    }
    if (st) pgy_error_set(err, st, "%s", why.text);
done:
    range_release(made);
    tactics_destroy(usual);
    pgy_metadata_destroy(usual_shapes);
    range_wish_deinit(&wish);
    return st;
}

static bool may_try(const engine *e, size_t profile)
{
    int64_t part, whole;
    return !e->ranges.off && !engine_is_stripped(e) && profile < MOST_PROFILES &&
           !(e->ranges.profiles_tried >> profile & 1) && has_range_for(e, profile, NULL) &&
           find_base(&part, &whole, e, profile);
}

pgy_status engine_try_profiles(bool *tried, engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    *tried = false;
    for (size_t i = 0; i < profiles_count(e->profiles); i++) {
        if (!may_try(e, i) || !has_range_for(e, i, shapes)) continue;
        *tried = true;
        return try_profile(e, i, err);
    }
    return PGY_OK;
}

pgy_status engine_expect_profile(engine *e, size_t profile, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&e->lock);
    if (!e->file && may_try(e, profile)) st = try_profile(e, profile, err);
    pthread_mutex_unlock(&e->lock);
    return st;
}

pgy_status engine_range_base(program **out, engine *e, size_t profile, pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    pgy_status st = PGY_OK;
    int64_t part, whole;
    *out = NULL;
    pthread_mutex_lock(&e->lock);
    if (!e->ranges.off && profile < MOST_PROFILES && has_range_for(e, profile, NULL) &&
        find_base(&part, &whole, e, profile) && part) {
        st = base_shapes(&shapes, e, profile, err);
        const program *p = st ? NULL : engine_find_exact(e, shapes);
        if (p) *out = program_retain((program *)p);
    }
    pthread_mutex_unlock(&e->lock);
    pgy_metadata_destroy(shapes);
    return st;
}
