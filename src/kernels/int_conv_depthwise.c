/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearConv and ConvInteger with one input channel per group: each plane (of three axes: volume)
 * is copied with its padding, and rows of the output are sums over it. Where the processor has
 * instructions for sums of four products, shuffles gather four taps of a row for them. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/int_conv.h"
#include "kernels/int_problem.h"
#include "kernels/packing.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2_TARGET __attribute__((target("avx2")))
#define VNNI_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#endif

enum { MAX_KERNEL = 16, SLACK = 128 };
/* Bytes of a tile of sums. The scratch memory begins with two, then comes the padded plane. */
enum { TILE_BYTES = INT_MAX_ROWS * INT_MAX_COLUMNS * (int)sizeof(int32_t) };

typedef struct params {
    int_conv c;
    uint64_t width, height, depth; /* size of the padded plane */
    uint64_t quads;                /* number of groups of four taps in a row of the kernel */
    /* Where the kernel's rows begin in the padded plane. */
    uint64_t row_offsets[MAX_KERNEL * MAX_KERNEL];
    uint32_t words[16]; /* shuffle masks that gather the taps of 16 positions */
    uint8_t bytes[64];
    /* Byte offsets into the packed weights. */
    uint64_t at_ones, at_sums, at_zeros, at_bias, at_scales;
} params;

/* Sets the size of the padded plane, and the number of groups of taps. */
static void place_plane(params *p)
{
    const int_conv *c = &p->c;
    uint64_t *const sizes[] = {&p->depth, &p->height, &p->width};
    for (size_t d = 0; d < INT_CONV_AXES; d++)
        *sizes[d] = (uint64_t)((c->out_size[d] - 1) * c->stride[d] +
                               (c->kernel[d] - 1) * c->dilation[d] + 1);
    p->quads = (uint64_t)(c->kernel[2] + INT_GROUP - 1) / INT_GROUP;
    for (int64_t z = 0; z < c->kernel[0]; z++)
        for (int64_t y = 0; y < c->kernel[1]; y++)
            p->row_offsets[z * c->kernel[1] + y] =
                ((uint64_t)(z * c->dilation[0]) * p->height + (uint64_t)(y * c->dilation[1])) *
                p->width;
}

/* Bytes of the packed taps of one channel. */
static size_t taps_bytes(const params *p)
{
    return (size_t)(p->c.kernel[0] * p->c.kernel[1]) * p->quads * INT_GROUP;
}

static void place_packed(params *p)
{
    const uint64_t channels = p->c.groups * p->c.out;
    p->at_ones = channels * taps_bytes(p);
    p->at_sums = (p->at_ones + taps_bytes(p) + 63) / 64 * 64;
    p->at_zeros = p->at_sums + channels * sizeof(int32_t);
    p->at_bias = p->at_zeros + channels * sizeof(int32_t);
    p->at_scales = (p->at_bias + channels * sizeof(int32_t) + 63) / 64 * 64;
}

static uint64_t scratch_bytes(const params *p)
{
    return 2 * TILE_BYTES + p->depth * p->height * p->width + SLACK;
}

static bool int_conv_depthwise_describe(params *p, const kernel_problem *u)
{
    int_conv *c = &p->c;
    memset(p, 0, sizeof *p);
    if (!int_conv_describe(c, u) || c->kind == INT_CONV_TO_FLOAT || c->in != 1 || c->last)
        return false;
    for (size_t d = 0; d < INT_CONV_AXES; d++)
        if (c->kernel[d] > MAX_KERNEL) return false;
    place_plane(p);
    return true;
}

static bool int_conv_depthwise_accept(kernel_problem *u, double *cost_ns)
{
    const double products_per_ns = u->self->rates[0];
    params p;
    if (!int_conv_depthwise_describe(&p, u)) return false;
    int_problem_linear(u);
    const double y = (double)kernel_count(&u->outputs[0]);
    *cost_ns = 300 + y * (double)p.c.taps * (p.c.w_has_zero ? 2 : 1) / products_per_ns + y * 0.2 +
               (double)kernel_count(&u->inputs[0]) * 0.1;
    return true;
}

