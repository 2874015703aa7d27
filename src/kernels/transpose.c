/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose, DepthToSpace and SpaceToDepth: the input read with permuted strides. If the last axis
 * is contiguous in the input, runs are copied; if another axis is, the two are transposed in tiles.
 */
#include <string.h>

#include "base/cancel.h"
#include "kernels/shared_params.h"
#include "kernels/squares.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { TILE = 16, COLORS = 3, COLOR_TILE = 512 };

typedef transpose_params params;

/* ---- Operators ------------------------------------------------------------------------------ */

static bool transpose_view(strided_view *v, const kernel_problem *u)
{
    const strided_view x = *v;
    size_t count;
    const int64_t *perm = op_attr_ints(u->node, "perm", &count);
    for (int32_t d = 0; d < x.rank; d++) {
        const int64_t from = perm ? perm[d] : x.rank - 1 - d;
        if ((perm && count != (size_t)x.rank) || from < 0 || from >= x.rank) return false;
        v->shape[d] = x.shape[from];
        v->strides[d] = x.strides[from];
    }
    return true;
}

/* Permutes six axes: DepthToSpace and SpaceToDepth are such transposes. */
static void transpose_permute(strided_view *v, const int64_t *sizes, const int *order)
{
    int64_t strides[6], stride = 1;
    for (int d = 5; d >= 0; d--) {
        strides[d] = stride;
        stride *= sizes[d];
    }
    *v = (strided_view){.rank = 6};
    for (int d = 0; d < 6; d++) {
        v->shape[d] = sizes[order[d]];
        v->strides[d] = strides[order[d]];
    }
}

static bool depth_to_space_view(strided_view *v, const kernel_problem *u)
{
    const int64_t b = op_attr_int(u->node, "blocksize", 0), *s = u->inputs[0].shape;
    if (u->inputs[0].rank != 4 || b < 1 || s[1] % (b * b)) return false;
    if (op_attr_is(u->node, "mode", "CRD", "DCR"))
        transpose_permute(v, (const int64_t[]){s[0], s[1] / b / b, b, b, s[2], s[3]},
                          (const int[]){0, 1, 4, 2, 5, 3});
    else
        transpose_permute(v, (const int64_t[]){s[0], b, b, s[1] / b / b, s[2], s[3]},
                          (const int[]){0, 3, 4, 1, 5, 2});
    return true;
}

static bool space_to_depth_view(strided_view *v, const kernel_problem *u)
{
    const int64_t b = op_attr_int(u->node, "blocksize", 0), *s = u->inputs[0].shape;
    if (u->inputs[0].rank != 4 || b < 1 || s[2] % b || s[3] % b) return false;
    const bool crd = op_attr_is(u->node, "mode", "CRD", "DCR");
    transpose_permute(v, (const int64_t[]){s[0], s[1], s[2] / b, b, s[3] / b, b},
                      crd ? (const int[]){0, 1, 3, 5, 2, 4} : (const int[]){0, 3, 5, 1, 2, 4});
    return true;
}

static bool transpose_view_of(strided_view *v, const kernel_problem *u)
{
    static const struct {
        const char *name;
        strided_view_of *view_of;
    } OPS[] = {
        {"Transpose", transpose_view},
        {"DepthToSpace", depth_to_space_view},
        {"SpaceToDepth", space_to_depth_view},
    };
    size_t i = 0;
    while (strcmp(OPS[i].name, u->node->def->name)) i++; /* ends: OPS lists all operators of .ops */
    return OPS[i].view_of(v, u);
}

/* ---- The kernel ----------------------------------------------------------------------------- */

/* Returns 1 + the axis of stride 1 to transpose with the last axis; 0 if the last has stride 0 or
 * 1, or if an axis is too short. Bytes of three colours have a loop of their own. */
static uint64_t find_turned(const walk *w, bool bytes)
{
    const uint64_t last = w->strides[0][w->rank - 1], least = bytes ? COLORS : 4;
    if (last <= 1 || w->shape[w->rank - 1] < least) return 0;
    for (uint32_t d = 0; d + 1 < w->rank; d++)
        if (w->strides[0][d] == 1 && w->shape[d] >= 4) return d + 1;
    return 0;
}

static bool transpose_describe(params *p, const kernel_problem *u)
{
    *p = (params){0};
    if (!strided_copy_describe(&p->c, u, transpose_view_of)) return false;
    p->turned = find_turned(&p->c.w, p->c.item == 1);
    return true;
}

static bool transpose_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!transpose_describe(&p, u)) return false;
    strided_copy_cost(u, &p.c, cost_ns);
    return true;
}

/* Do bytes of three rows become pixels? */
static bool is_colors(const params *p)
{
    const walk *w = &p->c.w;
    return p->c.item == 1 && w->shape[w->rank - 1] == COLORS && p->turned + 1 == w->rank;
}

/* Elements of the axis that is contiguous in the input, in one unit of work. */
static uint64_t transpose_tile(const params *p)
{
    return is_colors(p) ? COLOR_TILE : TILE;
}

static uint64_t transpose_tile_rows(const params *p)
{
    return (p->c.w.shape[p->turned - 1] + transpose_tile(p) - 1) / transpose_tile(p);
}

/* Number of units of work: rows of tiles in all planes of the two transposed axes. */
static uint64_t turned_units(const params *p)
{
    const uint64_t last = p->c.w.shape[p->c.w.rank - 1];
    return p->c.w.count / (last * p->c.w.shape[p->turned - 1]) * transpose_tile_rows(p);
}

