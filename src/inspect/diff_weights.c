/* SPDX-License-Identifier: Apache-2.0 */
/* Compares values of weights. Both sides are read in blocks that fit in a cache. Equal blocks are
 * decoded only if another block of their tensor differs, in a second pass. The same place of the
 * same file is equal without reading.
 *
 * Threads take pieces of tensors. Sums of pieces are joined in order, so the result does not depend
 * on the number of threads. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"
#include "inspect/diff.h"
#include "onnx/elements.h"
#include "tensor/convert.h"

enum {
    BLOCK_BYTES = 256 << 10,
    PIECE_BLOCKS = 32,      /* blocks of a piece: piece.different has one bit for each */
    BATCH_BYTES = 64 << 20, /* limit of the bytes of decoded tensors in memory */
    RUN = 1024,             /* elements converted to float64 at a time */
};

typedef struct weight_pair {
    diff_weight *weight;
    diff_source a, b;
    pgy_dtype dtype_a, dtype_b; /* types of the numbers that are compared: of the real and imaginary
                                   parts if complex */
    size_t count;               /* number of these numbers */
    bool same_place, readable;
    size_t first_piece, piece_count;
    bool differs;
    diff_tally tally;
} weight_pair;

typedef struct piece {
    weight_pair *pair;
    size_t begin, count; /* first number of the pair, and how many */
    uint32_t different;  /* bit k: block k differs */
    bool failed_read, failed_memory;
    diff_tally tally;
} piece;

typedef struct job {
    pgy_diff *d;
    weight_pair *pairs;
    size_t pair_count;
    piece *pieces;
    size_t piece_count;
    bool equal_blocks; /* second pass: decodes the equal blocks of tensors that differ elsewhere */
} job;

/* ---- One piece ------------------------------------------------------------------------------- */

/* The type of the real and imaginary parts, and their number per element. */
static pgy_dtype part_type(pgy_dtype dtype, size_t *parts)
{
    *parts = dtype == PGY_C64 || dtype == PGY_C128 ? 2 : 1;
    return dtype == PGY_C64 ? PGY_F32 : dtype == PGY_C128 ? PGY_F64 : dtype;
}

static unsigned bits_of(pgy_dtype dtype)
{
    return pgy_dtype_describe(dtype)->bits;
}

typedef float floats __attribute__((vector_size(4 * sizeof(float))));
typedef double doubles __attribute__((vector_size(4 * sizeof(double))));

static void widen_floats(double *to, const uint8_t *from, size_t count)
{
    const size_t whole = count - count % 4;
    for (size_t i = 0; i < whole; i += 4) {
        floats v;
        memcpy(&v, from + i * sizeof(float), sizeof v);
        const doubles wide = __builtin_convertvector(v, doubles);
        memcpy(to + i, &wide, sizeof wide);
    }
    for (size_t i = whole; i < count; i++) {
        float v;
        memcpy(&v, from + i * sizeof v, sizeof v);
        to[i] = (double)v;
    }
}

static void widen(double *to, pgy_dtype dtype, const uint8_t *from, size_t first, size_t count)
{
    if (dtype == PGY_F32) {
        widen_floats(to, from + first * sizeof(float), count);
    } else if (dtype == PGY_F64) {
        memcpy(to, from + first * sizeof *to, count * sizeof *to);
    } else if (dtype == PGY_F16 || dtype == PGY_BF16) {
        for (size_t i = 0; i < count; i++) {
            uint16_t v;
            memcpy(&v, from + (first + i) * sizeof v, sizeof v);
            to[i] = (double)(dtype == PGY_F16 ? f16_to_f32(v) : bf16_to_f32(v));
        }
    } else {
        for (size_t i = 0; i < count; i++) to[i] = element_as_f64(dtype, from, first + i);
    }
}

/* Counts 64-bit integers that differ but are equal in float64. */
static void add_close_integers(diff_tally *t, const uint8_t *a, const uint8_t *b, size_t first,
                               size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        int64_t x, y;
        memcpy(&x, a + (first + i) * sizeof x, sizeof x);
        memcpy(&y, b + (first + i) * sizeof y, sizeof y);
        if (x == y || (double)x != (double)y) continue;
        const double size = (double)(x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
        t->changed += 1;
        t->sum_abs += size;
        t->sum_square += size * size;
        t->beyond += 1;
        if (!(size > t->max_abs)) continue;
        t->max_abs = size;
        t->max_at = index + i;
    }
}

