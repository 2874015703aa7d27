/* SPDX-License-Identifier: Apache-2.0 */
/* The values that precision changes make, and the table of those made of each value. */
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

pgy_value *precision_create(precision *x, pgy_value *like, const char *suffix, pgy_dtype t)
{
    str name = {0};
    str_printf(&name, "%s_%s", like->name, suffix);
    if (name.failed) precision_no_memory(x);
    pgy_value *v = name.failed ? NULL : pattern_value(&x->p, like->graph, str_text(&name));
    str_deinit(&name);
    if (!v) return NULL;
    box_of(v)->known = box_of(like)->known;
    box_of(v)->known.data = NULL;
    box_of(v)->known.dtype = t;
    v->kind = PGY_VALUE_TENSOR;
    v->dtype = t;
    v->rank = like->rank;
    v->dims = like->dims;
    return v;
}
