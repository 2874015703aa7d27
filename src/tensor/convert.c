/* SPDX-License-Identifier: Apache-2.0 */
/* pgy_view_convert: any numeric type and layout to any other.
 *
 * Dimensions that are contiguous on both sides are merged, so most conversions are one run. A run
 * is converted in chunks that stay in the first-level cache: narrow sources are widened into a
 * carrier, a native loop converts, narrow targets are packed from f64 (rounded once). Complex
 * values are runs over their parts. Large runs are split among threads at fixed places, so results
 * never depend on their number. */
#include "tensor/convert.h"

#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "tensor/native.h"
#include "tensor/pack.h"
#include "tensor/tensor.h"

enum { CHUNK = 512, TASK_ELEMS = 1 << 18 };

typedef struct side {
    char *data;
    pgy_dtype dtype;
    size_t item_bytes; /* size of an element; 0 for packed types */
    native_type native;
} side;

typedef struct run {
    side to, from;
    size_t to_first, from_first; /* index of the first element of the run */
    ptrdiff_t to_stride, from_stride;
    size_t count;
    bool saturate;
    const pack_table *table;
} run;

static side side_of(void *data, pgy_dtype dtype)
{
    return (side){data, dtype, pgy_dtype_describe(dtype)->bits / 8, native_type_of(dtype)};
}

static void *item(side s, size_t first, ptrdiff_t index)
{
    return s.data + ((ptrdiff_t)first + index) * (ptrdiff_t)s.item_bytes;
}

/* ---- Same type on both sides ---------------------------------------------------------------- */

static void copy_strided(const run *r)
{
    size_t bytes = r->to.item_bytes;
    char *to = item(r->to, r->to_first, 0);
    const char *from = item(r->from, r->from_first, 0);
    ptrdiff_t to_step = r->to_stride * (ptrdiff_t)bytes,
              from_step = r->from_stride * (ptrdiff_t)bytes;
    for (size_t i = 0; i < r->count; i++, to += to_step, from += from_step) memcpy(to, from, bytes);
}

static void copy_run(const run *r)
{
    if (!r->to.item_bytes) { /* a packed type: its elements are compact and begin at a whole byte */
        unsigned bits = pgy_dtype_describe(r->to.dtype)->bits;
        memmove(r->to.data + r->to_first * bits / 8, r->from.data + r->from_first * bits / 8,
                (r->count * bits + 7) / 8);
    } else if (r->to_stride == 1 && r->from_stride == 1) {
        memmove(item(r->to, r->to_first, 0), item(r->from, r->from_first, 0),
                r->count * r->to.item_bytes);
    } else {
        copy_strided(r);
    }
}

/* ---- Different types ------------------------------------------------------------------------ */

/* Converts a 64-bit integer to double by round-to-odd: if bits are lost, the last bit is set. So
 * the later rounding to a narrow type is the only one. */
static double odd_double(uint64_t magnitude, bool negative)
{
    int excess = magnitude ? 11 - __builtin_clzll(magnitude) : 0;
    if (excess > 0) {
        uint64_t lost = magnitude & ((1ull << excess) - 1);
        magnitude = (magnitude - lost) | (uint64_t)(lost != 0) << excess;
    }
    return negative ? -(double)magnitude : (double)magnitude;
}

static void to_f64_odd(double *to, native_type type, const void *from, ptrdiff_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = ((const uint64_t *)from)[(ptrdiff_t)i * stride];
        bool negative = type == NATIVE_I64 && bits >> 63;
        to[i] = odd_double(negative ? 0 - bits : bits, negative);
    }
}

/* True if converting by way of f32 to the narrow type `to` rounds only once. For f16 it may round
 * 32 and 64-bit integers, because those that it rounds are infinite in f16. */
static bool exact_in_f32(native_type type, pgy_dtype to)
{
    bool small = type == NATIVE_BOOL || type == NATIVE_I8 || type == NATIVE_I16 ||
                 type == NATIVE_U8 || type == NATIVE_U16;
    return small || type == NATIVE_F32 || (to == PGY_F16 && type != NATIVE_F64);
}

