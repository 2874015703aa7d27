/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of fake devices: "fake:NAME" is kernel NAME of the host, run when the stream gets to it.
 * More than a third of the families have them. Shapes and other short operands of int64 behind the
 * first are taken from the host. */
#ifndef HARNESS_FAKE_KERNELS_H
#define HARNESS_FAKE_KERNELS_H

#include "kernels/kernel.h"

/* What a problem costs, on the device of u->space; must give the same each time. */
typedef double (*fake_cost)(const kernel_problem *u, void *user);

/* Offers them to the process, until fake_kernels_withdraw. `cost` NULL: next to nothing. */
void fake_kernels_offer(fake_cost cost, void *user);
void fake_kernels_withdraw(void);
/* The kernel of fake devices that does what this one does; NULL: there is none. */
const kernel *fake_kernel_of(const kernel *k);
size_t fake_kernel_families(void);

#endif