static void tally_block(piece *p, const job *j, const uint8_t *a, const uint8_t *b, size_t count,
                        size_t index)
{
    const weight_pair *pair = p->pair;
    double x[RUN], y[RUN];
    const bool wide_integers =
        pair->dtype_a == pair->dtype_b && (pair->dtype_a == PGY_I64 || pair->dtype_a == PGY_U64);
    for (size_t i = 0; i < count; i += RUN) {
        const size_t n = count - i < RUN ? count - i : RUN;
        widen(x, pair->dtype_a, a, i, n);
        if (j->equal_blocks) {
            diff_tally_add_equal(&p->tally, x, n);
            continue;
        }
        widen(y, pair->dtype_b, b, i, n);
        diff_tally_add(&p->tally, x, y, n, index + i, j->d->options.atol, j->d->options.rtol);
        if (wide_integers) add_close_integers(&p->tally, a, b, i, n, index + i);
    }
}

static size_t bytes_for(pgy_dtype dtype, size_t count)
{
    return count / 8 * bits_of(dtype) + (count % 8 * bits_of(dtype) + 7) / 8;
}

/* Elements per block: as many as fit for both types, filling whole bytes. */
static size_t block_elements(const weight_pair *p)
{
    const unsigned a = bits_of(p->dtype_a), b = bits_of(p->dtype_b);
    return (size_t)BLOCK_BYTES / (a > b ? a : b) * 8;
}

static void compare_strings(piece *p)
{
    const pgy_string *a = (const pgy_string *)(const void *)p->pair->a.data;
    const pgy_string *b = (const pgy_string *)(const void *)p->pair->b.data;
    for (size_t i = p->begin; i < p->begin + p->count; i++)
        if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, a[i].size))) {
            p->different |= 1;
            p->tally.changed += 1;
            p->tally.beyond += 1;
        }
}

static void run_piece(size_t at, void *user)
{
    const job *j = user;
    piece *p = &j->pieces[at];
    const weight_pair *pair = p->pair;
    if (j->equal_blocks && !pair->differs) return;
    if (pair->dtype_a == PGY_STRING) {
        if (!j->equal_blocks) compare_strings(p);
        return;
    }
    const bool direct = !pair->a.map && !pair->b.map;
    uint8_t *buffer = direct ? NULL : mem_alloc((size_t)BLOCK_BYTES * 2);
    p->failed_memory = !direct && !buffer;
    const size_t step = block_elements(pair);
    for (size_t done = 0, k = 0; done < p->count && (direct || buffer); done += step, k++) {
        const size_t n = p->count - done < step ? p->count - done : step, index = p->begin + done;
        const size_t size_a = bytes_for(pair->dtype_a, n), size_b = bytes_for(pair->dtype_b, n);
        const uint8_t *a, *b = NULL;
        if (j->equal_blocks && p->different >> k & 1) continue;
        if (!diff_fetch(&a, &pair->a, bytes_for(pair->dtype_a, index), size_a, buffer) ||
            (!j->equal_blocks && !diff_fetch(&b, &pair->b, bytes_for(pair->dtype_b, index), size_b,
                                             buffer ? buffer + BLOCK_BYTES : NULL))) {
            p->failed_read = true;
            break;
        }
        if (!j->equal_blocks && pair->dtype_a == pair->dtype_b && memcmp(a, b, size_a) == 0)
            continue;
        p->different |= (uint32_t)1 << k;
        tally_block(p, j, a, b, n, index);
    }
    mem_free(buffer);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static pgy_status open_pair(weight_pair *p, pgy_diff *d, diff_weight *w, pgy_error *err)
{
    size_t parts_a, parts_b;
    pgy_error why = {0};
    *p = (weight_pair){.weight = w};
    pgy_status st = diff_locate(&p->a, d->a, w->a, w->change.dtype_a, &why);
    if (!st) st = diff_locate(&p->b, d->b, w->b, w->change.dtype_b, &why);
    if (!st && (w->change.dtype_a == PGY_STRING) != (w->change.dtype_b == PGY_STRING))
        st = pgy_error_set(&why, PGY_E_TYPE, "numbers and strings cannot be compared");
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    p->dtype_a = part_type(w->change.dtype_a, &parts_a);
    p->dtype_b = part_type(w->change.dtype_b, &parts_b);
    if (!st && parts_a != parts_b)
        st = pgy_error_set(&why, PGY_E_TYPE, "complex and real numbers cannot be compared");
    if (st) {
        const char *text = strstr(why.text, "': "); /* the entry names the tensor */
        w->change.why_not = arena_strdup(&d->memory, text ? text + 3 : why.text);
        return w->change.why_not ? PGY_OK : diff_no_memory(err);
    }
    p->readable = true;
    p->count = (size_t)w->change.count * parts_a;
    p->same_place = p->dtype_a == p->dtype_b && diff_same_place(&p->a, &p->b);
    if (p->same_place)
        d->summary.bytes_shared += p->a.size_bytes;
    else
        d->summary.bytes_read += (uint64_t)p->a.size_bytes + p->b.size_bytes;
    const size_t step = block_elements(p) * PIECE_BLOCKS;
    p->piece_count = p->same_place ? 0 : (p->count + step - 1) / step;
    return PGY_OK;
}

static pgy_status cut_pieces(job *j, pgy_error *err)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < j->pair_count; i++) count += j->pairs[i].piece_count;
    j->pieces = mem_calloc(count + 1, sizeof *j->pieces);
    if (!j->pieces) return diff_no_memory(err);
    j->piece_count = count;
    for (size_t i = 0; i < j->pair_count; i++) {
        weight_pair *p = &j->pairs[i];
        const size_t step = block_elements(p) * PIECE_BLOCKS;
        p->first_piece = at;
        for (size_t k = 0; k < p->piece_count; k++) {
            const size_t begin = k * step, left = p->count - begin;
            j->pieces[at++] =
                (piece){.pair = p, .begin = begin, .count = left < step ? left : step};
        }
    }
    return PGY_OK;
}

