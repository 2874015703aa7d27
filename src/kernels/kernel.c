/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that all kernels share: axes, sizes, the share of a part, and failures. */
#include "kernels/kernel.h"

#include <stdio.h>

#include "base/communicator.h"

/* ---- Axes ----------------------------------------------------------------------------------- */

int32_t kernel_all_axes(const kernel_problem *u)
{
    return u->outputs[0].rank;
}

int32_t kernel_axes_before(const kernel_problem *u, int64_t axis)
{
    const int32_t rank = u->outputs[0].rank;
    if (axis < 0) axis += rank;
    return axis < 0 || axis > rank ? 0 : (int32_t)axis;
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

size_t kernel_count(const kernel_tensor *t)
{
    size_t count = 1;
    for (int32_t i = 0; i < t->rank; i++) count *= (size_t)t->shape[i];
    return count;
}

size_t kernel_size_bytes(const kernel_tensor *t)
{
    const size_t block = kernel_block(t->layout), bits = pgy_dtype_describe(t->dtype)->bits;
    size_t count = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        const size_t size = (size_t)t->shape[i];
        count *= i == 1 ? (size + block - 1) / block * block : size;
    }
    return (count * bits + 7) / 8;
}

/* ---- Running -------------------------------------------------------------------------------- */

void kernel_share(size_t *from, size_t *to, size_t count, uint32_t part, uint32_t parts)
{
    const size_t each = count / parts, rest = count % parts;
    *from = part * each + part * rest / parts;
    *to = (part + 1) * each + (part + 1) * rest / parts;
}

pgy_status kernel_fault_status(int kind)
{
    if (kind == KERNEL_FAULT_LENGTH) return PGY_E_ARGUMENT;
    if (kind == KERNEL_FAULT_RANKS) return PGY_E_DEVICE;
    return kind == KERNEL_FAULT_PLUGIN ? PGY_E_BACKEND : PGY_E_SHAPE;
}

static const char *fault_text(pgy_status status)
{
    if (status == PGY_E_ARGUMENT)
        return "a sequence length or position does not fit its caches or tables";
    if (status == PGY_E_DEVICE) return communicator_why(); /* of this thread, which ran it alone */
    return status == PGY_E_BACKEND ? "its plug-in failed"
                                   : "an index is out of range, or a shape does not fit";
}

void kernel_fault_print(char text[KERNEL_FAULT_BYTES], pgy_status status,
                        const kernel_bad_index *bad)
{
    if (status != PGY_E_SHAPE || !atomic_load_explicit(&bad->noted, memory_order_relaxed)) {
        snprintf(text, KERNEL_FAULT_BYTES, "%s", fault_text(status));
        return;
    }
    const long long value = atomic_load_explicit(&bad->value, memory_order_relaxed);
    const long long size = atomic_load_explicit(&bad->size, memory_order_relaxed);
    snprintf(text, KERNEL_FAULT_BYTES, "index %lld is not in [-%lld, %lld)", value, size, size);
}
