/* SPDX-License-Identifier: Apache-2.0 */
/* Brings all models to the newest opset. */
#ifndef TRANSFORM_NORMALISE_H
#define TRANSFORM_NORMALISE_H

#include "graph/graph.h"

/* Converts to opset 28, or imports it if the model has no operator of the default domain, since
 * passes may add some. PGY_E_UNSUPPORTED names a node that the newest opset cannot express; the
 * graph is then as it was. */
pgy_status graph_normalise(pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

#endif
