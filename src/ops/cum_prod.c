/* SPDX-License-Identifier: Apache-2.0 */
/* CumProd: running products along an axis. */
#include "ops/class_check.h"
#include "ops/class_running.h"

const op_def OP_cum_prod[] = {
    {"CumProd", "", 26, 0, 2, 2, 1, 1, 0, RUNNING_ATTRS, TYPES_W4, running_infer, running_eval,
     NULL, RUNNING_PRODUCT},
    {NULL},
};
