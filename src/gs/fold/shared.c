/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several folding passes use: state of tensors and nodes, tests, making constants,
 * and free names. */
#include <string.h>

#include "base/alloc.h"
#include "graph/names.h"
#include "gs/fold/fold.h"
#include "gs/graph/document.h"
#include "tensor/tensor.h"

static const uint64_t LARGE_BYTES = 1u << 20; /* larger results are listed in a warning */

fold_state *gs_fold_state(gs_folder *f, uint64_t serial)
{
    void *states = f->states;
    const size_t before = f->state_capacity;
    if (serial >= SIZE_MAX / sizeof *f->states) return NULL;
    if (serial >= before) {
        if (!mem_grow(&states, &f->state_capacity, (size_t)serial + 1, sizeof *f->states))
            return NULL;
        f->states = states;
        memset(f->states + before, 0, (f->state_capacity - before) * sizeof *f->states);
    }
    return &f->states[serial];
}

bool gs_fold_is(const pgy_gs_node *n, const char *op)
{
    return gs_is_default_domain(n->domain) && strcmp(n->op, op) == 0;
}

bool gs_fold_is_excluded(const gs_folder *f, const pgy_gs_node *n)
{
    return f->options.exclude && f->options.exclude(n, f->options.user);
}

bool gs_fold_makes(const gs_folder *f, const pgy_gs_node *n, const pgy_gs_tensor *t)
{
    return !pgy_gs_is_omitted(t) && t->producer_count == 1 && t->producers[0] == n &&
           !gs_fold_is_input(f, t);
}

bool gs_fold_is_constant(const pgy_gs_tensor *t)
{
    return t->kind == PGY_GS_CONSTANT && t->dtype != PGY_DTYPE_NONE;
}

/* ---- Constants --------------------------------------------------------------------------------
 */

static void note_large(gs_folder *f, const pgy_gs_tensor *t, uint64_t bytes)
{
    if (bytes <= LARGE_BYTES || f->options.size_threshold != UINT64_MAX) return;
    str_printf(&f->large, "%s%s (%llu MiB)", f->large_count++ ? ", " : "", t->name,
               (unsigned long long)(bytes >> 20));
}

pgy_status gs_fold_set(gs_folder *f, pgy_gs_tensor *t, pgy_tensor *values, bool *done,
                       pgy_error *err)
{
    const uint64_t bytes = pgy_tensor_size_bytes(values);
    pgy_tensor *own = NULL;
    pgy_status st = PGY_OK;
    *done = false;
    if (bytes > f->options.size_threshold) return PGY_OK;
    /* Copied, because a borrowed tensor would keep the document alive and the document would keep
     * the tensor. */
    if (tensor_is_borrowed(values)) st = pgy_tensor_copy(&own, pgy_tensor_view(values), err);
    if (!st) st = pgy_gs_to_constant(t, own ? own : values, err);
    pgy_tensor_release(own);
    if (st) return st;
    note_large(f, t, bytes);
    *done = true;
    return PGY_OK;
}

static bool is_folded(const pgy_gs_tensor *t)
{
    return t->kind == PGY_GS_CONSTANT && !pgy_gs_is_omitted(t);
}

bool gs_fold_is_inside(const pgy_gs_graph *g, const pgy_gs_graph *outer)
{
    for (; g; g = g->parent)
        if (g == outer) return true;
    return false;
}

/* True if the name belongs to a tensor of the graph `user`, of its subgraphs or of an enclosing
 * graph. */
static bool is_taken(const char *name, const void *user)
{
    const pgy_gs_graph *g = user;
    const gs_document *d = graph_box(g)->document;
    for (const gs_named *item = gs_names_find(&d->tensor_names, name, gs_hash(name)); item;
         item = item->next) {
        const pgy_gs_graph *home = tensor_box(item->owner)->home;
        if (strcmp(item->name, name) == 0 &&
            (gs_fold_is_inside(home, g) || gs_fold_is_inside(g, home)))
            return true;
    }
    return false;
}

void gs_fold_free_name(str *name, const pgy_gs_graph *g)
{
    uint64_t number = 1;
    name_make_free(name, &number, is_taken, g);
}

/* Replaces output i by a new unused tensor. Omitting it is not always valid: runtimes want all
 * outputs of a Split. */
static pgy_status replace_output(pgy_gs_node *n, size_t i, pgy_error *err)
{
    const pgy_gs_tensor *t = n->outputs[i];
    pgy_gs_tensor *unused = NULL;
    str name = {0};
    str_printf(&name, "%s_unused", t->name);
    gs_fold_free_name(&name, n->graph);
    pgy_status st = name.failed ? gs_no_memory(err)
                                : pgy_gs_variable(&unused, n->graph, str_text(&name), t->dtype,
                                                  t->rank, t->dims, err);
    if (!st) st = pgy_gs_set_output(n, i, unused, err);
    str_deinit(&name);
    return st;
}

pgy_status gs_fold_drop_outputs(pgy_gs_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t kept = 0;
    for (size_t i = 0; i < n->output_count; i++)
        if (!is_folded(n->outputs[i]) && !pgy_gs_is_omitted(n->outputs[i])) kept = i + 1;
    if (kept == 0) return pgy_gs_set_outputs(n, NULL, 0, err);
    for (size_t i = 0; !st && i < n->output_count; i++)
        if (is_folded(n->outputs[i])) st = replace_output(n, i, err);
    return st;
}

bool gs_fold_ints(pgy_gs_tensor *t, int64_t **out, size_t *count, size_t *rank, int64_t *shape)
{
    pgy_tensor *values = NULL, *wide = NULL;
    bool done = false;
    if (!gs_fold_is_constant(t) || !pgy_dtype_is_integer(t->dtype) || t->rank > PGY_MAX_RANK)
        return false;
    if (!pgy_gs_values(&values, t, NULL) &&
        !pgy_tensor_cast(&wide, pgy_tensor_view(values), PGY_I64, NULL)) {
        const size_t n = pgy_tensor_count(wide);
        int64_t *copy = mem_calloc(n, sizeof *copy);
        if (copy) {
            if (n) memcpy(copy, pgy_tensor_data(wide), n * sizeof *copy);
            *rank = pgy_tensor_rank(wide);
            for (size_t i = 0; i < *rank; i++) shape[i] = pgy_tensor_shape(wide)[i];
            *out = copy;
            *count = n;
            done = true;
        }
    }
    pgy_tensor_release(values);
    pgy_tensor_release(wide);
    return done;
}

const char *gs_fold_describe(str *out, const pgy_gs_node *n, const char *text)
{
    str named = {0};
    str_printf(&named, "%s '%s': ", n->op, gs_node_label(n));
    if (!named.failed && str_starts_with(text, str_text(&named))) text += named.size;
    str_printf(out, "node '%s' (%s): %s", gs_node_label(n), n->op, text);
    str_deinit(&named);
    return str_text(out);
}
