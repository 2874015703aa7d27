/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the step's tensors to storage types, runs the definition, rounds the results to their
 * declared types and copies them back. */
#include "engine/program/reference_step.h"

#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "evaluate/execute.h"

pgy_status reference_step_prepare(pgy_node *n, pgy_error *err)
{
    if (!n->subgraph_count && !node_box_of(n)->function) return PGY_OK;
    graph_plan plan = {0};
    const pgy_status st = plan_build_node(&plan, n, err);
    graph_plan_deinit(&plan);
    return st;
}

pgy_status reference_step_bind(program_step *s, pgy_node *n, uint32_t node_index, arena *memory,
                               pgy_error *err)
{
    const node_box *box = node_box_of(n);
    pgy_status st = reference_step_prepare(n, err);
    if (st) return st;
    s->node = n;
    s->node_index = node_index;
    s->op = NULL;
    if (n->subgraph_count || box->function) return PGY_OK;
    op_node *op = arena_alloc(memory, sizeof *op);
    if (!op) return graph_no_memory(err);
    *op = (op_node){.def = box->def,
                    .name = s->label,
                    .opset = box->opset,
                    .input_count = n->input_count,
                    .output_count = n->output_count,
                    .signature = box->signature};
    st = node_attrs(&op->attrs, &op->attr_count, n, NULL, memory, err);
    if (!st) s->op = op;
    return st;
}

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

/* Must each operation within the node round? Floats stay wide, except bfloat16, since ONNX's
 * expected values round each operation to it. */
static bool rounds_within(const program *p, const program_step *s)
{
    const uint32_t *outputs = s->tensors + s->input_count + s->captured_count;
    for (size_t i = 0; i < s->output_count; i++)
        if (outputs[i] != PROGRAM_NO_TENSOR && p->tensors[outputs[i]].dtype == PGY_BF16)
            return true;
    return false;
}

static pgy_status load(op_tensor *out, const program_tensor *t, void *data, pgy_error *err)
{
    pgy_tensor *wrapped = NULL, *stored = NULL;
    pgy_status st =
        pgy_tensor_wrap(&wrapped, data, t->dtype, (size_t)t->rank, t->shape, keep, NULL, err);
    if (!st) st = op_to_storage(&stored, wrapped, err);
    if (!st) *out = (op_tensor){.dtype = t->dtype, .value = stored};
    pgy_tensor_release(wrapped);
    return st;
}

static pgy_status store(const program_tensor *t, void *data, const op_tensor *value,
                        const program_step *s, pgy_error *err)
{
    pgy_tensor *declared = NULL;
    if (!value->value)
        return pgy_error_set(err, PGY_E_INTERNAL, "%s '%s' did not compute '%s'", s->op_type,
                             s->label, t->name);
    pgy_status st = op_from_storage(&declared, value->value, t->dtype, err);
    if (!st && (pgy_tensor_rank(declared) != (size_t)t->rank ||
                pgy_tensor_size_bytes(declared) != t->size_bytes))
        st = pgy_error_set(err, PGY_E_SHAPE,
                           "%s '%s': the shape of '%s' differs from the inferred shape", s->op_type,
                           s->label, t->name);
    /* memmove, since a plan may place an output over an input, and the result may be a view of that
     * input. */
    if (!st && t->size_bytes) memmove(data, pgy_tensor_data(declared), t->size_bytes);
    pgy_tensor_release(declared);
    return st;
}

/* Runs the definition on values in storage types. */
static pgy_status run_op(const program *p, const program_step *s, const op_tensor *in,
                         op_tensor *out, pgy_error *err)
{
    const size_t reads = (size_t)s->input_count + s->captured_count;
    const op_host host = {.max_bytes = memory_limit_bytes(),
                          .model_precision = rounds_within(p, s)};
    bool *wanted = mem_calloc(s->output_count + 1, sizeof *wanted);
    if (!wanted) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < s->output_count; i++)
        wanted[i] = s->tensors[reads + i] != PROGRAM_NO_TENSOR;
    const pgy_status st = op_run(s->op, in, out, wanted, &host, err);
    mem_free(wanted);
    return st;
}

pgy_status reference_step_run(const program *p, const program_step *s, void *const *addresses,
                              pgy_error *err)
{
    const size_t reads = (size_t)s->input_count + s->captured_count;
    op_tensor *in = mem_calloc(reads + 1, sizeof *in);
    op_tensor *out = mem_calloc(s->output_count + 1, sizeof *out);
    pgy_status st = PGY_OK;
    if (!in || !out) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < reads; i++)
        if (s->tensors[i] != PROGRAM_NO_TENSOR)
            st = load(&in[i], &p->tensors[s->tensors[i]], addresses[i], err);
    if (!st) st = run_op(p, s, in, out, err);
    for (size_t i = 0; !st && i < s->output_count; i++)
        if (s->tensors[reads + i] != PROGRAM_NO_TENSOR)
            st = store(&p->tensors[s->tensors[reads + i]], addresses[reads + i], &out[i], s, err);
    for (size_t i = 0; in && i < reads; i++) op_tensor_release(&in[i]);
    for (size_t i = 0; out && i < s->output_count; i++) op_tensor_release(&out[i]);
    mem_free(in);
    mem_free(out);
    return st;
}
