/* SPDX-License-Identifier: Apache-2.0 */
/* Values in 16-bit floats that exist already. */
#include "engine/precision/half.h"

size_t half_slot(pgy_dtype t)
{
    return t == PGY_F16 ? 0 : t == PGY_BF16 ? 1 : 2;
}

/* If v is a cast from type t, its input, which has type t already. */
static pgy_value *behind_cast(const pgy_value *v, pgy_dtype t)
{
    const pgy_node *n = v->producer;
    return n && node_is(n, "Cast") && n->input_count == 1 && n->inputs[0] &&
                   pattern_dtype(n->inputs[0]) == t
               ? n->inputs[0]
               : NULL;
}

pgy_value *half_value(precision *x, pgy_value *v, pgy_dtype t)
{
    precision_value *entry = precision_of(x, v);
    if (!entry) return NULL;
    pgy_value **made = &entry->as[half_slot(t)];
    if (!*made) *made = behind_cast(v, t);
    return *made;
}
