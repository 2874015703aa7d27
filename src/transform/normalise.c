/* SPDX-License-Identifier: Apache-2.0 */
/* Normalising is converting to the newest opset, so that no operator needs a second set of
 * adapters. */
#include "transform/normalise.h"

#include "transform/opset/convert.h"

pgy_status graph_normalise(pgy_graph *g, pgy_error *err)
{
    if (!pgy_graph_opset(g, "")) return opset_import_default(g, OPSET_NEWEST, err);
    return pgy_graph_convert_opset(g, OPSET_NEWEST, NULL, err);
}
