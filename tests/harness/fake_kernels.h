/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of fake devices: "fake:NAME" is the host's kernel NAME, run when its turn in the stream
 * comes. More than a third of the kernel families have one. Short int64 operands other than the
 * first, such as shapes, stay in host memory. */
#ifndef HARNESS_FAKE_KERNELS_H
#define HARNESS_FAKE_KERNELS_H

#include "kernels/kernel.h"

/* The cost of a problem on the device of u->space; must be the same for each call. */
typedef double (*fake_cost)(const kernel_problem *u, void *user);

/* Makes these kernels available to builders until fake_kernels_withdraw. `cost` NULL: all are
 * almost free. */
void fake_kernels_offer(fake_cost cost, void *user);
void fake_kernels_withdraw(void);
/* The fake devices' counterpart of a kernel of the host; NULL: none. */
const kernel *fake_kernel_of(const kernel *k);
size_t fake_kernel_families(void);
/* Index of the kernel family of a fake devices' kernel, less than fake_kernel_families(). */
size_t fake_kernel_family(const kernel *k);

#endif
