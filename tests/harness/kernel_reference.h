/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's operator gives by its reference definition. */
#ifndef HARNESS_KERNEL_REFERENCE_H
#define HARNESS_KERNEL_REFERENCE_H

#include "harness/kernel_case.h"

/* Adds the output: its shape and the wanted values come from the operator. */
void case_output_of_reference(kernel_case *c);
/* Every layout is offered to all variants. @return how many ran */
size_t case_run_layouts(kernel_case *c, double tolerance);

#endif
