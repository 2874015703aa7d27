/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im in float32 with a constant block. Each plane of the image is cleared, then every tap of
 * the block adds its columns, row by row. An element gets at most one term from a tap, so the order
 * of its sum is that of the taps. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vector_four.h"
#include "ops/class_window.h"

/* LARGEST: sizes below it keep products of two within int64_t. */
enum { AXES = 6, LARGEST = INT32_MAX };

typedef struct params {
    uint32_t level, axes;
    uint64_t planes, taps, places, area; /* columns of the input, elements of a plane */
    int64_t image[AXES], block[AXES], places_of[AXES], stride[AXES], dilation[AXES], pad[AXES];
} params;

static bool col2im_axes(params *p, const kernel_problem *u, const window *w)
{
    p->taps = p->places = p->area = 1;
    for (uint32_t d = 0; d < p->axes; d++) {
        p->image[d] = u->outputs[0].shape[d + 2];
        p->block[d] = w->kernel[d];
        p->stride[d] = w->stride[d];
        p->dilation[d] = w->dilation[d];
        p->pad[d] = w->begin[d];
        if (p->image[d] < 1 || p->image[d] >= LARGEST || w->kernel[d] >= LARGEST ||
            w->stride[d] >= LARGEST || w->dilation[d] >= LARGEST || w->begin[d] >= LARGEST ||
            w->end[d] >= LARGEST)
            return false;
        const int64_t room =
            p->image[d] + w->begin[d] + w->end[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
        p->places_of[d] = room < 0 ? 0 : room / w->stride[d] + 1;
        if (p->places_of[d] < 1 || p->places_of[d] >= LARGEST) return false;
        p->taps = extent_mul(p->taps, (uint64_t)p->block[d]);
        p->places = extent_mul(p->places, (uint64_t)p->places_of[d]);
        p->area = extent_mul(p->area, (uint64_t)p->image[d]);
    }
    return true;
}

static bool col2im_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *block = &u->inputs[2], *y = &u->outputs[0];
    window w;
    *p = (params){.level = u->self->needs, .axes = (uint32_t)y->rank - 2};
    if (x->dtype != PGY_F32 || x->rank != 3 || y->rank < 3 || y->rank > 2 + AXES ||
        block->dtype != PGY_I64 || !block->data || kernel_count(block) != p->axes ||
        !kernel_count(x) || !kernel_count(y))
        return false;
    const int64_t *sizes = block->data;
    for (uint32_t d = 0; d < p->axes; d++)
        if (sizes[d] < 1) return false;
    if (window_read(&w, u->node, p->axes, NULL) || window_kernel(&w, u->node, sizes, NULL))
        return false;
    if (!col2im_axes(p, u, &w)) return false;
    p->planes = (uint64_t)(y->shape[0] * y->shape[1]);
    return p->places == (uint64_t)x->shape[2] && x->shape[0] == y->shape[0] &&
           extent_mul((uint64_t)y->shape[1], p->taps) == (uint64_t)x->shape[1];
}

static bool col2im_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!col2im_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.planes * p.taps * p.places) * u->self->rates[0];
    return true;
}

static pgy_status col2im_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)col2im_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(p->planes < 256 ? p->planes : 256);
    return PGY_OK;
}

