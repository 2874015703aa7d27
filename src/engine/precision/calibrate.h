/* SPDX-License-Identifier: Apache-2.0 */
/* From what flows through a model to the scales of its tensors, and the file they are kept in. */
#ifndef ENGINE_PRECISION_CALIBRATE_H
#define ENGINE_PRECISION_CALIBRATE_H

#include <polygraphy/build_config.h>

#include "base/arena.h"
#include "base/str.h"
#include "graph/graph.h"

/* Scales by tensor name: what one step of int8 is worth. Zeroed is empty. */
typedef struct scale_table {
    strmap entries; /* name -> float in `memory` */
    arena memory;
} scale_table;

void scales_deinit(scale_table *t);
bool scales_set(scale_table *t, const char *name, float scale); /* false: out of memory */
const float *scales_find(const scale_table *t, const char *name);
/* Zero points, -128 to 127, are entries "NAME (zero point)" with 128 more. 0: there is none. */
bool scales_set_zero(scale_table *t, const char *name, int32_t zero); /* false: out of memory */
int32_t scales_find_zero(const scale_table *t, const char *name);
bool scales_have_zeros(const scale_table *t);

/* ---- calibration_cache.c: TensorRT's text form ----------------------------------------------- */

/* "TRT-8601-EntropyCalibration2", then "<tensor>: <8 hex digits>", the big-endian float32 scale.
 * PGY_E_FORMAT names path and line. *kind is that of the header, or stays if TensorRT has another
 * one. `path` is for messages. */
pgy_status calibration_cache_parse(scale_table *out, pgy_calibrator *kind, const char *text,
                                   size_t size, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* *found false: there is no such file, or it holds no scales. */
pgy_status calibration_cache_load(scale_table *out, pgy_calibrator *kind, bool *found,
                                  const char *path, pgy_error *err) PGY_MUST_CHECK;
/* The file appears whole or not at all. */
pgy_status calibration_cache_save(const char *path, const scale_table *scales,
                                  const pgy_calibration *c, pgy_error *err) PGY_MUST_CHECK;
const char *calibrator_name(pgy_calibrator kind); /* "EntropyCalibration2" ... */

/* ---- calibrator_histogram.c ------------------------------------------------------------------ */

/* How often magnitudes occur, in bins of equal width from 0. The first numbers set the width;
 * larger ones double it, which joins bins in pairs, so the result does not depend on batches but
 * for the width. */
enum { HISTOGRAM_BINS = 2048 };
typedef struct histogram {
    double width;      /* of a bin; 0: nothing but zeros so far */
    double max;        /* largest magnitude */
    double low, high;  /* least and largest number; 0 at most and at least */
    double square_sum; /* of the numbers */
    uint64_t counts[HISTOGRAM_BINS], below[HISTOGRAM_BINS]; /* below: those of negative numbers */
    uint64_t total, strange; /* numbers; infinities and NaNs, which are left out */
    uint64_t zeros;          /* also counted in the first bin */
} histogram;
void histogram_add(histogram *h, const float *x, size_t count);

/* ---- calibrator_entropy.c, calibrator_legacy.c: the largest magnitude that int8 is to hold ----
 */

double calibrator_entropy(const histogram *h);   /* the first bin, zeros, does not count */
double calibrator_entropy_2(const histogram *h); /* it counts as its neighbour does */
double calibrator_min_max(const histogram *h);
double calibrator_legacy(const histogram *h, double quantile, double cutoff);

/* ---- calibrator_error.c: what a grid of 8 bits does to the numbers ----------------------------
 */

/* Numbers are (q - zero) * scale; scale 0: nothing but zeros came. */
typedef struct grid {
    double scale;
    int32_t zero;
} grid;
grid grid_symmetric(double range);
grid grid_asymmetric(double low, double high);   /* low <= 0 <= high */
double grid_low(const grid *g, bool asymmetric); /* symmetric grids do not use -128 */
double grid_high(const grid *g);
/* Sum of the squared errors, as far as the histogram tells. */
double calibrator_error(const histogram *h, const grid *g, bool asymmetric);
double calibrator_snr_db(const histogram *h, const grid *g, bool asymmetric);
grid calibrator_grid(const pgy_calibration *c, const histogram *h);

/* ---- calibrate.c ----------------------------------------------------------------------------- */

/* What runs a model on calibration data. Whoever builds gives it: how a model is run is not known
 * here. */
typedef struct calibration_runner {
    /* Makes the model ready, by a config without int8, for inputs of all shapes in its profile. */
    pgy_status (*open)(void **run, pgy_model *model, const pgy_build_config *config,
                       pgy_error *err);
    /* Adds all outputs for one set of inputs. */
    pgy_status (*run)(void *run, const pgy_tensor_map *feed, pgy_tensor_map *out, pgy_error *err);
    void (*close)(void *run); /* NULL is fine */
} calibration_runner;

/* The scales of these tensors (of the top level, float32, not constant): from the cache, else from
 * the data, which are then written to the cache. `runner` NULL: there are no data. */
pgy_status calibrate(scale_table *out, pgy_graph *g, pgy_value *const *values, size_t count,
                     const pgy_build_config *config, const calibration_runner *runner,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
