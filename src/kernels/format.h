/* SPDX-License-Identifier: Apache-2.0 */
/* Formats: the orders in which the elements of a tensor lie in memory. All formats are in one
 * table; a kernel_layout is an index into it. The built-in formats come first; kernels offered at
 * run time (kernel_offer) may add others.
 *
 * All formats are blocked by channels, [N, ceil(C/b), spatial..., b], with zeros in the lanes
 * beyond C; linear is b = 1. Channels last, [N, spatial..., C], is a single block of all channels,
 * so it has no lanes beyond C. The block size identifies a format, and one kernel converts between
 * all of them.
 */
#ifndef KERNELS_FORMAT_H
#define KERNELS_FORMAT_H

#include <polygraphy/base.h>

typedef enum kernel_layout {
    KERNEL_LINEAR,
    KERNEL_BLOCKED_8,
    KERNEL_BLOCKED_16,
    KERNEL_CHANNELS_LAST
} kernel_layout;

enum { KERNEL_MAX_FORMATS = 8, KERNEL_MAX_BLOCK = 256 };

size_t kernel_format_count(void);
/* The multiple to which a format pads channels: the lanes of a block; 1 for linear and channels
 * last. */
size_t kernel_block(kernel_layout layout);
/* Lanes of a block of a tensor with this number of channels; 1 for linear. */
size_t kernel_lanes(kernel_layout layout, size_t channels);
static inline size_t kernel_lanes_of(kernel_layout layout, int32_t rank, const int64_t *shape)
{
    return kernel_lanes(layout, rank > 1 ? (size_t)shape[1] : 1);
}
/* Finds the format that pads channels to this multiple, never channels last; false if the table has
 * none. */
bool kernel_layout_of_block(kernel_layout *out, uint64_t block);
/* Finds or adds the format with this block size. A format stays until the process ends.
 * PGY_E_ARGUMENT: the size is not an allowed power of two; PGY_E_UNSUPPORTED: the table is full. */
pgy_status kernel_offer_format(kernel_layout *out, uint32_t block, pgy_error *err) PGY_MUST_CHECK;

#endif
