/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what precision changes have made of each value. */
#include "engine/precision/precision.h"

pgy_status precision_no_memory(precision *x)
{
    if (!x->p.status) x->p.status = graph_no_memory(x->p.err);
    return x->p.status;
}

precision_value *precision_of(precision *x, pgy_value *v)
{
    precision_value *entry = precision_values_at(&x->values, value_id(v));
    if (!entry) precision_no_memory(x);
    return entry;
}