static bool col2im_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t taps = 1, places = 1, area = 1;
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 3) return extent_refuse(e, "number of inputs");
    if (p->axes < 1 || p->axes > AXES) return extent_refuse(e, "axes");
    for (uint32_t d = 0; d < p->axes; d++) {
        if (!extent_between(p->image[d], 1, LARGEST) || !extent_between(p->block[d], 1, LARGEST) ||
            !extent_between(p->places_of[d], 1, LARGEST) ||
            !extent_between(p->stride[d], 1, LARGEST) ||
            !extent_between(p->dilation[d], 1, LARGEST) || !extent_between(p->pad[d], 0, LARGEST))
            return extent_refuse(e, "sizes");
        taps = extent_mul(taps, (uint64_t)p->block[d]);
        places = extent_mul(places, (uint64_t)p->places_of[d]);
        area = extent_mul(area, (uint64_t)p->image[d]);
    }
    if (taps != p->taps || places != p->places || area != p->area || !p->planes ||
        extent_mul(taps, places) > INT64_MAX)
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, extent_mul3(p->planes, taps, places), sizeof(float));
    extent_tensor(e, 3, extent_mul(p->planes, area), sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Rows of terms: `columns` of them, `stride` elements apart in the image. Of several taps along the
 * last axis, one begins `next` terms behind the one before it, and one element later in the image.
 */
typedef struct terms {
    int64_t rows, columns, stride, x_step, y_step; /* steps from row to row */
    int64_t taps, next;
} terms;
typedef void (*add_function)(float *y, const float *x, const terms *t);

static void col2im_add_portable(float *y, const float *x, const terms *t)
{
    const int64_t columns = t->columns, stride = t->stride;
    for (int64_t r = 0; r < t->rows; r++) {
        const float *from = x + r * t->x_step;
        float *to = y + r * t->y_step;
        if (stride == 1)
            for (int64_t i = 0; i < columns; i++) to[i] += from[i];
        else
            for (int64_t i = 0; i < columns; i++) to[i * stride] += from[i];
    }
}

/* Four columns by four taps. */
static inline void col2im_add_square(float *y, int64_t stride, const float *x, int64_t next)
{
    const four p = four_load(x), q = four_load(x + next), r = four_load(x + 2 * next),
               s = four_load(x + 3 * next);
    const four a = __builtin_shufflevector(p, q, 0, 4, 1, 5),
               b = __builtin_shufflevector(r, s, 0, 4, 1, 5),
               c = __builtin_shufflevector(p, q, 2, 6, 3, 7),
               d = __builtin_shufflevector(r, s, 2, 6, 3, 7);
    const four sums[4] = {four_load(y) + __builtin_shufflevector(a, b, 0, 1, 4, 5),
                          four_load(y + stride) + __builtin_shufflevector(a, b, 2, 3, 6, 7),
                          four_load(y + 2 * stride) + __builtin_shufflevector(c, d, 0, 1, 4, 5),
                          four_load(y + 3 * stride) + __builtin_shufflevector(c, d, 2, 3, 6, 7)};
    for (int64_t i = 0; i < 4; i++) four_store(y + i * stride, sums[i]);
}

/* Taps that meet no element twice: a matrix of taps by columns is transposed on the way. */
static void col2im_add_turned(float *y, const float *x, const terms *t)
{
    const int64_t high = t->taps & ~INT64_C(3), wide = t->columns & ~INT64_C(3);
    for (int64_t r = 0; r < t->rows; r++) {
        const float *from = x + r * t->x_step;
        float *to = y + r * t->y_step;
        for (int64_t i = 0; i < wide; i += 4)
            for (int64_t k = 0; k < high; k += 4)
                col2im_add_square(to + i * t->stride + k, t->stride, from + i + k * t->next,
                                  t->next);
        for (int64_t i = 0; i < t->columns; i++)
            for (int64_t k = i < wide ? high : 0; k < t->taps; k++)
                to[i * t->stride + k] += from[i + k * t->next];
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void col2im_add_avx2(float *y, const float *x,
                                                            const terms *t)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i rest = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(t->columns % 8)), lanes);
    if (t->stride != 1) {
        col2im_add_portable(y, x, t);
        return;
    }
    for (int64_t r = 0; r < t->rows; r++) {
        const float *from = x + r * t->x_step;
        float *to = y + r * t->y_step;
        int64_t i = 0;
        for (; i + 8 <= t->columns; i += 8)
            _mm256_storeu_ps(to + i,
                             _mm256_add_ps(_mm256_loadu_ps(to + i), _mm256_loadu_ps(from + i)));
        if (i < t->columns)
            _mm256_maskstore_ps(to + i, rest,
                                _mm256_add_ps(_mm256_maskload_ps(to + i, rest),
                                              _mm256_maskload_ps(from + i, rest)));
    }
}

__attribute__((target("avx512f"))) static void col2im_add_avx512(float *y, const float *x,
                                                                 const terms *t)
{
    const __mmask16 rest = (__mmask16)((1u << t->columns % 16) - 1);
    if (t->stride != 1) {
        col2im_add_portable(y, x, t);
        return;
    }
    for (int64_t r = 0; r < t->rows; r++) {
        const float *from = x + r * t->x_step;
        float *to = y + r * t->y_step;
        int64_t i = 0;
        for (; i + 16 <= t->columns; i += 16)
            _mm512_storeu_ps(to + i,
                             _mm512_add_ps(_mm512_loadu_ps(to + i), _mm512_loadu_ps(from + i)));
        if (i < t->columns)
            _mm512_mask_storeu_ps(to + i, rest,
                                  _mm512_add_ps(_mm512_maskz_loadu_ps(rest, to + i),
                                                _mm512_maskz_loadu_ps(rest, from + i)));
    }
}
#else
#define col2im_add_avx2 col2im_add_portable
#define col2im_add_avx512 col2im_add_portable
#endif

/* A tap along an axis: places [low, high) fall into the image, the first of them at `at`. */
typedef struct reach {
    int64_t low, high, at;
} reach;

