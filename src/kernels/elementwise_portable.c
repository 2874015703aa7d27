/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise loops, any processor. */
#define TARGET
#define LEVEL CPU_PORTABLE
#define TABLE elementwise_portable
#include "kernels/elementwise_loops.inc"