/* Writes n <= CHUNK native values to a narrow target. */
static void narrow_chunk(const run *r, size_t begin, native_type type, const void *from,
                         ptrdiff_t stride, size_t n)
{
    union {
        double f64[CHUNK];
        float f32[CHUNK];
        uint8_t bytes[CHUNK];
    } buffer;
    native_type carrier = pack_carrier(r->to.dtype);
    size_t first = (size_t)((ptrdiff_t)r->to_first + (ptrdiff_t)begin * r->to_stride);
    if (carrier != NATIVE_F32) {
        native_find_loop(type, carrier)(buffer.bytes, 1, from, stride, n);
        pack_narrow_int(r->to.data, r->to.dtype, first, buffer.bytes, n);
    } else if (exact_in_f32(type, r->to.dtype)) {
        bool direct = type == NATIVE_F32 && stride == 1;
        if (!direct) native_find_loop(type, NATIVE_F32)(buffer.f32, 1, from, stride, n);
        pack_narrow_f32(r->to.data, r->to.dtype, first, r->to_stride, direct ? from : buffer.f32, n,
                        r->saturate);
    } else {
        if (type == NATIVE_I64 || type == NATIVE_U64)
            to_f64_odd(buffer.f64, type, from, stride, n);
        else
            native_find_loop(type, NATIVE_F64)(buffer.f64, 1, from, stride, n);
        pack_narrow_f64(r->to.data, r->to.dtype, first, r->to_stride, buffer.f64, n, r->saturate);
    }
}

static void convert_run(const run *r)
{
    float carriers[CHUNK];
    for (size_t begin = 0, n; begin < r->count; begin += n) {
        n = r->count - begin < CHUNK ? r->count - begin : CHUNK;
        native_type type = r->from.native;
        ptrdiff_t at = (ptrdiff_t)begin * r->from_stride, stride = r->from_stride;
        const void *from = item(r->from, r->from_first, at);
        if (type == NATIVE_COUNT) {
            type = pack_carrier(r->from.dtype);
            bool direct = type == r->to.native && r->to_stride == 1;
            void *wide = direct ? item(r->to, r->to_first, (ptrdiff_t)begin) : carriers;
            pack_widen(wide, r->from.dtype, r->from.data, (size_t)((ptrdiff_t)r->from_first + at),
                       stride, n, r->table);
            if (direct) continue;
            from = carriers;
            stride = 1;
        }
        if (r->to.native == NATIVE_COUNT)
            narrow_chunk(r, begin, type, from, stride, n);
        else
            native_find_loop(type, r->to.native)(
                item(r->to, r->to_first, (ptrdiff_t)begin * r->to_stride), r->to_stride, from,
                stride, n);
    }
}

/* ---- Complex -------------------------------------------------------------------------------- */

static bool is_complex(pgy_dtype dtype)
{
    return dtype == PGY_C64 || dtype == PGY_C128;
}

/* Turns the source or target of complex numbers into one of floats with doubled strides: their real
 * (part 0) or imaginary (1) parts. */
static void take_part(side *s, size_t *first, ptrdiff_t *stride, size_t part)
{
    if (!is_complex(s->dtype)) return;
    *s = side_of(s->data, s->dtype == PGY_C64 ? PGY_F32 : PGY_F64);
    *first = *first * 2 + part;
    *stride *= 2;
}

static run part_run(run r, size_t part)
{
    take_part(&r.to, &r.to_first, &r.to_stride, part);
    take_part(&r.from, &r.from_first, &r.from_stride, part);
    return r;
}

static void convert_complex(const run *r)
{
    run real = part_run(*r, 0), imaginary = part_run(*r, 1);
    convert_run(&real);
    if (is_complex(r->to.dtype) && is_complex(r->from.dtype)) {
        convert_run(&imaginary);
    } else if (is_complex(r->to.dtype)) {
        for (size_t i = 0; i < r->count; i++)
            memset(item(imaginary.to, imaginary.to_first, (ptrdiff_t)i * imaginary.to_stride), 0,
                   imaginary.to.item_bytes);
    } else if (r->to.dtype == PGY_BOOL) {
        for (size_t i = 0; i < r->count; i++) {
            uint8_t *to = item(r->to, r->to_first, (ptrdiff_t)i * r->to_stride), set;
            const void *from =
                item(imaginary.from, imaginary.from_first, (ptrdiff_t)i * imaginary.from_stride);
            native_find_loop(imaginary.from.native, NATIVE_BOOL)(&set, 1, from, 1, 1);
            *to |= set;
        }
    }
}

/* ---- Layout --------------------------------------------------------------------------------- */

static void do_run(const run *r)
{
    if (r->to.dtype == r->from.dtype)
        copy_run(r);
    else if (is_complex(r->to.dtype) || is_complex(r->from.dtype))
        convert_complex(r);
    else
        convert_run(r);
}

static void do_task(size_t index, void *user)
{
    run r = *(const run *)user;
    size_t begin = index * TASK_ELEMS;
    r.to_first = (size_t)((ptrdiff_t)r.to_first + (ptrdiff_t)begin * r.to_stride);
    r.from_first = (size_t)((ptrdiff_t)r.from_first + (ptrdiff_t)begin * r.from_stride);
    r.count = r.count - begin < TASK_ELEMS ? r.count - begin : TASK_ELEMS;
    do_run(&r);
}

typedef struct axis {
    int64_t count;
    ptrdiff_t to_stride, from_stride;
} axis;

