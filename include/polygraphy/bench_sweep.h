/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Measurements over sizes of dynamic dimensions: one measurement of all sides at each point.
 *
 *     static const char *const WORDS[] = {"batch=1,2,4,8", "seq=64:1024:x2"};
 *     pgy_bench_axes *axes = NULL;
 *     pgy_bench_sweep *s = NULL;
 *     if (pgy_bench_axes_parse(&axes, WORDS, 2, &err)) ...
 *     if (pgy_bench_sweep_measure(&s, sides, 2, axes, NULL, &err)) ...
 *     if (pgy_bench_sweep_text(&text, s, &err)) ...
 *     pgy_bench_sweep_destroy(s);
 *     pgy_bench_axes_destroy(axes);
 *
 * A sweep without axes has one point, so code for sweeps serves single measurements, too.
 */
#ifndef POLYGRAPHY_BENCH_SWEEP_H
#define POLYGRAPHY_BENCH_SWEEP_H

#include <polygraphy/bench.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Axes ------------------------------------------------------------------------------------ */

/** Dynamic dimensions and the sizes that they take. */
typedef struct pgy_bench_axes pgy_bench_axes;
/** Reads words NAME=SIZES. NAME is the symbolic name of a dimension, or INPUT:AXIS. SIZES is a list
 * with commas of sizes and ranges: LOW:HIGH:xFACTOR, LOW:HIGH:STEP or LOW:HIGH. At most 8 axes and
 * 1000 points. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_axes_parse(pgy_bench_axes **out,
                                                       const char *const *words, size_t count,
                                                       pgy_error *err);
PGY_API void pgy_bench_axes_destroy(pgy_bench_axes *a); /**< NULL is fine */
PGY_API size_t pgy_bench_axes_count(const pgy_bench_axes *a);
PGY_API const char *pgy_bench_axes_name(const pgy_bench_axes *a, size_t axis);
/** Number of sizes of an axis. */
PGY_API size_t pgy_bench_axes_size_count(const pgy_bench_axes *a, size_t axis);
PGY_API int64_t pgy_bench_axes_size(const pgy_bench_axes *a, size_t axis, size_t i);

/* ---- Sweeps ---------------------------------------------------------------------------------- */

typedef struct pgy_bench_sweep pgy_bench_sweep;
/** Loads all sides once, then measures them at each point, for options->duration_s each. The data
 * loaders of the sides must be able to make other shapes (pgy_data_loader_can_regenerate).
 * @param axes  copied; NULL: one point */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_measure(pgy_bench_sweep **out,
                                                          const pgy_bench_side *sides, size_t count,
                                                          const pgy_bench_axes *axes,
                                                          const pgy_bench_options *options,
                                                          pgy_error *err);
PGY_API void pgy_bench_sweep_destroy(pgy_bench_sweep *s); /**< NULL is fine */
/** Number of points; the last axis varies fastest. */
PGY_API size_t pgy_bench_sweep_count(const pgy_bench_sweep *s);
PGY_API const pgy_bench_axes *pgy_bench_sweep_axes(const pgy_bench_sweep *s);
PGY_API const pgy_bench *pgy_bench_sweep_at(const pgy_bench_sweep *s, size_t point);
/** The size of an axis at a point. */
PGY_API int64_t pgy_bench_sweep_size(const pgy_bench_sweep *s, size_t point, size_t axis);
/** "batch=8 seq=64", the words of a sweep that has only this point; "" without axes. */
PGY_API const char *pgy_bench_sweep_place(const pgy_bench_sweep *s, size_t point);
/** Finds the point with the same sizes, in whatever order the axes are. */
PGY_API bool pgy_bench_sweep_find(size_t *point, const pgy_bench_sweep *s,
                                  const pgy_bench_sweep *other, size_t other_point);

/** Why a point is the worst. */
typedef enum pgy_bench_worst {
    PGY_BENCH_LARGEST_ERROR,    /**< against the reference; not measured is worse than any error */
    PGY_BENCH_SLOWEST_AGAINST,  /**< greatest ratio to the first side */
    PGY_BENCH_SLOWEST_PER_UNIT, /**< most time per element of the swept dimensions */
    PGY_BENCH_SLOWEST,          /**< greatest time */
    PGY_BENCH_WORST_COUNT
} pgy_bench_worst;
/** @param[out] value  the error (NaN: not measured), the ratio less 1, or the time in ms
 * @return PGY_E_NOT_FOUND if there is no such point: one side, no reference, no axes */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_worst(size_t *point, size_t *side, double *value,
                                                        const pgy_bench_sweep *s,
                                                        pgy_bench_worst kind, pgy_error *err);

/* ---- Texts and files ------------------------------------------------------------------------- */

/** Writes a table of points, and the verdicts of each. Without axes this is pgy_bench_text. Free
 * with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_text(char **out, const pgy_bench_sweep *s,
                                                       pgy_error *err);
/** Writes JSON (docs/bench.md). Without axes this is pgy_bench_save. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_save(const char *path, const pgy_bench_sweep *s,
                                                       pgy_error *err);
/** Reads files of pgy_bench_sweep_save and pgy_bench_save. @return PGY_E_FORMAT with the place */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_load(pgy_bench_sweep **out, const char *path,
                                                       pgy_error *err);
/** Writes one row for each point and side. Without axes this is pgy_bench_save_csv. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_save_csv(const char *path,
                                                           const pgy_bench_sweep *s,
                                                           pgy_error *err);
/** Draws distributions and slices, or with axes the times and errors over the points, as SVG. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_sweep_save_svg(const char *path,
                                                           const pgy_bench_sweep *s,
                                                           pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
