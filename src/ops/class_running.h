/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products along an axis: CumSum and CumProd differ in the operation only. */
#ifndef OPS_CLASS_RUNNING_H
#define OPS_CLASS_RUNNING_H

#include "ops/op.h"

/* Values of op_def.user. */
enum running_kind { RUNNING_SUM, RUNNING_PRODUCT };

extern const op_attr_def RUNNING_ATTRS[];
pgy_status running_infer(op_infer *c, pgy_error *err);
pgy_status running_eval(op_eval *c, pgy_error *err);

#endif
