/* SPDX-License-Identifier: Apache-2.0 */
/* HammingWindow: see class_window_function.h. */
#include "ops/class_window_function.h"

static const double TERMS[WINDOW_FUNCTION_TERMS] = {25. / 46, -21. / 46, 0};

const op_def OP_hamming_window[] = {WINDOW_FUNCTION_ROW("HammingWindow", TERMS), {0}};
