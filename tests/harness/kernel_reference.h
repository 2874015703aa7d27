/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the expected outputs of a kernel_case from the operator's reference definition. */
#ifndef HARNESS_KERNEL_REFERENCE_H
#define HARNESS_KERNEL_REFERENCE_H

#include "harness/kernel_case.h"

/* Adds the output, with the shape and the expected values that the operator's definition gives. */
void case_output_of_reference(kernel_case *c);
/* Runs all variants with every layout. @return number of runs */
size_t case_run_layouts(kernel_case *c, double tolerance);

#endif
