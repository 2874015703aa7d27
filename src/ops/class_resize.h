/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling along axes for Resize and Upsample: each output element is a weighted sum of source
 * elements. */
#ifndef OPS_CLASS_RESIZE_H
#define OPS_CLASS_RESIZE_H

#include "ops/class_check.h"

typedef enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } resize_mode;
typedef enum resize_coords {
    RESIZE_HALF_PIXEL,
    RESIZE_HALF_PIXEL_SYMMETRIC,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL_FOR_NN,
    RESIZE_TF_CROP
} resize_coords;
typedef enum resize_rounding {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL,
    RESIZE_FLOOR_UP_CEIL_DOWN /* Upsample and Resize 10: floor when enlarging, ceil when shrinking
                               */
} resize_rounding;

typedef struct resize_settings {
    resize_mode mode;
    resize_coords coords;
    resize_rounding rounding;
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
} resize_settings;

typedef struct resize_axis {
    double scale, roi_begin, roi_end;
} resize_axis;

/* Computes an axis's output size from its scale in single precision, as exporters do. */
pgy_status resize_scaled(dim *out, op_infer *c, dim in, double scale,
                         pgy_error *err) PGY_MUST_CHECK;
/* Fills output 0 from input 0; axes has one entry per dimension. */
pgy_status resize_run(op_eval *c, const resize_settings *s, const resize_axis *axes,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
