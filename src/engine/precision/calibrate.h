/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration: computes the scales of tensors from sample data, and keeps them in a cache file. */
#ifndef ENGINE_PRECISION_CALIBRATE_H
#define ENGINE_PRECISION_CALIBRATE_H

#include <polygraphy/build_config.h>

#include "base/arena.h"
#include "base/str.h"
#include "graph/graph.h"

/* The scale of each tensor, by tensor name: how much a real number changes per int8 step. A zeroed
 * table is empty. */
typedef struct scale_table {
    strmap entries; /* tensor name -> its scale, a float in `memory` */
    arena memory;
} scale_table;

void scales_deinit(scale_table *t);
bool scales_set(scale_table *t, const char *name, float scale); /* false: out of memory */
const float *scales_find(const scale_table *t, const char *name);
/* The zero point of tensor NAME, -128 to 127, is stored as the entry "NAME (zero point)" with value
 * + 128; without an entry it is 0. */
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

/* Counts how many numbers have which magnitude, in bins of equal width from 0. The first numbers
 * set the width; larger numbers double it and join bins in pairs, so the data need not be seen
 * twice. */
enum { HISTOGRAM_BINS = 2048 };
typedef struct histogram {
    double width;      /* width of a bin; 0: all numbers so far were 0 */
    double max;        /* largest magnitude */
    double low, high;  /* least and greatest number; low <= 0 <= high */
    double square_sum; /* sum of the squares of all numbers */
    uint64_t counts[HISTOGRAM_BINS], below[HISTOGRAM_BINS]; /* counts: all numbers per bin; below:
                                                               the negative ones among them */
    uint64_t total, strange; /* total: finite numbers; strange: infinities and NaNs */
    uint64_t zeros;          /* number of zeros; the first bin counts them, too */
} histogram;
void histogram_add(histogram *h, const float *x, size_t count);

/* ---- calibrator_entropy.c, calibrator_legacy.c: the largest magnitude that int8 is to hold ----
 */

double calibrator_entropy(const histogram *h);   /* ignores the first bin, which holds the zeros */
double calibrator_entropy_2(const histogram *h); /* takes the second count for the first bin */
double calibrator_min_max(const histogram *h);
double calibrator_legacy(const histogram *h, double quantile, double cutoff);

/* ---- calibrator_error.c: the error of rounding numbers to 8 bits ----------------------------- */

/* The numbers that int8 values q stand for: (q - zero) * scale. Scale 0: all samples were 0. */
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

/* Callbacks that run a model on calibration data. The caller of a build supplies them, because
 * src/engine/precision must not depend on engines. */
typedef struct calibration_runner {
    /* Prepares the model for inputs of all shapes in the profile of `config`, which does not ask
     * for int8. *run is the handle for the other callbacks. */
    pgy_status (*open)(void **run, pgy_model *model, const pgy_build_config *config,
                       pgy_error *err);
    /* Runs one sample and adds all outputs to `out`. */
    pgy_status (*run)(void *run, const pgy_tensor_map *feed, pgy_tensor_map *out, pgy_error *err);
    void (*close)(void *run); /* `run` may be NULL */
} calibration_runner;

/* Finds the scales of these tensors of the main graph (float32, not constant): from the cache, else
 * by running the model on calibration data; then writes the cache. `runner` NULL: calibration data
 * cannot be run, so only a cache gives scales. */
pgy_status calibrate(scale_table *out, pgy_graph *g, pgy_value *const *values, size_t count,
                     const pgy_build_config *config, const calibration_runner *runner,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
