/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps in memory: points, the names of their places, and which of them are the worst. */
#include "perf/bench_sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* ---- Points ---------------------------------------------------------------------------------- */

/* The words that name the point on a command line. */
static char *name_place(const pgy_bench_axes *a, size_t point)
{
    str text = {0};
    for (size_t i = 0; i < a->count; i++)
        str_printf(&text, "%s%s=%" PRId64, i ? " " : "", a->items[i].name,
                   bench_axes_at(a, point, i));
    return text.size ? str_take(&text) : mem_strdup("");
}

pgy_status bench_sweep_create(pgy_bench_sweep **out, const pgy_bench_axes *a, pgy_error *err)
{
    pgy_bench_sweep *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = bench_axes_copy(&s->axes, a, err);
    const size_t count = st ? 0 : bench_axes_points(s->axes);
    if (!st) {
        s->points = mem_calloc(count, sizeof *s->points);
        s->places = mem_calloc(count, sizeof *s->places);
        if (s->points && s->places) s->count = count;
    }
    bool good = s->count > 0;
    for (size_t i = 0; good && i < count; i++)
        good = (s->places[i] = name_place(s->axes, i)) != NULL;
    if (!st && !good) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (st)
        pgy_bench_sweep_destroy(s);
    else
        *out = s;
    return st;
}

void pgy_bench_sweep_destroy(pgy_bench_sweep *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) {
        pgy_bench_destroy(s->points[i]);
        mem_free(s->places[i]);
    }
    mem_free(s->points);
    mem_free(s->places);
    pgy_bench_axes_destroy(s->axes);
    mem_free(s);
}

size_t pgy_bench_sweep_count(const pgy_bench_sweep *s)
{
    return s->count;
}

const pgy_bench_axes *pgy_bench_sweep_axes(const pgy_bench_sweep *s)
{
    return s->axes;
}

const pgy_bench *pgy_bench_sweep_at(const pgy_bench_sweep *s, size_t point)
{
    return s->points[point];
}

int64_t pgy_bench_sweep_size(const pgy_bench_sweep *s, size_t point, size_t axis)
{
    return bench_axes_at(s->axes, point, axis);
}

const char *pgy_bench_sweep_place(const pgy_bench_sweep *s, size_t point)
{
    return s->places[point];
}

/* Has the sweep's point the size for the axis of this name? */
static bool has_size(const pgy_bench_sweep *s, size_t point, const char *name, int64_t size)
{
    for (size_t i = 0; i < s->axes->count; i++)
        if (strcmp(s->axes->items[i].name, name) == 0)
            return bench_axes_at(s->axes, point, i) == size;
    return false;
}

bool pgy_bench_sweep_find(size_t *point, const pgy_bench_sweep *s, const pgy_bench_sweep *other,
                          size_t other_point)
{
    if (s->axes->count != other->axes->count) return false;
    for (size_t p = 0; p < s->count; p++) {
        size_t equal = 0;
        for (size_t i = 0; i < other->axes->count; i++)
            equal += has_size(s, p, other->axes->items[i].name,
                              bench_axes_at(other->axes, other_point, i));
        if (equal < s->axes->count) continue;
        *point = p;
        return true;
    }
    return false;
}

void bench_append_where(str *out, const pgy_bench_sweep *s, size_t point, const char *side)
{
    str_printf(out, "'%s'", side);
    if (s->places[point][0]) str_printf(out, " at %s", s->places[point]);
}

/* ---- The worst point ------------------------------------------------------------------------- */

/* A number that is greater for a worse point; *value is what the user reads. False: not known. */
static pgy_status rate(bool *known, double *badness, double *value, const pgy_bench_sweep *s,
                       size_t point, size_t side, pgy_bench_worst kind, pgy_error *err)
{
    const pgy_bench *b = s->points[point];
    pgy_bench_figures f;
    pgy_bench_verdict v;
    pgy_bench_accuracy a;
    pgy_status st = PGY_OK;
    *known = true;
    if (kind == PGY_BENCH_LARGEST_ERROR) {
        *known = pgy_bench_check(&a, b, side);
        *value = *known && a.measured ? a.error : NAN;
        *badness = isnan(*value) ? INFINITY : *value;
    } else if (kind == PGY_BENCH_SLOWEST_AGAINST) {
        *known = side > 0;
        if (*known) st = pgy_bench_judge(&v, b, side, 0, err);
        if (*known && !st) *badness = *value = v.effect;
    } else {
        double units = 1;
        for (size_t i = 0; kind == PGY_BENCH_SLOWEST_PER_UNIT && i < s->axes->count; i++)
            units *= (double)bench_axes_at(s->axes, point, i);
        st = pgy_bench_summarize(&f, b, side, err);
        if (!st) *badness = *value = f.median_ms / units;
    }
    return st;
}

pgy_status pgy_bench_sweep_worst(size_t *point, size_t *side, double *value,
                                 const pgy_bench_sweep *s, pgy_bench_worst kind, pgy_error *err)
{
    double worst = -INFINITY;
    bool found = false;
    pgy_status st = PGY_OK;
    for (size_t p = 0; !st && s->axes->count && p < s->count; p++)
        for (size_t i = 0; !st && i < s->points[p]->count; i++) {
            double badness = 0, v = 0;
            bool known;
            st = rate(&known, &badness, &v, s, p, i, kind, err);
            if (st || !known || (found && badness <= worst)) continue;
            found = true;
            worst = badness;
            *point = p;
            *side = i;
            *value = v;
        }
    if (!st && !found) st = pgy_error_set(err, PGY_E_NOT_FOUND, "the sweep has no such point");
    return st;
}
