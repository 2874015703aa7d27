/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax: index of the largest element along an axis. See class_arg.h. */
#include "ops/class_arg.h"

const op_def OP_arg_max[] = {ARG_ROWS("ArgMax", 1), {NULL}};
