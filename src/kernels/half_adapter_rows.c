/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a problem into chunks of rows. A row is one index of the leading axes along which results
 * are independent (kernel.free_axes). A tensor must have either all of these axes, so that each row
 * has its own slice, or none of them. For tensors blocked by channels they are images and blocks.
 */
#include <string.h>

#include "kernels/half_adapter.h"

enum { CHUNK_ELEMENTS = 4096, MOST_ELEMENTS = 1 << 18 };

static kernel_tensor *tensor_of(kernel_problem *u, size_t i)
{
    return i < u->input_count ? &u->inputs[i] : &u->outputs[i - u->input_count];
}

typedef enum relation { MOVES, STAYS, NEITHER } relation;

/* MOVES if t has all of the first `axes` axes of y, so each row has its own slice of t; STAYS if it
 * has none of them. Shapes are aligned at their last axis. */
static relation relate(const kernel_tensor *t, const kernel_tensor *y, int32_t axes)
{
    bool full = true, none = true;
    for (int32_t d = 0; d < axes; d++) {
        const int32_t own = d - (y->rank - t->rank);
        const int64_t size = own < 0 ? 1 : t->shape[own];
        full = full && size == y->shape[d];
        none = none && size == 1;
    }
    return full ? MOVES : none ? STAYS : NEITHER;
}

static bool is_spot(const kernel_tensor *t) /* all axes behind the channels have size 1 */
{
    for (int32_t d = 2; d < t->rank; d++)
        if (t->shape[d] != 1) return false;
    return true;
}

static bool fits(const kernel_problem *u, int32_t axes, bool flat)
{
    const kernel_tensor *y = &u->outputs[0];
    const int64_t block = (int64_t)kernel_block(y->layout);
    kernel_problem problem = *u;
    if (block > 1 && (y->rank < 3 || y->shape[1] % block || !(flat || axes == 2))) return false;
    for (size_t i = 0; i < u->input_count + u->output_count; i++) {
        const kernel_tensor *t = tensor_of(&problem, i);
        if (!t->dtype) continue;
        const relation r = relate(t, y, axes);
        const bool same_bytes = block > 1 && !flat && t->rank == y->rank && is_spot(t);
        if (t->rank > y->rank || r == NEITHER || t->dtype == PGY_STRING) return false;
        if (pgy_dtype_describe(t->dtype)->bits % 8) return false;
        if (t->layout != KERNEL_LINEAR && (r == STAYS || t->layout != y->layout)) return false;
        if (r == MOVES && t->layout != y->layout && !same_bytes) return false;
        if (r == STAYS && i >= u->input_count) return false;
    }
    return true;
}

/* Sets shape and layout of tensor i of a chunk: linear if rows are single elements, else that of
 * y. */
static void shape_chunk(half_adapter_rows *out, size_t i, int32_t axes, const kernel_tensor *y,
                        bool flat)
{
    kernel_tensor *t = tensor_of(&out->problem, i);
    const int32_t skipped = y->rank - t->rank;
    const uint64_t block = flat ? 1 : kernel_block(y->layout);
    int64_t *shape = out->shapes[i];
    if (t->rank) memcpy(shape, t->shape, (size_t)t->rank * sizeof *shape);
    t->shape = shape;
    if (!out->row_count[i]) return;
    for (int32_t d = 0; d < axes; d++)
        if (d >= skipped) shape[d - skipped] = d + 1 < axes ? 1 : (int64_t)(out->chunk * block);
    t->data = NULL;
    t->layout = flat ? KERNEL_LINEAR : y->layout;
}

static bool cut_at(half_adapter_rows *out, const kernel *inner, const kernel_problem *u,
                   int32_t axes)
{
    const kernel_tensor *y = &u->outputs[0];
    const bool flat = axes == y->rank;
    uint64_t most = 1;
    double cost;
    if (!fits(u, axes, flat)) return false;
    *out = (half_adapter_rows){.rows = 1, .problem = *u};
    for (int32_t d = 0; d < axes; d++) out->rows *= (uint64_t)y->shape[d];
    if (!flat) out->rows /= kernel_block(y->layout);
    if (out->rows < 2) return false;
    for (size_t i = 0; i < u->input_count + u->output_count; i++) {
        const kernel_tensor *t = tensor_of(&out->problem, i);
        if (!t->dtype || relate(t, y, axes) != MOVES) continue;
        out->row_count[i] = kernel_count(t) / out->rows;
        if (out->row_count[i] > most) most = out->row_count[i];
    }
    if (most > MOST_ELEMENTS) return false;
    out->chunk = most < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / most : 1;
    if (out->chunk > out->rows) out->chunk = out->rows;
    for (size_t i = 0; i < u->input_count + u->output_count; i++)
        if (tensor_of(&out->problem, i)->dtype) shape_chunk(out, i, axes, y, flat);
    kernel_problem problem = out->problem;
    if (!kernel_accept(inner, &problem, &cost)) return false;
    for (size_t i = 0; i < u->input_count + u->output_count; i++)
        if (tensor_of(&problem, i)->layout != tensor_of(&out->problem, i)->layout) return false;
    return true;
}

bool half_adapter_cut(half_adapter_rows *out, const kernel *inner, const kernel_problem *wide)
{
    const kernel_tensor *y = &wide->outputs[0];
    const int32_t axes = inner->free_axes ? inner->free_axes(wide) : 0;
    if (y->rank > HALF_ADAPTER_RANK || !kernel_count(y)) return false;
    for (int32_t d = axes; d > 0; d--)
        if (cut_at(out, inner, wide, d)) return true;
    return false;
}
