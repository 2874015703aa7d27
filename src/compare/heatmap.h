/* SPDX-License-Identifier: Apache-2.0 */
/* Heatmaps of errors as SVG. The last two axes of an array form an image, and a figure shows many
 * images in a grid. */
#ifndef COMPARE_HEATMAP_H
#define COMPARE_HEATMAP_H

#include <polygraphy/tensor.h>

#include "base/str.h"
#include "compare/axis.h"

typedef struct heatmap {
    const char *kind, *unit;    /* "Absolute Error", "units of the output" */
    const char *output, *sides; /* its name; a line that names both sides */
    const double *values;       /* not negative; NaN and infinity have colours of their own */
    axis scale;                 /* of the finite values */
    size_t rank;                /* 3 at least */
    int64_t shape[PGY_MAX_RANK + 2];
    /* images: product of all axes but the last two, which are height and width */
    size_t images, height, width;
    size_t rows, columns; /* grid of images in a figure */
} heatmap;

/* `logarithmic` asks for a log scale, which needs a positive value. An empty `t` gives no figures.
 */
heatmap heatmap_of(const pgy_tensor *t, const double *values, bool logarithmic);
size_t heatmap_figures(const heatmap *h);
/* "Relative Error | out (Log Scale): (0,0:H,0:W) to (7,0:H,0:W)" */
void heatmap_title(str *out, const heatmap *h, size_t figure);
pgy_status heatmap_draw(str *svg, const heatmap *h, size_t figure, pgy_error *err) PGY_MUST_CHECK;

#endif
