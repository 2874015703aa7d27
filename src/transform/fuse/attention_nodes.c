/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the values and small nodes that stand before an Attention. */
#include "transform/fuse/attention.h"

pgy_value *attention_value(pattern *p, const pgy_node *n)
{
    pgy_value *v = value_create_unique(n->graph, n->outputs[0]->name, p->err);
    if (!v && !p->status) p->status = PGY_E_MEMORY;
    return v;
}

pgy_value *attention_ints(pattern *p, const pgy_node *n, const int64_t *values, size_t count)
{
    pgy_value *list = NULL;
    const pgy_status st =
        value_create_ints(&list, n->graph, n->outputs[0]->name, values, count, p->err);
    if (st && !p->status) p->status = st;
    return list;
}

pgy_value *attention_axis(pattern *p, pgy_node *n, const char *op, pgy_value *v)
{
    static const int64_t FIRST[] = {0};
    pgy_value *inputs[] = {v, attention_ints(p, n, FIRST, 1)}, *made = attention_value(p, n);
    return made && inputs[1] && pattern_add(p, n, op, inputs, 2, made) ? made : NULL;
}
