/* SPDX-License-Identifier: Apache-2.0 */
/* Formats: the orders in which the elements of a tensor lie in memory. A format is an entry of one
 * table, and kernel_layout is its place there. The built-in ones come first; kernels that are
 * offered at run time (kernel_offer) may bring others.
 *
 * All formats are blocked by channels, [N, ceil(C/b), spatial..., b], with zeros in the lanes
 * beyond C; linear is b = 1. So a format is known by its block, and one kernel reorders them all.
 */
#ifndef KERNELS_FORMAT_H
#define KERNELS_FORMAT_H

#include <polygraphy/base.h>

typedef enum kernel_layout { KERNEL_LINEAR, KERNEL_BLOCKED_8, KERNEL_BLOCKED_16 } kernel_layout;

enum { KERNEL_MAX_FORMATS = 8, KERNEL_MAX_BLOCK = 256 };

size_t kernel_format_count(void);
size_t kernel_block(kernel_layout layout); /* lanes of a block; 1: linear */
/* The format with this block; false: there is none. */
bool kernel_layout_of_block(kernel_layout *out, uint64_t block);
/* Adds the format with this block, a power of two, unless it is there. It stays as long as the
 * process lives. PGY_E_ARGUMENT: another block; PGY_E_UNSUPPORTED: the table is full. */
pgy_status kernel_offer_format(kernel_layout *out, uint32_t block, pgy_error *err) PGY_MUST_CHECK;

#endif