static bool int_conv_depthwise_fill(void *to, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const size_t channels = (size_t)(p->c.groups * p->c.out), taps = (size_t)p->c.taps;
    const size_t each = taps_bytes(p);
    const bool bytes = p->c.kind == INT_CONV_TO_BYTES; /* else ConvInteger */
    const size_t weights = bytes ? 3 : 1, zeros = bytes ? 5 : 3;
    const int shift = u->inputs[weights].dtype == PGY_U8 ? 128 : 0;
    uint8_t *packed = to;
    memset(packed, 0, p->at_scales + channels * sizeof(double));
    for (size_t i = 0; i < channels; i++) {
        const uint8_t *w = (const uint8_t *)u->inputs[weights].data + i * taps;
        int32_t sum = 0;
        for (size_t t = 0; t < taps; t++) {
            const size_t row = t / (size_t)p->c.kernel[2], column = t % (size_t)p->c.kernel[2];
            const int8_t v = (int8_t)(w[t] - shift);
            packed[i * each + row * p->quads * INT_GROUP + column] = (uint8_t)v;
            packed[p->at_ones + row * p->quads * INT_GROUP + column] = 1;
            sum += v;
        }
        ((int32_t *)(packed + p->at_sums))[i] = sum;
        ((int32_t *)(packed + p->at_zeros))[i] = (int32_t)(int_problem_int(u, zeros, i) - shift);
        if (!bytes) continue;
        ((int32_t *)(packed + p->at_bias))[i] = (int32_t)int_problem_int(u, 8, i);
        ((double *)(packed + p->at_scales))[i] =
            int_problem_float(u, 1, 0) * int_problem_float(u, 4, i) / int_problem_float(u, 6, 0);
    }
    return true;
}

static pgy_status int_conv_depthwise_pack(kernel_plan *out, params *p, const kernel_problem *u,
                                          pgy_error *err)
{
    const uint64_t channels = p->c.groups * p->c.out;
    const bool bytes = p->c.kind == INT_CONV_TO_BYTES;
    place_packed(p);
    const kernel_packing how = {.form = "int_conv_depthwise",
                                .numbers = {channels, p->c.taps, (uint64_t)p->c.kernel[2], p->quads,
                                            taps_bytes(p), p->at_scales, bytes},
                                .inputs = bytes ? 1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 |
                                                      1u << 8
                                                : 1u << 1 | 1u << 3,
                                .size_bytes = p->at_scales + channels * sizeof(double),
                                .fill = int_conv_depthwise_fill,
                                .user = p};
    out->packed_inputs = UINT32_C(1) << (bytes ? 3 : 1);
    return kernel_pack(out, u, &how, err);
}

static pgy_status int_conv_depthwise_prepare(kernel_plan *out, const kernel_problem *u,
                                             pgy_error *err)
{
    const cpu_level level = u->self->needs;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)int_conv_depthwise_describe(p, u); /* cannot fail after `accept` */
    p->c.level = level;
    for (uint32_t i = 0; i < 16; i++) p->words[i] = i / 4 * (uint32_t)p->c.stride[2] + i % 4;
    for (uint32_t i = 0; i < 64; i++)
        p->bytes[i] =
            (uint8_t)(i % 16 / 4 * (uint32_t)p->c.stride[2] + i % 4 * (uint32_t)p->c.dilation[2]);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t planes = p->c.batch * p->c.groups;
    out->parts = (uint32_t)(planes < 256 ? planes : 256);
    out->scratch_bytes = scratch_bytes(p);
    const pgy_status st = int_conv_depthwise_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool int_conv_depthwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->c.level)) return false;
    const int_conv *c = &p->c;
    params own;
    if (c->inputs != q->input_count || c->x_zero_input >= c->inputs)
        return extent_refuse(e, "numbers of operands");
    if (!extent_enum(e, c->kind, INT_CONV_TO_FLOAT, "kind")) return false;
    if (!int_conv_has_valid_sizes(c)) return extent_refuse(e, "shape");
    for (size_t d = 0; d < INT_CONV_AXES; d++)
        if (c->pad[d] < 0 || c->kernel[d] > MAX_KERNEL) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&c->finish)) return extent_refuse(e, "zero points");
    memcpy(&own, p, sizeof own);
    place_plane(&own);
    place_packed(&own);
    if (memcmp(&own, p, sizeof own) || extent_mul3(p->width, p->height, p->depth) > UINT64_C(1)
                                                                                        << 40)
        return extent_refuse(e, "places of taps and weights");
    const uint64_t planes = c->batch * c->groups, channels = c->groups * c->out;
    extent_tensor(e, 0, planes * int_conv_in_plane(c), 1);
    if (c->x_zero_input) extent_tensor(e, c->x_zero_input, 1, 1);
    extent_tensor(e, c->inputs, planes * c->out * int_conv_out_plane(c),
                  c->kind == INT_CONV_TO_BYTES ? 1 : sizeof(int32_t));
    e->packed = p->at_scales + channels * sizeof(double);
    e->scratch = scratch_bytes(p);
    return true;
}

