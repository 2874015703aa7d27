/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign, MaxRoiPool and com.microsoft CropAndResize in float32. A first phase moves the channels
 * of the images last, so that samples are rows of contiguous numbers; positions are computed in
 * double, as in the definitions. */
#include "kernels/roi.h"

#include <string.h>

#include "base/alloc.h"

/* MOST_SIDE: limit of heights and widths. */
enum { MOST_RATIO = 4096, MOST_SIDE = INT32_MAX };

static bool roi_read_op(roi_params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    p->kind = n->def->name[0] == 'M' ? ROI_POOL : n->def->name[0] == 'C' ? ROI_CROP : ROI_ALIGN;
    p->scale = op_attr_float(n, "spatial_scale", 1);
    p->outside = op_attr_float(n, "extrapolation_value", 0);
    p->nearest = p->kind == ROI_CROP && op_attr_is(n, "mode", "nearest", "bilinear");
    if (p->kind != ROI_ALIGN) return true;
    const int64_t ratio = op_attr_int(n, "sampling_ratio", 0);
    p->ratio = (uint64_t)ratio;
    p->largest = op_attr_is(n, "mode", "max", "avg");
    p->shifted = n->def->since >= 16 &&
                 op_attr_is(n, "coordinate_transformation_mode", "half_pixel", "half_pixel");
    return ratio >= 0 && ratio <= MOST_RATIO;
}

static bool roi_describe(roi_params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *regions = &u->inputs[1], *y = &u->outputs[0];
    *p = (roi_params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    if (x->dtype != PGY_F32 || regions->dtype != PGY_F32 || x->rank != 4 || regions->rank != 2 ||
        y->rank != 4 || !kernel_count(x) || !kernel_count(y) || !roi_read_op(p, u))
        return false;
    p->batch = (uint64_t)x->shape[0];
    p->channels = (uint64_t)x->shape[1];
    p->height = (uint64_t)x->shape[2];
    p->width = (uint64_t)x->shape[3];
    p->regions = (uint64_t)y->shape[0];
    p->out_height = (uint64_t)y->shape[2];
    p->out_width = (uint64_t)y->shape[3];
    const kernel_tensor *images = p->kind == ROI_POOL ? NULL : &u->inputs[2];
    return p->height <= MOST_SIDE && p->width <= MOST_SIDE && y->shape[1] == x->shape[1] &&
           regions->shape[0] == y->shape[0] && regions->shape[1] == (images ? 4 : 5) &&
           (!images || (images->dtype == (p->kind == ROI_CROP ? PGY_I32 : PGY_I64) &&
                        kernel_count(images) == p->regions));
}

static double roi_pixels(const roi_params *p)
{
    return (double)p->batch * (double)p->height * (double)p->width;
}

static bool roi_accept(kernel_problem *u, double *cost_ns)
{
    roi_params p;
    if (!roi_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double samples = p.kind == ROI_ALIGN ? (double)(p.ratio ? p.ratio * p.ratio : 4) : 1;
    const double bins = (double)p.regions * (double)(p.out_height * p.out_width);
    *cost_ns = 100 + roi_pixels(&p) * (double)p.channels * 0.5 +
               bins * samples * (10 + 4 * (double)p.channels * u->self->rates[0]);
    return true;
}

static pgy_status roi_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    roi_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)roi_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    out->workspace_bytes = kernel_size_bytes(&u->inputs[0]);
    out->scratch_bytes = ROI_BINS * p->channels * sizeof(float);
    const uint64_t units = p->regions * roi_chunks(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    return PGY_OK;
}

static bool roi_extent(kernel_extent *e, const kernel_claim *q)
{
    const roi_params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, ROI_CROP + 1, "kind"))
        return false;
    static const uint32_t INPUTS[] = {[ROI_ALIGN] = 3, [ROI_POOL] = 2, [ROI_CROP] = 4};
    if (p->inputs != q->input_count || p->inputs != INPUTS[p->kind])
        return extent_refuse(e, "number of inputs");
    if (!p->batch || !p->channels || !p->height || !p->width || p->height > MOST_SIDE ||
        p->width > MOST_SIDE || !p->out_height || !p->out_width || p->out_height > MOST_SIDE ||
        p->out_width > MOST_SIDE || p->ratio > MOST_RATIO || !p->regions)
        return extent_refuse(e, "sizes");
    const uint64_t pixels = extent_mul3(p->batch, p->height, p->width);
    const uint64_t bins = extent_mul3(p->regions, p->out_height, p->out_width);
    extent_tensor(e, 0, extent_mul(pixels, p->channels), sizeof(float));
    extent_tensor(e, 1, extent_mul(p->regions, p->kind == ROI_POOL ? 5 : 4), sizeof(float));
    if (p->kind != ROI_POOL)
        extent_tensor(e, 2, p->regions, p->kind == ROI_CROP ? sizeof(int32_t) : sizeof(int64_t));
    extent_tensor(e, p->inputs, extent_mul(bins, p->channels), sizeof(float));
    e->indices = p->kind == ROI_POOL ? 1u << 1 : 1u << 2;
    e->phases = 2;
    e->workspace = extent_mul3(pixels, p->channels, sizeof(float));
    e->scratch = extent_mul(ROI_BINS * sizeof(float), p->channels);
    return true;
}

#define ROW(suffix, level, each)                                                                   \
    {                                                                                              \
        .name = "roi_f32_" #suffix, .version = 1,                                                  \
        .ops = "RoiAlign MaxRoiPool com.microsoft:CropAndResize", .needs = level, .rates = {each}, \
        .accept = roi_accept, .prepare = roi_prepare, .run = roi_run, .extent = roi_extent         \
    }
const kernel KERNELS_roi[] = {
    ROW(portable, CPU_PORTABLE, 0.3),
    ROW(avx2, CPU_AVX2, 0.1),
    ROW(avx512, CPU_AVX512, 0.06),
    {0},
};
