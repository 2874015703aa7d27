/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a kernel's `extent` and checks its answer; helper functions for kernels. */
#include "kernels/extent.h"

#include <string.h>

static bool overflows(const kernel_extent *e, uint32_t operands)
{
    bool too_much = e->packed == EXTENT_TOO_MUCH || e->workspace == EXTENT_TOO_MUCH ||
                    e->scratch == EXTENT_TOO_MUCH;
    for (uint32_t i = 0; i < operands; i++) too_much |= e->tensors[i] == EXTENT_TOO_MUCH;
    return too_much;
}

bool kernel_extent_of(kernel_extent *out, const kernel *k, const kernel_claim *claim)
{
    kernel_claim own = *claim;
    own.self = k;
    memset(out, 0, sizeof *out);
    out->phases = 1;
    out->parts = UINT32_MAX;
    if (claim->input_count > KERNEL_MAX_INPUTS || claim->output_count > KERNEL_MAX_OUTPUTS)
        return extent_refuse(out, "number of operands");
    if (!k->extent(out, &own)) return false;
    const uint32_t operands = claim->input_count + claim->output_count;
    for (uint32_t i = operands; i < KERNEL_TENSORS; i++)
        if (out->tensors[i]) return extent_refuse(out, "number of operands");
    return overflows(out, operands) ? extent_refuse(out, "sizes that overflow") : true;
}

bool extent_refuse(kernel_extent *e, const char *why)
{
    e->why = why;
    return false;
}

const void *extent_params(kernel_extent *e, const kernel_claim *q, size_t size)
{
    if (q->params_bytes == size) return q->params;
    extent_refuse(e, "size of the parameters");
    return NULL;
}

bool extent_level(kernel_extent *e, uint64_t level)
{
    return level <= (uint64_t)cpu_features() ? true : extent_refuse(e, "instruction set");
}

bool extent_enum(kernel_extent *e, uint64_t value, uint64_t count, const char *what)
{
    return value < count ? true : extent_refuse(e, what);
}

bool extent_flag(kernel_extent *e, const bool *flag)
{
    unsigned char byte;
    memcpy(&byte, flag, 1);
    return byte <= 1 ? true : extent_refuse(e, "a flag that is neither 0 nor 1");
}

void extent_tensor(kernel_extent *e, uint32_t i, uint64_t count, uint64_t item)
{
    const uint64_t bytes = extent_mul(count, item);
    if (i < KERNEL_TENSORS && bytes > e->tensors[i]) e->tensors[i] = bytes;
}

uint64_t extent_product(const uint64_t *sizes, size_t count)
{
    uint64_t product = 1;
    for (size_t i = 0; i < count; i++) product = extent_mul(product, sizes[i]);
    return product;
}

uint64_t extent_reach(const uint64_t *sizes, const uint64_t *strides, size_t count)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++)
        if (!sizes[i]) return 0;
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] == 1) continue;
        if (strides[i] > INT64_MAX) return EXTENT_TOO_MUCH;
        last = extent_add(last, extent_mul(sizes[i] - 1, strides[i]));
    }
    return extent_add(last, 1);
}