static pgy_status transpose_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params p;
    (void)transpose_describe(&p, u); /* cannot fail after `accept` */
    const pgy_status st = strided_copy_plan(out, &p, sizeof p, err);
    if (!st && p.turned && p.c.w.count && out->parts > turned_units(&p))
        out->parts = (uint32_t)turned_units(&p);
    return st;
}

static bool transpose_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !strided_copy_extent(e, q, &p->c)) return false;
    if (p->turned && (p->turned >= p->c.w.rank || p->c.w.strides[0][p->turned - 1] != 1))
        return extent_refuse(e, "turned axis");
    return !p->turned || (int64_t)p->c.w.strides[0][p->c.w.rank - 1] > 0 ||
           extent_refuse(e, "reversed axis");
}

#if defined(__x86_64__)
/* Interleaving rows i and i + 8 four times transposes 16 x 16 bytes. */
static void turn_tile_1(uint8_t *y, uint64_t across, const uint8_t *x, uint64_t stride)
{
    __m128i a[TILE], b[TILE];
#pragma GCC unroll 16
    for (size_t i = 0; i < TILE; i++) a[i] = _mm_loadu_si128((const __m128i *)(x + i * stride));
#pragma GCC unroll 2
    for (int round = 0; round < 2; round++) {
#pragma GCC unroll 8
        for (size_t i = 0; i < TILE / 2; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + TILE / 2]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + TILE / 2]);
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < TILE / 2; i++) {
            a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + TILE / 2]);
            a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + TILE / 2]);
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < TILE; i++) _mm_storeu_si128((__m128i *)(y + i * across), a[i]);
}
#define HAS_TURN_TILE

/* 12 bytes from four pixels of four bytes, of which the last is 0. */
static inline __m128i join_colors(__m128i x)
{
    const __m128i first = _mm_set1_epi64x(0xffffff), second = _mm_set1_epi64x(0xffffff000000);
    const __m128i six =
        _mm_or_si128(_mm_and_si128(x, first), _mm_and_si128(_mm_srli_epi64(x, 8), second));
    return _mm_or_si128(_mm_move_epi64(six), _mm_slli_si128(_mm_srli_si128(six, 8), 2 * COLORS));
}

/* Interleaves 16 bytes of three rows. */
static void turn_16_colors(uint8_t *y, const uint8_t *x, uint64_t stride)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i a = _mm_loadu_si128((const __m128i *)x);
    const __m128i b = _mm_loadu_si128((const __m128i *)(x + stride));
    const __m128i c = _mm_loadu_si128((const __m128i *)(x + 2 * stride));
    const __m128i ab[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
    const __m128i c0[2] = {_mm_unpacklo_epi8(c, zero), _mm_unpackhi_epi8(c, zero)};
    uint8_t made[16 * COLORS + 4]; /* the next store overwrites the last four bytes of each */
    for (size_t i = 0; i < 2; i++) {
        uint8_t *to = made + i * 8 * COLORS;
        _mm_storeu_si128((__m128i *)to, join_colors(_mm_unpacklo_epi16(ab[i], c0[i])));
        _mm_storeu_si128((__m128i *)(to + 12), join_colors(_mm_unpackhi_epi16(ab[i], c0[i])));
    }
    memcpy(y, made, 16 * COLORS);
}
#endif

/* Interleaves three rows of n bytes. */
static void turn_colors(uint8_t *y, const uint8_t *x, uint64_t stride, size_t n)
{
    size_t i = 0;
#if defined(__x86_64__)
    for (; i + 16 <= n; i += 16) turn_16_colors(y + i * COLORS, x + i, stride);
#endif
    for (; i < n; i++)
        for (size_t c = 0; c < COLORS; c++) y[i * COLORS + c] = x[c * stride + i];
}
#define TURN_COLORS
#define T uint8_t
#define NAME(x) x##_1
#include "kernels/transpose.inc"
#define T uint16_t
#define NAME(x) x##_2
#include "kernels/transpose.inc"

static void turn_4(uint32_t *y, uint64_t across, const uint32_t *x, uint64_t stride, uint64_t n,
                   size_t rows)
{
    squares_transpose(y, across, x, stride, n, rows);
}
#define HAS_TURN
#define T uint32_t
#define NAME(x) x##_4
#include "kernels/transpose.inc"
#define T uint64_t
#define NAME(x) x##_8
#include "kernels/transpose.inc"

static void transpose_turned(const params *p, const kernel_run *r)
{
    const void *x = r->tensors[0];
    void *y = r->tensors[p->c.inputs];
    size_t from, to;
    kernel_share(&from, &to, turned_units(p), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        if (p->c.item == 1) transpose_tiles_1(p, y, x, unit);
        if (p->c.item == 2) transpose_tiles_2(p, y, x, unit);
        if (p->c.item == 4) transpose_tiles_4(p, y, x, unit);
        if (p->c.item == 8) transpose_tiles_8(p, y, x, unit);
    }
}

static void transpose_run(const kernel_run *r)
{
    const params *p = r->params;
    if (p->turned && p->c.w.count)
        transpose_turned(p, r);
    else
        strided_copy_run(&p->c, r);
}

const kernel KERNELS_transpose[] = {
    {.name = "transpose",
     .version = 1,
     .ops = "Transpose DepthToSpace SpaceToDepth",
     .accept = transpose_accept,
     .prepare = transpose_prepare,
     .run = transpose_run,
     .extent = transpose_extent},
    {0},
};
