/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements over sizes of dimensions. bench_axes.c reads the sizes and gives inputs their
 * shapes, bench_measure.c fills the points. */
#ifndef PERF_BENCH_SWEEP_H
#define PERF_BENCH_SWEEP_H

#include <polygraphy/bench_sweep.h>

#include "perf/bench.h"

enum { BENCH_AXES = 8, BENCH_POINTS = 1000 };

typedef struct bench_axis {
    char *name;
    int64_t *sizes; /* each over 0, all different */
    size_t count, capacity;
} bench_axis;

struct pgy_bench_axes {
    bench_axis items[BENCH_AXES];
    size_t count;
};

struct pgy_bench_sweep {
    pgy_bench_axes *axes;
    pgy_bench **points;
    char **places;
    size_t count; /* of points that are there */
};

/* ---- bench_axes.c ---- */
/* Adds an axis, whose sizes are checked. */
pgy_status bench_axes_add(pgy_bench_axes *a, const char *name, size_t name_size,
                          const int64_t *sizes, size_t count, pgy_error *err) PGY_MUST_CHECK;
pgy_status bench_axes_copy(pgy_bench_axes **out, const pgy_bench_axes *a,
                           pgy_error *err) PGY_MUST_CHECK;
size_t bench_axes_points(const pgy_bench_axes *a); /* product of the numbers of sizes */
int64_t bench_axes_at(const pgy_bench_axes *a, size_t point, size_t axis);

/* ---- bench_feed.c ---- */
/* Copies the metadata, with the sizes of the point for the dimensions that the axes name. A side
 * that lacks one of them is an error. */
pgy_status bench_axes_apply(pgy_metadata **out, const pgy_metadata *inputs, const pgy_bench_axes *a,
                            size_t point, pgy_error *err) PGY_MUST_CHECK;
/* Makes the inputs of an active side at a point. */
pgy_status bench_feed(pgy_tensor_map **out, const pgy_bench_side *side, const pgy_bench_axes *a,
                      size_t point, pgy_error *err) PGY_MUST_CHECK;

/* ---- bench_sweep.c ---- */
/* A sweep whose points have to be filled. `a` is copied; NULL: no axes. */
pgy_status bench_sweep_create(pgy_bench_sweep **out, const pgy_bench_axes *a,
                              pgy_error *err) PGY_MUST_CHECK;
/* The point's place among all points that have a bench, by texts: "'name' at batch=8". */
void bench_append_where(str *out, const pgy_bench_sweep *s, size_t point, const char *side);

/* ---- bench_check.c ---- */
typedef struct bench_checker {
    const pgy_bench_side *sides;  /* active */
    pgy_tensor_map *const *feeds; /* of the sides, if the sweep has no axes */
    pgy_bench_reference reference;
    pgy_bench_sweep *sweep;
} bench_checker;
/* Reads and checks the reference of the options, before anything is measured. */
pgy_status bench_checker_init(bench_checker *c, const pgy_bench_options *o, const pgy_bench_axes *a,
                              pgy_error *err) PGY_MUST_CHECK;
/* Fills the accuracy of every side at every point. A reference that cannot run is no error: the
 * accuracy then says why it is not measured. */
pgy_status bench_check_all(const bench_checker *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- Files ---- */
pgy_status bench_sweep_write(json_writer *w, const void *user, pgy_error *err) PGY_MUST_CHECK;
pgy_status bench_sweep_parse(pgy_bench_sweep **out, span text, const char *path,
                             pgy_error *err) PGY_MUST_CHECK;
pgy_status bench_sweep_svg(str *out, const pgy_bench_sweep *s, pgy_error *err) PGY_MUST_CHECK;

#endif
