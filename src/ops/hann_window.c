/* SPDX-License-Identifier: Apache-2.0 */
/* HannWindow: see class_window_function.h. */
#include "ops/class_window_function.h"

static const double TERMS[WINDOW_FUNCTION_TERMS] = {0.5, -0.5, 0};

const op_def OP_hann_window[] = {WINDOW_FUNCTION_ROW("HannWindow", TERMS), {0}};
