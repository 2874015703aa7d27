/* SPDX-License-Identifier: Apache-2.0 */
/* Generation without beams: one sequence per batch entry, until all have ended or are full. */
#include "base/alloc.h"
#include "ops/class_generate.h"

pgy_status generate_infer_rows(op_infer *c, pgy_error *err)
{
    dim *dims = op_dims(c, 2), *filtered = op_dims(c, 2);
    pgy_status st = generate_infer_graphs(c, err);
    if (!dims || !filtered) return rule_no_memory(c->node, err);
    dims[0] = filtered[0] = generate_batch(c);
    dims[1] = generate_number(c, 1, "max_length is not known");
    op_set_output(c, 0, PGY_I32, 2, dims);
    if (c->node->output_count > 1) {
        filtered[1] = dim_unknown(c->dims, "the size of the vocabulary is not known");
        op_set_output(c, 1, PGY_F32, 2, filtered);
    }
    return st;
}

/* Marks the rows that have ended, whose words are padding from now on. @return whether all have */
static bool end_rows(generate *g, bool *ended)
{
    bool all = true;
    for (int64_t r = 0; r < g->rows; r++) {
        ended[r] |= g->next[r] == g->eos;
        if (ended[r]) g->next[r] = g->pad;
        all &= ended[r];
    }
    return all;
}

pgy_status generate_rows(generate *g, generate_choose choose, void *user, pgy_error *err)
{
    const int64_t shape[] = {g->batch, g->max_length};
    bool *ended = NULL, all = false;
    pgy_status st = workspace_alloc((void **)&ended, g->c, (size_t)g->rows, sizeof *ended, err);
    if (!st && g->rows) st = generate_first(g, err);
    while (!st && g->rows) {
        generate_penalize(g);
        st = choose(g, user, err);
        if (st) break;
        all = end_rows(g, ended);
        generate_append(g);
        if (all || g->length >= g->max_length) break;
        st = generate_next(g, err);
    }
    if (!st) st = op_output(g->c, 0, PGY_I32, 2, shape, err);
    for (int64_t i = 0; !st && i < g->rows * g->max_length; i++)
        out_i64(g->c, 0)[i] = i % g->max_length < g->length ? g->words[i] : g->pad;
    mem_free(ended);
    return st;
}
