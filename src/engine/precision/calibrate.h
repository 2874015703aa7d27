/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration: computes the scales of tensors from sample data, and keeps them in a cache file. */
#ifndef ENGINE_PRECISION_CALIBRATE_H
#define ENGINE_PRECISION_CALIBRATE_H

#include <polygraphy/build_config.h>

#include "base/arena.h"
#include "base/str.h"
#include "graph/graph.h"

/* Scales by tensor name: the real value of one int8 step. A zeroed table is empty. */
typedef struct scale_table {
    strmap entries; /* name -> float in `memory` */
    arena memory;
} scale_table;

void scales_deinit(scale_table *t);
bool scales_set(scale_table *t, const char *name, float scale); /* false: out of memory */
const float *scales_find(const scale_table *t, const char *name);
/* Zero points, -128 to 127, are stored as entries "NAME (zero point)" with value + 128; no entry:
 * 0. */
bool scales_set_zero(scale_table *t, const char *name, int32_t zero); /* false: out of memory */
int32_t scales_find_zero(const scale_table *t, const char *name);
bool scales_have_zeros(const scale_table *t);

/* ---- calibration_cache.c: TensorRT's text form ----------------------------------------------- */

/* Parses a calibration cache: "TRT-8601-EntropyCalibration2", then lines "<tensor>: <8 hex
 * digits>", the big-endian float32 scale. PGY_E_FORMAT names path and line. *kind becomes that of
 * the header; it stays if the library has no such calibrator. `path` is for messages. */
pgy_status calibration_cache_parse(scale_table *out, pgy_calibrator *kind, const char *text,
                                   size_t size, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* *found false: the file does not exist, or has no scales. */
pgy_status calibration_cache_load(scale_table *out, pgy_calibrator *kind, bool *found,
                                  const char *path, pgy_error *err) PGY_MUST_CHECK;
/* The file appears whole or not at all. */
pgy_status calibration_cache_save(const char *path, const scale_table *scales,
                                  const pgy_calibration *c, pgy_error *err) PGY_MUST_CHECK;
const char *calibrator_name(pgy_calibrator kind); /* "EntropyCalibration2" ... */

/* ---- calibrator_histogram.c ------------------------------------------------------------------ */

/* Counts of magnitudes in bins of equal width from 0. The first numbers set the width; larger
 * numbers double it and join bins in pairs. So batching changes only the width. */
enum { HISTOGRAM_BINS = 2048 };
typedef struct histogram {
    double width;      /* of a bin; 0: nothing but zeros so far */
    double max;        /* largest magnitude */
    double low, high;  /* least and greatest number; low <= 0 <= high */
    double square_sum; /* sum of the squares of all numbers */
    uint64_t counts[HISTOGRAM_BINS], below[HISTOGRAM_BINS]; /* below: those of negative numbers */
    uint64_t total, strange; /* numbers; infinities and NaNs, which are not counted */
    uint64_t zeros;          /* also counted in the first bin */
} histogram;
void histogram_add(histogram *h, const float *x, size_t count);

/* ---- calibrator_entropy.c, calibrator_legacy.c: the largest magnitude that int8 is to hold ----
 */

double calibrator_entropy(const histogram *h);   /* ignores the first bin, which holds zeros */
double calibrator_entropy_2(const histogram *h); /* gives it the count of its neighbour */
double calibrator_min_max(const histogram *h);
double calibrator_legacy(const histogram *h, double quantile, double cutoff);

/* ---- calibrator_error.c: what a grid of 8 bits does to the numbers ----------------------------
 */

/* Real value = (q - zero) * scale; scale 0: all samples were 0. */
typedef struct grid {
    double scale;
    int32_t zero;
} grid;
grid grid_symmetric(double range);
grid grid_asymmetric(double low, double high);   /* low <= 0 <= high */
double grid_low(const grid *g, bool asymmetric); /* symmetric grids do not use -128 */
double grid_high(const grid *g);
/* Sum of squared quantisation errors, as estimated from the histogram. */
double calibrator_error(const histogram *h, const grid *g, bool asymmetric);
double calibrator_snr_db(const histogram *h, const grid *g, bool asymmetric);
grid calibrator_grid(const pgy_calibration *c, const histogram *h);

/* ---- calibrate.c ----------------------------------------------------------------------------- */

/* Runs a model on calibration data. The caller of a build supplies it, since this room knows no
 * engines. */
typedef struct calibration_runner {
    /* Prepares the model for inputs of all shapes in its profile. The config has no int8. */
    pgy_status (*open)(void **run, pgy_model *model, const pgy_build_config *config,
                       pgy_error *err);
    /* Runs one sample and adds all outputs to `out`. */
    pgy_status (*run)(void *run, const pgy_tensor_map *feed, pgy_tensor_map *out, pgy_error *err);
    void (*close)(void *run); /* NULL is fine */
} calibration_runner;

/* Finds the scales of these tensors (top level, float32, not constant): from the cache, else from
 * calibration data; then writes the cache. `runner` NULL: calibration data cannot be run. */
pgy_status calibrate(scale_table *out, pgy_graph *g, pgy_value *const *values, size_t count,
                     const pgy_build_config *config, const calibration_runner *runner,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
