/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what half_adapter.c has prepared: converts whole tensors in phases of their own, or chunks
 * of rows before and behind each run of the inner kernel. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/half.h"
#include "kernels/half_adapter.h"

enum { UNIT = 64 }; /* elements that one thread converts at least: those of whole cache lines */

typedef half_adapter_tensor tensor;
typedef half_adapter_params params;

static void half_adapter_convert(const kernel_run *r, const params *p, size_t i)
{
    const tensor *t = &p->tensors[i];
    const half_loops *loops = half_loops_of((pgy_dtype)t->half, (cpu_level)p->level);
    size_t from, to;
    if ((t->place != PLACE_WIDE && !t->wide) || !r->tensors[i]) return;
    kernel_share(&from, &to, (t->count + UNIT - 1) / UNIT, r->part, r->parts);
    from *= UNIT;
    to = to * UNIT < t->count ? to * UNIT : t->count;
    if (from >= to) return;
    if (t->wide) {
        float *held = (float *)r->tensors[i] + from;
        loops->round(held, held, to - from);
        return;
    }
    float *wide = (float *)((char *)r->workspace + t->at) + from;
    uint16_t *half = (uint16_t *)r->tensors[i] + from;
    if (i < p->inputs)
        loops->widen(wide, half, to - from);
    else
        loops->narrow(half, wide, to - from);
}

/* Computes the tensor addresses that the inner kernel gets. */
static void half_adapter_resolve(void **tensors, const kernel_run *r, const params *p, void *memory)
{
    for (size_t i = 0; i < p->inputs + p->outputs; i++) {
        const tensor *t = &p->tensors[i];
        tensors[i] = r->tensors[i];
        if (t->place == PLACE_PACKED) tensors[i] = r->packed ? (char *)r->packed + t->at : NULL;
        if (t->place == PLACE_WIDE && (r->tensors[i] || t->packed))
            tensors[i] = memory ? (char *)memory + t->at : NULL;
    }
}

static kernel_run inner_run(const kernel_run *r, const params *p, void *const *tensors)
{
    return (kernel_run){.self = half_adapter_inner(r->self),
                        .params = (const char *)p + p->inner_at,
                        .packed = p->has_packed ? r->packed : NULL,
                        .tensors = tensors,
                        .workspace = (char *)r->workspace + p->inner_memory,
                        .scratch = r->scratch,
                        .part = r->part,
                        .parts = r->parts,
                        .fault = r->fault,
                        .bad = r->bad};
}

static void half_adapter_whole(const kernel_run *r, const params *p)
{
    void *tensors[HALF_ADAPTER_TENSORS];
    if (p->widens && r->phase == 0) {
        for (size_t i = 0; i < p->inputs; i++) half_adapter_convert(r, p, i);
        return;
    }
    if (r->phase - p->widens == p->inner_phases) {
        for (size_t i = p->inputs; i < p->inputs + p->outputs; i++) half_adapter_convert(r, p, i);
        return;
    }
    half_adapter_resolve(tensors, r, p, r->workspace);
    kernel_run one = inner_run(r, p, tensors);
    one.phase = r->phase - p->widens;
    one.self->run(&one);
}

/* ---- Chunks --------------------------------------------------------------------------------- */

/* Copies rows [row, row + rows) of an input to where the inner kernel reads them. A short last
 * chunk is filled up with zeros. */
static void half_adapter_stage(const kernel_run *r, const params *p, size_t i, uint64_t row,
                               uint64_t rows)
{
    const tensor *t = &p->tensors[i];
    const size_t first = row * t->row_count, count = rows * t->row_count;
    char *to = (char *)r->scratch + t->at;
    if (t->packed)
        memcpy(to, (const char *)r->packed + t->source + first * sizeof(float),
               count * sizeof(float));
    else if (t->half)
        half_loops_of((pgy_dtype)t->half, (cpu_level)p->level)
            ->widen((float *)to, (const uint16_t *)r->tensors[i] + first, count);
    else
        memcpy(to, (const char *)r->tensors[i] + first * t->item, count * t->item);
    if (rows < p->chunk)
        memset(to + count * t->item, 0, (p->chunk - rows) * t->row_count * t->item);
}

static void half_adapter_unstage(const kernel_run *r, const params *p, size_t i, uint64_t row,
                                 uint64_t rows)
{
    const tensor *t = &p->tensors[i];
    const size_t first = row * t->row_count, count = rows * t->row_count;
    const char *from = (const char *)r->scratch + t->at;
    const half_loops *loops =
        t->half ? half_loops_of((pgy_dtype)t->half, (cpu_level)p->level) : NULL;
    if (t->wide)
        loops->round((float *)r->tensors[i] + first, (const float *)from, count);
    else if (loops)
        loops->narrow((uint16_t *)r->tensors[i] + first, (const float *)from, count);
    else
        memcpy((char *)r->tensors[i] + first * t->item, from, count * t->item);
}

static void half_adapter_chunk(const kernel_run *r, const params *p, const kernel_run *prepared,
                               uint64_t row)
{
    const uint64_t rows = p->rows - row < p->chunk ? p->rows - row : p->chunk;
    kernel_run one = *prepared;
    for (size_t i = 0; i < p->inputs; i++)
        if (p->tensors[i].row_count) half_adapter_stage(r, p, i, row, rows);
    for (one.phase = 0; one.phase < p->inner_phases; one.phase++) one.self->run(&one);
    for (size_t i = p->inputs; i < p->inputs + p->outputs; i++)
        if (p->tensors[i].row_count) half_adapter_unstage(r, p, i, row, rows);
}

static void half_adapter_chunks(const kernel_run *r, const params *p)
{
    void *tensors[HALF_ADAPTER_TENSORS];
    size_t from, to;
    kernel_share(&from, &to, (p->rows + p->chunk - 1) / p->chunk, r->part, r->parts);
    for (size_t i = 0; from < to && i < p->inputs; i++) {
        const tensor *t = &p->tensors[i];
        if (t->place == PLACE_WIDE && !t->row_count && r->tensors[i])
            half_loops_of((pgy_dtype)t->half, (cpu_level)p->level)
                ->widen((float *)((char *)r->scratch + t->at), r->tensors[i], t->count);
    }
    half_adapter_resolve(tensors, r, p, r->scratch);
    kernel_run one = inner_run(r, p, tensors);
    one.workspace = (char *)r->scratch + p->inner_memory;
    one.scratch = (char *)r->scratch + p->inner_scratch;
    one.part = 0;
    one.parts = 1;
    for (size_t i = from; i < to && !cancel_requested(); i++)
        half_adapter_chunk(r, p, &one, i * p->chunk);
}

void half_adapter_run(const kernel_run *r)
{
    const params *p = r->params;
    if (p->chunk)
        half_adapter_chunks(r, p);
    else
        half_adapter_whole(r, p);
}
