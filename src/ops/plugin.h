/* SPDX-License-Identifier: Apache-2.0 */
/* This program's side of the plug-in interface polygraphy/operator.h: the call object through which
 * a plug-in operator sees its node. */
#ifndef OPS_PLUGIN_H
#define OPS_PLUGIN_H

#include <polygraphy/operator.h>

#include "ops/op.h"

struct pgy_operator_call {
    const op_node *node;
    op_infer *infer; /* set while the plug-in's infer runs, else NULL */
    op_eval *eval;   /* set while the plug-in's compute runs, else NULL */
    dim *dims;
    size_t dim_count, dim_capacity;
};

const pgy_operator_host *plugin_host(void);
/* Whether the row belongs to a plug-in operator. */
bool plugin_is(const op_def *def);
/* op_def.infer and op_def.eval of plug-in operators; op_def.user_data is their definition. */
pgy_status plugin_infer(op_infer *c, pgy_error *err);
pgy_status plugin_eval(op_eval *c, pgy_error *err);

#endif