/* ---- Sums of a row -------------------------------------------------------------------------- */

/* Sums for `n` positions, at most INT_MAX_COLUMNS, from a row of the plane. Writes whole
 * vectors. */
typedef void (*row_function)(const params *p, int32_t *sums, const uint8_t *x, const int8_t *w,
                             size_t n);

static inline void sum_taps(const params *p, int32_t *sums, const uint8_t *x, const int8_t *w,
                            size_t n)
{
    const size_t step = (size_t)p->c.stride[2], across = (size_t)p->c.dilation[2];
    const size_t rows = (size_t)(p->c.kernel[0] * p->c.kernel[1]);
    memset(sums, 0, n * sizeof *sums);
    for (size_t row = 0; row < rows; row++, w += p->quads * INT_GROUP) {
        const uint8_t *line = x + p->row_offsets[row];
        for (size_t k = 0; k < (size_t)p->c.kernel[2]; k++) {
            const uint8_t *from = line + k * across;
            const int32_t tap = w[k];
            if (step == 1)
                for (size_t i = 0; i < n; i++) sums[i] += tap * from[i];
            else
                for (size_t i = 0; i < n; i++) sums[i] += tap * from[i * step];
        }
    }
}

static void int_conv_depthwise_sum_portable(const params *p, int32_t *sums, const uint8_t *x,
                                            const int8_t *w, size_t n)
{
    sum_taps(p, sums, x, w, n);
}

#if defined(__x86_64__)
AVX2_TARGET static void int_conv_depthwise_sum_avx2(const params *p, int32_t *sums,
                                                    const uint8_t *x, const int8_t *w, size_t n)
{
    sum_taps(p, sums, x, w, n);
}

/* Do the taps of four positions lie within 16 bytes? */
static bool fits_lanes(const int_conv *c)
{
    return c->stride[2] <= 4 && 3 * c->stride[2] + 3 * c->dilation[2] < 16;
}

VNNI_TARGET static void int_conv_depthwise_sum_vnni(const params *p, int32_t *sums,
                                                    const uint8_t *x, const int8_t *w, size_t n)
{
    const size_t step = (size_t)p->c.stride[2], across = (size_t)p->c.dilation[2];
    const size_t vectors = (n + 15) / 16, rows = (size_t)(p->c.kernel[0] * p->c.kernel[1]);
    const __m512i lanes = _mm512_loadu_si512(p->words), taps = _mm512_loadu_si512(p->bytes);
    __m512i sum[3] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *begin = x + p->row_offsets[row];
        for (size_t q = 0; q < p->quads; q++, w += INT_GROUP) {
            const uint8_t *from = begin + q * INT_GROUP * across;
            int32_t four;
            memcpy(&four, w, sizeof four);
            const __m512i right = _mm512_set1_epi32(four);
#pragma GCC unroll 3
            for (size_t v = 0; v < 3; v++) {
                if (v >= vectors) break;
                const __m512i line = _mm512_loadu_si512(from + 16 * v * step);
                const __m512i left =
                    _mm512_shuffle_epi8(_mm512_permutexvar_epi32(lanes, line), taps);
                sum[v] = _mm512_dpbusd_epi32(sum[v], left, right);
            }
        }
    }
    for (size_t v = 0; v < vectors; v++) _mm512_storeu_si512(sums + 16 * v, sum[v]);
}
#endif

