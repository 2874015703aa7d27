/* SPDX-License-Identifier: Apache-2.0 */
/* BlackmanWindow: see class_window_function.h. */
#include "ops/class_window_function.h"

static const double TERMS[WINDOW_FUNCTION_TERMS] = {0.42, -0.5, 0.08};

const op_def OP_blackman_window[] = {WINDOW_FUNCTION_ROW("BlackmanWindow", TERMS), {0}};