static pgy_status join_pieces(job *j, pgy_error *err)
{
    const pgy_status st = cancel_check(err);
    if (st) return st;
    for (size_t i = 0; i < j->pair_count; i++) {
        weight_pair *p = &j->pairs[i];
        p->tally = (diff_tally){0};
        for (size_t k = 0; k < p->piece_count; k++) {
            const piece *c = &j->pieces[p->first_piece + k];
            if (c->failed_memory) return diff_no_memory(err);
            if (c->failed_read) p->readable = false;
            if (c->failed_read) p->weight->change.why_not = "the file could not be read to its end";
            p->differs = p->differs || c->different;
            diff_tally_join(&p->tally, &c->tally);
        }
    }
    return PGY_OK;
}

static void fill_change(weight_pair *p)
{
    pgy_weight_change *c = &p->weight->change;
    const diff_tally *t = &p->tally;
    c->compared = p->readable;
    c->cosine = 1;
    c->snr_db = INFINITY;
    if (!p->readable || !p->differs) return;
    c->changed = (uint64_t)t->changed;
    c->beyond = (uint64_t)t->beyond;
    c->nan_a = (uint64_t)t->nan_a;
    c->nan_b = (uint64_t)t->nan_b;
    c->max_abs = t->max_abs;
    c->max_rel = t->max_rel;
    c->max_index = t->max_at;
    c->mean_abs = p->count ? t->sum_abs / (double)p->count : 0;
    c->rms = p->count ? sqrt(t->sum_square / (double)p->count) : 0;
    c->cosine = t->sum_ab / (sqrt(t->sum_aa) * sqrt(t->sum_bb));
    if (t->sum_square > 0) c->snr_db = 10 * log10(t->sum_aa / t->sum_square);
}