static reach col2im_reach(const params *p, uint32_t axis, int64_t tap)
{
    const int64_t offset = tap * p->dilation[axis] - p->pad[axis], step = p->stride[axis];
    const int64_t last = p->image[axis] - 1 - offset;
    reach s = {.low = offset < 0 ? (step - 1 - offset) / step : 0,
               .high = last < 0 ? 0 : last / step + 1};
    if (s.high > p->places_of[axis]) s.high = p->places_of[axis];
    if (s.low > s.high) s.low = s.high;
    s.at = s.low * step + offset;
    return s;
}

/* The image's row or plane at `place` along the first `axes` axes; -1: outside. */
static int64_t col2im_outer(const params *p, const int64_t *tap, const int64_t *place,
                            uint32_t axes)
{
    int64_t index = 0;
    for (uint32_t d = 0; d < axes; d++) {
        const int64_t at = place[d] * p->stride[d] + tap[d] * p->dilation[d] - p->pad[d];
        if (at < 0 || at >= p->image[d]) return -1;
        index = index * p->image[d] + at;
    }
    return index;
}

/* Do the taps along the last axis meet each element of a row at most once, and no padding? */
static bool col2im_apart(const params *p)
{
    const uint32_t last = p->axes - 1;
    return p->stride[last] >= p->block[last] && p->block[last] > 1 && p->dilation[last] == 1 &&
           !p->pad[last] &&
           (p->places_of[last] - 1) * p->stride[last] + p->block[last] <= p->image[last];
}

/* Steps an index over the first `axes` axes; the last of them runs fastest. */
static void col2im_step(int64_t *index, const int64_t *sizes, uint32_t axes)
{
    for (uint32_t d = axes; d-- > 0;) {
        if (++index[d] < sizes[d]) return;
        index[d] = 0;
    }
}

/* Adds the terms of a tap, or of `taps` along the last axis; the last two axes at once, the others
 * one by one. */
static void col2im_tap(const params *p, add_function add, float *y, const float *x,
                       const int64_t *tap, int64_t taps)
{
    const uint32_t last = p->axes - 1, outer = last ? last - 1 : 0;
    const int64_t width = p->image[last], height = last ? p->image[last - 1] : 1;
    const reach columns = col2im_reach(p, last, tap[last]);
    const reach rows = last ? col2im_reach(p, last - 1, tap[last - 1]) : (reach){0, 1, 0};
    const terms t = {.rows = rows.high - rows.low,
                     .columns = columns.high - columns.low,
                     .stride = p->stride[last],
                     .x_step = p->places_of[last],
                     .y_step = width * (last ? p->stride[last - 1] : 1),
                     .taps = taps,
                     .next = (int64_t)p->places};
    const int64_t each = p->places_of[last] * (last ? p->places_of[last - 1] : 1);
    int64_t place[AXES] = {0};
    if (!t.rows || !t.columns) return;
    for (uint64_t i = 0; i < p->places / (uint64_t)each; i++, x += each) {
        const int64_t plane = col2im_outer(p, tap, place, outer);
        if (plane >= 0)
            add(y + (plane * height + rows.at) * width + columns.at,
                x + rows.low * t.x_step + columns.low, &t);
        col2im_step(place, p->places_of, outer);
    }
}

static void col2im_run(const kernel_run *r)
{
    const params *p = r->params;
    const bool turned = col2im_apart(p);
    const add_function add = turned                   ? col2im_add_turned
                             : p->level == CPU_AVX512 ? col2im_add_avx512
                             : p->level == CPU_AVX2   ? col2im_add_avx2
                                                      : col2im_add_portable;
    const int64_t taps = turned ? p->block[p->axes - 1] : 1;
    size_t from, to;
    kernel_share(&from, &to, p->planes, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        float *y = (float *)r->tensors[3] + i * p->area;
        const float *x = (const float *)r->tensors[0] + i * p->taps * p->places;
        int64_t tap[AXES] = {0};
        memset(y, 0, p->area * sizeof *y);
        for (uint64_t t = 0; t < p->taps; t += (uint64_t)taps) {
            col2im_tap(p, add, y, x + t * p->places, tap, taps);
            col2im_step(tap, p->block, p->axes - (turned ? 1 : 0));
        }
    }
}

#define ROW(suffix, level, each)                                                                \
    {                                                                                           \
        .name = "col2im_f32_" #suffix, .version = 1, .ops = "Col2Im", .needs = level,           \
        .rates = {each}, .accept = col2im_accept, .prepare = col2im_prepare, .run = col2im_run, \
        .extent = col2im_extent                                                                 \
    }
const kernel KERNELS_col2im[] = {
    ROW(portable, CPU_PORTABLE, 0.8),
    ROW(avx2, CPU_AVX2, 0.5),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};
