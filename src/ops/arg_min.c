/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMin: index of the smallest element along an axis. See class_arg.h. */
#include "ops/class_arg.h"

const op_def OP_arg_min[] = {ARG_ROWS("ArgMin", 0), {NULL}};
