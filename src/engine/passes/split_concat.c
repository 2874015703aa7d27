/* SPDX-License-Identifier: Apache-2.0 */
/* A Concat of more tensors than a kernel takes: the last ones are joined by a Concat of their own.
 * Long lists of boxes, and the last blocks of deep DenseNets, have them. */
#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "kernels/kernel.h"
#include "transform/pattern.h"

static bool split(pattern *p, pgy_node *n)
{
    enum { MOST = KERNEL_MAX_INPUTS };
    const size_t count = n->input_count;
    if (!pattern_is(n, "Concat") || count <= MOST || !pattern_dtype(n->outputs[0]) ||
        pattern_dtype(n->outputs[0]) == PGY_STRING)
        return false;
    /* Only as many as must go, as they are copied twice. */
    const size_t joined = count - MOST + 1 < MOST ? count - MOST + 1 : MOST, kept = count - joined;
    pgy_value **inputs = mem_calloc(kept + 1, sizeof(pgy_value *));
    pgy_value *part = pattern_make(p, n, NULL, "Concat", n->inputs + kept, joined);
    if (!inputs && !p->status) p->status = graph_no_memory(p->err);
    pgy_node *made = NULL;
    if (inputs && part) {
        pattern_copy(p, part->producer, n, "axis");
        for (size_t i = 0; i < kept; i++) inputs[i] = n->inputs[i];
        inputs[kept] = part;
        made = pattern_add(p, n, "Concat", inputs, kept + 1, n->outputs[0]);
    }
    if (made) {
        made->name = n->name;
        pattern_copy(p, made, n, "axis");
        pattern_drop(p, n);
    }
    mem_free(inputs);
    return made != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {split, NULL};
    return pattern_run(g, "split_concat", RULES, changes, err);
}

const pass PASS_split_concat = {.name = "split_concat",
                                .summary = "Concat of more tensors than kernels take, in parts",
                                .run = run};
