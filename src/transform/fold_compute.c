/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one node by its operator's definition, in the model's own precision. Inputs have the
 * declared type and are widened to the storage type of definitions; results are narrowed back. */
#include <string.h>

#include "base/alloc.h"
#include "transform/fold.h"

static pgy_status read_widened(op_tensor *out, const fold_source *from, pgy_value *v,
                               pgy_error *err)
{
    op_tensor declared = {0};
    pgy_tensor *stored = NULL;
    if (!v) return PGY_OK; /* omitted */
    pgy_status st = from->read(&declared, v, from->user, err);
    if (!st && declared.sequence) {
        *out = declared;
        return PGY_OK;
    }
    if (!st) st = op_to_storage(&stored, declared.value, err);
    if (!st) *out = (op_tensor){.dtype = pgy_tensor_dtype(declared.value), .value = stored};
    op_tensor_release(&declared);
    return st;
}

pgy_status fold_compute(op_tensor *out, pgy_node *n, const fold_source *from,
                        const execute_limits *limits, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    const size_t count = n->input_count + box->captured_count;
    op_tensor *in = mem_calloc(count + 1, sizeof *in);
    op_tensor *captured = in ? in + n->input_count : NULL;
    pgy_status st = in ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = read_widened(&in[i], from, n->inputs[i], err);
    for (size_t i = 0; !st && i < box->captured_count; i++)
        st = read_widened(&captured[i], from, box->captured[i], err);
    if (!st) st = execute_node(n, in, captured, out, true, limits, err);
    for (size_t i = 0; in && i < count; i++) op_tensor_release(&in[i]);
    for (size_t i = 0; !st && i < n->output_count; i++) st = op_tensor_settle(&out[i], err);
    mem_free(in);
    return st;
}
