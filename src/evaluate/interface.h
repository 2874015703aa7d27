/* SPDX-License-Identifier: Apache-2.0 */
/* Converts between named tensors and the values of a graph's inputs and outputs: see pgy_form. */
#ifndef EVALUATE_INTERFACE_H
#define EVALUATE_INTERFACE_H

#include "graph/graph.h"

/* Makes the value of input v from the tensors in `feed`; the caller releases it. PGY_E_NOT_FOUND,
 * PGY_E_ARGUMENT */
pgy_status interface_feed(op_tensor *out, const pgy_value *v, const pgy_tensor_map *feed,
                          pgy_error *err) PGY_MUST_CHECK;
/* Adds the tensors of output v to `out`, in their declared types. */
pgy_status interface_take(pgy_tensor_map *out, const pgy_value *v, const op_tensor *value,
                          pgy_error *err) PGY_MUST_CHECK;
/* Describes an input or output for runners; `shape` and `names` have PGY_MAX_RANK entries. */
pgy_tensor_info interface_describe(const pgy_value *v, int64_t *shape, const char **names);
/* op_host.graph_port */
bool interface_port(op_graph_port *out, const void *graph, bool is_output, size_t i);
/* Adds the descriptions of inputs or outputs to `into`. */
pgy_status interface_describe_all(pgy_metadata *into, pgy_value *const *values, size_t count,
                                  pgy_error *err) PGY_MUST_CHECK;
/* The same for the inputs of a graph, all of which must be tensors: else PGY_E_TYPE. */
pgy_status interface_describe_tensors(pgy_metadata **out, const pgy_graph *g,
                                      pgy_error *err) PGY_MUST_CHECK;

#endif