static pgy_status run_batch(job *j, pgy_error *err)
{
    bool any = false;
    pgy_status st = cut_pieces(j, err);
    if (!st) parallel_for_until_cancelled(j->piece_count, run_piece, j);
    if (!st) st = join_pieces(j, err);
    for (size_t i = 0; !st && i < j->pair_count; i++) any = any || j->pairs[i].differs;
    if (!st && any) {
        j->equal_blocks = true;
        parallel_for_until_cancelled(j->piece_count, run_piece, j);
        st = join_pieces(j, err);
        j->equal_blocks = false;
    }
    for (size_t i = 0; !st && i < j->pair_count; i++)
        if (j->pairs[i].readable) fill_change(&j->pairs[i]);
    for (size_t i = 0; i < j->pair_count; i++) {
        pgy_tensor_release(j->pairs[i].a.decoded);
        pgy_tensor_release(j->pairs[i].b.decoded);
    }
    mem_free(j->pieces);
    j->pieces = NULL;
    j->pair_count = j->piece_count = 0;
    return st;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void add_entries(pgy_diff *d, diff_weight *w)
{
    pgy_difference e = w->entry;
    const pgy_weight_change *c = &w->change;
    e.weight = c;
    d->subject = w->subject;
    const bool same_kind = !w->dtype_differs && !w->shape_differs;
    if (w->dtype_differs || w->shape_differs || c->beyond) {
        e.change = PGY_DIFF_CHANGED;
        e.field = w->dtype_differs && w->shape_differs ? "type and shape"
                  : w->dtype_differs                   ? "type"
                  : w->shape_differs                   ? "shape"
                                                       : "values";
        e.before = diff_text_tensor(d, w->a);
        e.after = diff_text_tensor(d, w->b);
        diff_add(d, e);
        return;
    }
    if (same_kind && !w->is_attribute && (c->compared || d->options.structure_only))
        d->summary.weights_equal++;
    if (!d->options.structure_only && !c->compared) {
        e.change = PGY_DIFF_UNREAD;
        e.field = c->why_not;
        diff_add(d, e);
    } else if (!d->options.structure_only && strcmp(c->stored_a, c->stored_b)) {
        e.change = PGY_DIFF_STORED;
        e.before = c->stored_a;
        e.after = c->stored_b;
        diff_add(d, e);
    }
}

static void describe(pgy_diff *d, diff_weight *w)
{
    pgy_weight_change *c = &w->change;
    size_t count = 0, size = 0;
    c->dtype_a = pgy_dtype_from_onnx(w->a->data_type);
    c->dtype_b = pgy_dtype_from_onnx(w->b->data_type);
    c->dims_a = w->a->dims;
    c->dims_b = w->b->dims;
    c->rank_a = w->a->dim_count;
    c->rank_b = w->b->dim_count;
    c->stored_a = w->entry.before ? w->entry.before : diff_storage(w->a);
    c->stored_b = w->entry.after ? w->entry.after : diff_storage(w->b);
    w->dtype_differs = w->a->data_type != w->b->data_type;
    w->shape_differs =
        c->rank_a != c->rank_b ||
        (c->rank_a && memcmp(c->dims_a, c->dims_b, c->rank_a * sizeof *c->dims_a) != 0);
    if (!pgy_shape_count(&count, c->rank_a, c->dims_a, NULL)) c->count = count;
    if (!tensor_needs_bytes(&size, w->a, NULL)) c->bytes_a = size;
    if (!tensor_needs_bytes(&size, w->b, NULL)) c->bytes_b = size;
    w->entry.before = w->entry.after = NULL;
    (void)d;
}

pgy_status diff_weights(pgy_diff *d, pgy_error *err)
{
    job j = {.d = d, .pairs = mem_calloc(d->weight_count + 1, sizeof *j.pairs)};
    pgy_status st = j.pairs ? PGY_OK : diff_no_memory(err);
    size_t decoded = 0;
    for (size_t i = 0; !st && i < d->weight_count; i++) {
        diff_weight *w = &d->weights[i];
        describe(d, w);
        if (d->options.structure_only || w->shape_differs) continue;
        weight_pair *p = &j.pairs[j.pair_count];
        st = open_pair(p, d, w, err);
        if (p->a.decoded) decoded += p->a.size_bytes;
        if (p->b.decoded) decoded += p->b.size_bytes;
        j.pair_count++;
        if (!p->readable) {
            pgy_tensor_release(p->a.decoded);
            pgy_tensor_release(p->b.decoded);
            j.pair_count--;
        }
        if (!st && decoded >= BATCH_BYTES) {
            st = run_batch(&j, err);
            decoded = 0;
        }
    }
    if (st) {
        for (size_t i = 0; i < j.pair_count; i++) {
            pgy_tensor_release(j.pairs[i].a.decoded);
            pgy_tensor_release(j.pairs[i].b.decoded);
        }
    } else {
        st = run_batch(&j, err);
    }
    for (size_t i = 0; !st && i < d->weight_count; i++) {
        /* The entry's numbers must outlive the list of weights. */
        diff_weight *kept = arena_alloc(&d->memory, sizeof *kept);
        if (!kept) st = diff_no_memory(err);
        if (!kept) break;
        *kept = d->weights[i];
        add_entries(d, kept);
    }
    d->weight_count = 0;
    mem_free(j.pairs);
    return st;
}