/* Fills strides, drops axes of one element, merges neighbours that are contiguous on both sides. */
static size_t merge_axes(axis *axes, pgy_view to, pgy_view from)
{
    axis all[PGY_MAX_RANK];
    size_t n = 0;
    ptrdiff_t compact = 1;
    for (int32_t i = to.rank; i-- > 0; compact *= (ptrdiff_t)to.shape[i])
        all[i] = (axis){to.shape[i], to.strides ? (ptrdiff_t)to.strides[i] : compact,
                        from.strides ? (ptrdiff_t)from.strides[i] : compact};
    for (int32_t i = 0; i < to.rank; i++) {
        if (all[i].count == 1) continue;
        axis *last = n ? &axes[n - 1] : NULL;
        if (last && last->to_stride == all[i].to_stride * all[i].count &&
            last->from_stride == all[i].from_stride * all[i].count)
            *last = (axis){last->count * all[i].count, all[i].to_stride, all[i].from_stride};
        else
            axes[n++] = all[i];
    }
    return n;
}

/* Runs the innermost axis for every position of the outer ones. */
static void walk_axes(run r, const axis *axes, size_t outer)
{
    int64_t index[PGY_MAX_RANK] = {0};
    for (;;) {
        do_run(&r);
        size_t i = outer;
        while (i-- > 0) {
            r.to_first = (size_t)((ptrdiff_t)r.to_first + axes[i].to_stride);
            r.from_first = (size_t)((ptrdiff_t)r.from_first + axes[i].from_stride);
            if (++index[i] < axes[i].count) break;
            r.to_first =
                (size_t)((ptrdiff_t)r.to_first - axes[i].to_stride * (ptrdiff_t)axes[i].count);
            r.from_first =
                (size_t)((ptrdiff_t)r.from_first - axes[i].from_stride * (ptrdiff_t)axes[i].count);
            index[i] = 0;
        }
        if (i == SIZE_MAX) return;
    }
}

static pgy_status check_views(pgy_view to, pgy_view from, pgy_error *err)
{
    pgy_status st = view_need_host(&from, err);
    if (!st) st = view_need_host(&to, err);
    if (st) return st;
    if (!pgy_view_same_shape(to, from))
        return pgy_error_set(
            err, PGY_E_SHAPE, "shapes differ: rank %d and rank %d, %zu and %zu elements",
            (int)from.rank, (int)to.rank, pgy_view_count(from), pgy_view_count(to));
    const pgy_dtype_info *a = pgy_dtype_describe(to.dtype), *b = pgy_dtype_describe(from.dtype);
    if (!a->bits || !b->bits || (a->kind == PGY_KIND_STRING) != (b->kind == PGY_KIND_STRING))
        return pgy_error_set(err, PGY_E_TYPE, "elements of type %s cannot be converted to %s",
                             b->name, a->name);
    if ((a->bits < 8 && to.strides) || (b->bits < 8 && from.strides))
        return pgy_error_set(err, PGY_E_TYPE,
                             "type %s has less than 8 bits, so its elements cannot have strides",
                             a->bits < 8 ? a->name : b->name);
    return PGY_OK;
}

/* Bits behind the last packed element are 0, so that equal tensors have equal bytes. */
static void clear_last_bits(pgy_view to)
{
    const size_t bits = pgy_dtype_describe(to.dtype)->bits, count = pgy_view_count(to);
    if (bits < 8 && count % 8 * bits % 8)
        ((uint8_t *)pgy_view_data(to))[count / 8 * bits + count % 8 * bits / 8] = 0;
}

pgy_status pgy_view_convert(pgy_view to, pgy_view from, bool saturate, pgy_error *err)
{
    axis axes[PGY_MAX_RANK] = {{1, 1, 1}};
    pack_table table;
    pgy_status st = check_views(to, from, err);
    if (st) return st;
    if (pgy_view_count(to) == 0) return PGY_OK;
    if (!pgy_view_data(from) || !pgy_view_data(to))
        return pgy_error_set(err, PGY_E_ARGUMENT, "a view of %zu elements has a NULL data pointer",
                             pgy_view_count(to));

    clear_last_bits(to);
    size_t n = merge_axes(axes, to, from);
    if (n == 0) n = 1;
    if (pgy_dtype_is_float(from.dtype) && pgy_dtype_describe(from.dtype)->bits <= 8)
        pack_table_init(&table, from.dtype);
    run r = {.to = side_of(pgy_view_data(to), to.dtype),
             .from = side_of(pgy_view_data(from), from.dtype),
             .to_stride = axes[n - 1].to_stride,
             .from_stride = axes[n - 1].from_stride,
             .count = (size_t)axes[n - 1].count,
             .saturate = saturate,
             .table = &table};
    if (n == 1)
        parallel_for((r.count + TASK_ELEMS - 1) / TASK_ELEMS, do_task, &r);
    else
        walk_axes(r, axes, n - 1);
    return PGY_OK;
}
