/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which nodes may fold: those that depend on constants only. Exceptions are random
 * operators, quantising operators (a runtime reads the precision from them), and operators that
 * make sequences, which no initializer can hold. An operator that this library cannot compute is
 * left alone; if it is of the default domain, it is tried, so that the user sees the failure. */
#include <string.h>

#include "gs/fold/fold.h"
#include "gs/graph/document.h"
#include "ops/op.h"
#include "transform/fold.h"

enum {
    ALLOW_UNKNOWN,
    ALLOW_YES,
    ALLOW_NO
}; /* values of gs_folder.function_allowed; ALLOW_NO while a function is examined */
enum { MAX_DEPTH = 64 };

static const char *const SEQUENCES[] = {"SequenceConstruct", "SequenceEmpty", "SequenceInsert",
                                        "SequenceErase",     "SequenceMap",   "SplitToSequence",
                                        "Optional"};

static bool has_references(const pgy_gs_node *n)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (n->attributes[i].value && *n->attributes[i].value->ref_attr_name) return true;
    return false;
}

/* ---- One node -------------------------------------------------------------------------------- */

static bool is_false(pgy_gs_tensor *t)
{
    pgy_tensor *values = NULL;
    if (!gs_fold_is_constant(t) || t->dtype != PGY_BOOL || pgy_gs_values(&values, t, NULL))
        return false;
    const bool is = pgy_tensor_count(values) == 1 && *(const char *)pgy_tensor_data(values) == 0;
    pgy_tensor_release(values);
    return is;
}

static bool drops(const pgy_gs_node *n, int64_t opset)
{
    if (!gs_fold_is(n, "Dropout")) return false;
    if (opset < 7) return pgy_gs_attr_as_int(n, "is_test", 0) == 0;
    return n->input_count > 2 && !pgy_gs_is_omitted(n->inputs[2]) && !is_false(n->inputs[2]);
}

static int64_t opset_of(const pgy_gs_graph *g, const pgy_gs_node *n)
{
    if (gs_is_default_domain(n->domain)) return g->opset;
    const pgy_gs_opset *import = gs_find_import(g, n->domain);
    return import ? import->version : 1;
}

static bool operator_allowed(const pgy_gs_graph *g, const pgy_gs_node *n)
{
    const int64_t opset = opset_of(g, n);
    const op_def *def = op_find(n->domain, n->op, opset > 0 ? opset : 1);
    if (!def || !def->eval) return gs_is_default_domain(n->domain);
    return !(def->flags & OP_RANDOM) && !drops(n, opset);
}

/* ---- Subgraphs and called functions ---------------------------------------------------------- */

/* True if n and everything inside it can be computed. bound: n is in a function body that is
 * examined for a call, which gives attribute references their values. */
static bool node_allowed(gs_folder *f, const pgy_gs_graph *g, const pgy_gs_node *n, bool bound,
                         size_t depth);

static bool body_allowed(gs_folder *f, const pgy_gs_graph *g, bool bound, size_t depth)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (!node_allowed(f, g, g->nodes[i], bound, depth + 1) ||
            gs_fold_is_excluded(f, g->nodes[i]))
            return false;
    return true;
}

static bool function_allowed(gs_folder *f, size_t place, size_t depth)
{
    uint8_t *known = &f->function_allowed[place];
    if (*known == ALLOW_UNKNOWN) {
        *known = ALLOW_NO; /* the answer for a recursive call, found while the body is examined */
        if (body_allowed(f, f->document->functions[place], true, depth)) *known = ALLOW_YES;
    }
    return *known == ALLOW_YES;
}

static bool node_allowed(gs_folder *f, const pgy_gs_graph *g, const pgy_gs_node *n, bool bound,
                         size_t depth)
{
    const size_t function = gs_function_index_find(&f->functions, n);
    if (depth > MAX_DEPTH || (!bound && has_references(n))) return false;
    if (function != SIZE_MAX) {
        if (!function_allowed(f, function, depth)) return false;
    } else if (!operator_allowed(g, n)) {
        return false;
    }
    for (size_t i = 0; i < n->attribute_count; i++)
        for (size_t k = 0; k < n->attributes[i].graph_count; k++)
            if (!body_allowed(f, n->attributes[i].graphs[k], bound, depth)) return false;
    return true;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

typedef struct dependencies {
    const gs_folder *f;
    bool constant;
} dependencies;

static pgy_status check_dependency(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    dependencies *d = user;
    (void)err;
    d->constant &= gs_fold_is_constant(t) || gs_fold_is_foldable(d->f, tensor_box(t)->serial) ||
                   gs_fold_known(d->f, t);
    return PGY_OK;
}

static bool makes_its_outputs(const gs_folder *f, const pgy_gs_node *n)
{
    bool some = false;
    for (size_t i = 0; i < n->output_count; i++) {
        if (pgy_gs_is_omitted(n->outputs[i])) continue;
        if (!gs_fold_makes(f, n, n->outputs[i]) || gs_fold_known(f, n->outputs[i])) return false;
        some = true;
    }
    return some;
}

static bool is_kept(const pgy_gs_node *n)
{
    for (size_t i = 0; i < sizeof SEQUENCES / sizeof *SEQUENCES; i++)
        if (strcmp(n->op, SEQUENCES[i]) == 0) return true;
    return fold_is_quantizer(n->op);
}

static pgy_status mark(gs_folder *f, uint64_t serial, pgy_error *err)
{
    fold_state *s = gs_fold_state(f, serial);
    if (!s) return gs_no_memory(err);
    s->foldable = f->date;
    return PGY_OK;
}

static pgy_status propagate_node(gs_folder *f, const pgy_gs_graph *g, pgy_gs_node *n,
                                 pgy_error *err)
{
    dependencies d = {.f = f, .constant = true};
    if (is_kept(n) || !makes_its_outputs(f, n)) return PGY_OK;
    pgy_status st = gs_each_dependency(n, check_dependency, &d, err);
    if (st || !d.constant || !node_allowed(f, g, n, false, 0) || gs_fold_is_excluded(f, n))
        return st;
    st = mark(f, gs_node_box(n)->serial, err);
    for (size_t i = 0; !st && i < n->output_count; i++)
        st = mark(f, tensor_box(n->outputs[i])->serial, err);
    return st;
}

pgy_status gs_fold_propagate(gs_folder *f, pgy_gs_graph *g, pgy_gs_node *const *order,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    f->date++;
    for (size_t i = 0; !st && i < g->node_count; i++) st = propagate_node(f, g, order[i], err);
    return st;
}
