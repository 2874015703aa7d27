/* SPDX-License-Identifier: Apache-2.0 */
/* Finds built-in kernels by operator and by name without walking all tables: a model asks for the
 * kernels of each of its nodes, and a plan for the kernel of each step. */
#ifndef KERNELS_KERNEL_INDEX_H
#define KERNELS_KERNEL_INDEX_H

#include "kernels/kernel.h"

/* Kernels that this processor and POLYGRAPHY_CPU allow, in the order of the tables. */
typedef struct kernel_span {
    const kernel *const *items;
    size_t count;
} kernel_span;

/* All functions may be called by several threads at once; the first call makes the index. */
kernel_span kernel_index_all(void);
kernel_span kernel_index_of_operator(const char *domain, const char *op);
kernel_span kernel_index_of_name(const char *name); /* all versions of that kernel */

#endif
