/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign, MaxRoiPool and CropAndResize: parameters, and running. */
#ifndef KERNELS_ROI_H
#define KERNELS_ROI_H

#include "kernels/extent.h"

enum { ROI_BINS = 64 }; /* limit of the bins that a unit of work has */
typedef enum roi_kind { ROI_ALIGN, ROI_POOL, ROI_CROP } roi_kind;

typedef struct roi_params {
    uint64_t batch, channels, height, width, regions, out_height, out_width;
    uint64_t ratio; /* samples of a bin in each direction; 0: by its size */
    double scale, outside;
    /* largest: the mode max; shifted: half-pixel coordinates */
    uint32_t kind, level, inputs, largest, shifted, nearest;
} roi_params;

static inline uint64_t roi_chunks(const roi_params *p) /* units of a region */
{
    return (p->out_height * p->out_width - 1) / ROI_BINS + 1;
}

void roi_run(const kernel_run *r);

#endif
