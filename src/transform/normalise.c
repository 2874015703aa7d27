/* SPDX-License-Identifier: Apache-2.0 */
/* The normaliser is the conversion to the newest opset: adapters exist once. */
#include "transform/normalise.h"

#include "transform/opset/convert.h"

pgy_status graph_normalise(pgy_graph *g, pgy_error *err)
{
    return pgy_graph_convert_opset(g, OPSET_NEWEST, NULL, err);
}

const node_origin *node_origin_of(const pgy_node *n)
{
    return node_box_of(n)->origin;
}