static row_function int_conv_depthwise_find_row(const params *p)
{
#if defined(__x86_64__)
    if (p->c.level >= CPU_AVX512 && cpu_has_byte_sums(CPU_AVX512) && fits_lanes(&p->c))
        return int_conv_depthwise_sum_vnni;
    if (p->c.level >= CPU_AVX2) return int_conv_depthwise_sum_avx2;
#endif
    (void)p;
    return int_conv_depthwise_sum_portable;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Copies the plane with its padding, as unsigned bytes. */
static void copy_plane(const params *p, uint8_t *to, const uint8_t *x, uint8_t zero)
{
    const int_conv *c = &p->c;
    const uint8_t flip = c->x_signed ? 0x80 : 0;
    const int64_t width = (int64_t)p->width, height = (int64_t)p->height;
    const int64_t rows = height * (int64_t)p->depth;
    const int64_t left = c->pad[2] < width ? c->pad[2] : width;
    const int64_t right = left + c->size[2] < width ? left + c->size[2] : width;
    memset(to, zero, (size_t)(width * rows));
    for (int64_t row = 0; row < rows; row++, to += width) {
        const int64_t line = row % height - c->pad[1], slice = row / height - c->pad[0];
        if (line < 0 || line >= c->size[1] || slice < 0 || slice >= c->size[0]) continue;
        const uint8_t *from = x + (slice * c->size[1] + line) * c->size[2];
        if (flip)
            for (int64_t i = left; i < right; i++) to[i] = from[i - left] ^ flip;
        else
            int_conv_copy(to + left, from, (size_t)(right - left));
    }
}

/* Everything needed to compute one output plane. */
typedef struct channel {
    const params *p;
    const int_tile *tile;
    row_function row;
    const int8_t *w, *ones; /* ones: weights that add the bytes under the taps; NULL: not needed */
    const uint8_t *plane;
    uint8_t *y, *lines;
    int32_t *sums, w_zero, offsets[INT_MAX_ROWS];
    double scales[INT_MAX_ROWS];
} channel;

/* Sums of `n` positions, offsets not included. */
static void depthwise_sums(const channel *h, int32_t *sums, const uint8_t *x, size_t n)
{
    int32_t ones[INT_MAX_COLUMNS];
    h->row(h->p, sums, x, h->w, n);
    if (!h->ones) return;
    h->row(h->p, ones, x, h->ones, n);
    for (size_t i = 0; i < n; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] - (uint32_t)h->w_zero * (uint32_t)ones[i]);
}

/* Stores rows of n results, `stride` elements apart, from element `at` of the output plane. */
static void depthwise_store(const channel *h, size_t at, size_t stride, size_t rows, size_t n)
{
    const int_conv *c = &h->p->c;
    if (c->kind == INT_CONV_TO_BYTES) {
        h->tile->finish_rows(h->y + at, stride, h->sums, rows, n, &c->finish, h->offsets,
                             h->scales);
        return;
    }
    int32_t *y = (int32_t *)(void *)h->y + at;
    for (size_t r = 0; r < rows; r++, y += stride)
        for (size_t i = 0; i < n; i++)
            y[i] = (int32_t)((uint32_t)h->sums[r * INT_MAX_COLUMNS + i] + (uint32_t)h->offsets[0]);
}

/* Computes the output row by row. */
static void int_conv_depthwise_rows(const channel *h)
{
    const int_conv *c = &h->p->c;
    const size_t width = (size_t)c->out_size[2], height = (size_t)c->out_size[1];
    const size_t lines = (size_t)c->out_size[0] * height;
    for (size_t first = 0, rows; first < lines; first += rows) {
        const size_t line = first % height, slice = first / height * (size_t)c->stride[0];
        rows = height - line < INT_MAX_ROWS ? height - line : INT_MAX_ROWS;
        const uint8_t *x =
            h->plane + (slice * h->p->height + line * (size_t)c->stride[1]) * h->p->width;
        for (size_t at = 0; at < width; at += INT_MAX_COLUMNS) {
            const size_t n = width - at < INT_MAX_COLUMNS ? width - at : INT_MAX_COLUMNS;
            for (size_t i = 0; i < rows; i++)
                depthwise_sums(
                    h, h->sums + i * INT_MAX_COLUMNS,
                    x + i * (size_t)c->stride[1] * h->p->width + at * (size_t)c->stride[2], n);
            depthwise_store(h, first * width + at, width, rows, n);
        }
    }
}

/* Copies results of positions [first, first + count), counted along the padded rows, to their
 * places in the output. */
static void depthwise_place(const channel *h, size_t first, size_t count)
{
    const int_conv *c = &h->p->c;
    const size_t width = (size_t)c->out_size[2], height = (size_t)c->out_size[1];
    const size_t padded = h->p->width, item = c->kind == INT_CONV_TO_BYTES ? 1 : sizeof(int32_t);
    size_t line = first / padded % h->p->height, slice = first / padded / h->p->height;
    size_t column = first % padded;
    for (size_t at = 0; at < count; column = 0) {
        const size_t left = padded - column < count - at ? padded - column : count - at;
        const size_t n = column >= width || line >= height ? 0
                         : width - column < left           ? width - column
                                                           : left;
        int_conv_copy(h->y + ((slice * height + line) * width + column) * item,
                      h->lines + at * item, n * item);
        if (++line == h->p->height) {
            line = 0;
            slice++;
        }
        at += left;
    }
}

/* With strides of 1, positions are counted along the padded rows, so tiles are full for any
 * width. */
static void int_conv_depthwise_positions(const channel *h)
{
    enum { PIECE = INT_MAX_ROWS * INT_MAX_COLUMNS };
    const int_conv *c = &h->p->c;
    const size_t total =
        ((size_t)(c->out_size[0] - 1) * h->p->height + (size_t)(c->out_size[1] - 1)) * h->p->width +
        (size_t)c->out_size[2];
    channel piece = *h;
    piece.y = h->lines;
    for (size_t first = 0; first < total; first += PIECE) {
        const size_t count = total - first < PIECE ? total - first : PIECE;
        const size_t rows = (count + INT_MAX_COLUMNS - 1) / INT_MAX_COLUMNS;
        for (size_t i = 0; i < rows; i++)
            depthwise_sums(h, h->sums + i * INT_MAX_COLUMNS, h->plane + first + i * INT_MAX_COLUMNS,
                           INT_MAX_COLUMNS);
        depthwise_store(&piece, 0, INT_MAX_COLUMNS, rows, INT_MAX_COLUMNS);
        depthwise_place(h, first, count);
    }
}

/* Computes output channel `index` of an image from its plane. */
static void int_conv_depthwise_channel(const params *p, const kernel_run *r, size_t image,
                                       size_t index, const uint8_t *plane, uint8_t zero)
{
    const int_conv *c = &p->c;
    const char *packed = r->packed;
    const size_t each = taps_bytes(p), item = c->kind == INT_CONV_TO_BYTES ? 1 : sizeof(int32_t);
    const uint32_t sum = ((const uint32_t *)(packed + p->at_sums))[index];
    const uint32_t bias = ((const uint32_t *)(packed + p->at_bias))[index];
    const uint32_t w_zero = ((const uint32_t *)(packed + p->at_zeros))[index];
    channel h = {.p = p,
                 .tile = int_tile_of((cpu_level)c->level),
                 .row = int_conv_depthwise_find_row(p),
                 .w = (const int8_t *)packed + index * each,
                 .ones = w_zero ? (const int8_t *)packed + p->at_ones : NULL,
                 .w_zero = (int32_t)w_zero,
                 .plane = plane,
                 .y = (uint8_t *)r->tensors[c->inputs] +
                      (image * c->groups * c->out + index) * int_conv_out_plane(c) * item,
                 .lines = (uint8_t *)r->scratch + TILE_BYTES,
                 .sums = r->scratch};
    for (size_t i = 0; i < INT_MAX_ROWS; i++) {
        h.offsets[i] = (int32_t)(bias + zero * ((uint32_t)c->taps * w_zero - sum));
        h.scales[i] = ((const double *)(packed + p->at_scales))[index];
    }
    if (c->stride[0] == 1 && c->stride[1] == 1 && c->stride[2] == 1)
        int_conv_depthwise_positions(&h);
    else
        int_conv_depthwise_rows(&h);
}

static void int_conv_depthwise_run(const kernel_run *r)
{
    const params *p = r->params;
    const int_conv *c = &p->c;
    const uint8_t zero = (uint8_t)int_problem_unsigned(
        c->x_zero_input ? r->tensors[c->x_zero_input] : NULL, c->x_signed);
    uint8_t *plane = (uint8_t *)r->scratch + 2 * TILE_BYTES;
    size_t from, to;
    kernel_share(&from, &to, c->batch * c->groups, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t group = i % c->groups;
        copy_plane(p, plane, (const uint8_t *)r->tensors[0] + i * int_conv_in_plane(c), zero);
        for (size_t k = 0; k < c->out; k++)
            int_conv_depthwise_channel(p, r, i / c->groups, group * c->out + k, plane, zero);
    }
}

#define ROW(suffix, level, products_per_ns)                                              \
    {                                                                                    \
        .name = "conv_int8_depthwise_" #suffix, .version = 3,                            \
        .ops = "QLinearConv ConvInteger com.microsoft:QLinearConv pgy:QLinearConv",      \
        .needs = level, .rates = {products_per_ns}, .accept = int_conv_depthwise_accept, \
        .prepare = int_conv_depthwise_prepare, .run = int_conv_depthwise_run,            \
        .extent = int_conv_depthwise_extent                                              \
    }
const kernel KERNELS_int_conv_depthwise[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 5),
    ROW(avx512, CPU_AVX512, 20),
    {0},
};
