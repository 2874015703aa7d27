/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which nodes may be folded: all that the reference can run, except random ones and those
 * that runtimes must see (quantisers mark the precision of the following nodes). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transform/fold.h"

static const char *const QUANTIZERS[] = {"QuantizeLinear", "DequantizeLinear",
                                         "DynamicQuantizeLinear"};

bool fold_is_quantizer(const char *op_type)
{
    for (size_t i = 0; i < sizeof QUANTIZERS / sizeof *QUANTIZERS; i++)
        if (strcmp(op_type, QUANTIZERS[i]) == 0) return true;
    return false;
}

static bool is_kept(const pgy_node *n)
{
    if (strcmp(n->op_type, "Constant") == 0 || fold_is_quantizer(n->op_type)) return true;
    return node_is(n, "Dropout") && n->input_count > 2 && n->inputs[2]; /* training */
}

static pgy_status body_allows(bool *out, folder *f, const pgy_graph *body, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *out = true;
    for (size_t i = 0; !st && *out && i < body->node_count; i++) {
        pgy_node *n = body->nodes[i];
        if (node_is(n, "Constant") ||
            (domain_is_default(n->domain) && fold_is_quantizer(n->op_type)))
            continue; /* quantisers in a folded body disappear with it, so no runtime looks for them
                       */
        st = fold_allows(out, f, n, err);
    }
    return st;
}

static pgy_status function_allows(bool *out, folder *f, pgy_node *n, pgy_error *err)
{
    graph_function *function = node_box_of(n)->function;
    pgy_graph *body = NULL;
    uint8_t *foldable = fold_answers_at(&f->found->foldable, function->id);
    if (!foldable) return graph_no_memory(err);
    if (*foldable == FOLD_UNKNOWN) {
        *foldable = FOLD_NO; /* ends the recursion if the function calls itself */
        pgy_status st = function_body(&body, function, n->graph, err);
        bool allowed = false;
        if (!st) st = body_allows(&allowed, f, body, err);
        if (st) return st;
        if (allowed) *foldable = FOLD_YES;
    }
    *out = *foldable == FOLD_YES;
    return PGY_OK;
}

pgy_status fold_allows(bool *out, folder *f, pgy_node *n, pgy_error *err)
{
    *out = false;
    return fold_refusal(f, n) ? node_prepare(n, err) : fold_can_compute(out, f, n, err);
}

pgy_status fold_can_compute(bool *out, folder *f, pgy_node *n, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    pgy_status st = node_prepare(n, err);
    *out = false;
    if (st || is_kept(n)) return st;
    if (box->function) return function_allows(out, f, n, err);
    if (!box->def || !box->def->eval || (box->def->flags & OP_RANDOM)) return PGY_OK;
    if (box->has_refs && !level_of(n->graph)->is_function) return PGY_OK;
    *out = true;
    for (size_t i = 0; !st && *out && i < n->subgraph_count; i++)
        st = body_allows(out, f, n->subgraphs[i], err);
    return st;
}

pgy_status fold_refuse(folder *f, pgy_node *n, pgy_error *err, const char *format, ...)
{
    char reason[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    /* Drop the node's name from the error, because the report has it next to the reason. */
    char prefix[512];
    const int size = snprintf(prefix, sizeof prefix, "%s '%s': ", n->op_type, node_label(n));
    const bool named =
        size > 0 && (size_t)size < sizeof prefix && strncmp(reason, prefix, (size_t)size) == 0;
    const char **place = fold_reasons_at(&f->found->refused, node_id(n));
    if (place) *place = arena_strdup(&f->state->memory, reason + (named ? size : 0));
    return place && *place ? PGY_OK : graph_no_memory(err);
}

pgy_status fold_refuse_size(folder *f, pgy_node *n, uint64_t bytes, pgy_error *err)
{
    return fold_refuse(f, n, err, "its result has %llu bytes, more than the limit of %llu",
                       (unsigned long long)bytes, (unsigned long long)f->options.max_result_bytes);
}

pgy_status fold_limits_growth(bool *kept, folder *f, pgy_node *n, uint64_t made, uint64_t freed,
                              pgy_error *err)
{
    const uint64_t grown = made > freed ? made - freed : 0;
    *kept = false;
    if (grown > f->options.max_node_growth)
        return fold_refuse(f, n, err,
                           "its result makes the model %llu bytes larger, more than the limit of "
                           "%llu for one node",
                           (unsigned long long)grown,
                           (unsigned long long)f->options.max_node_growth);
    const int64_t total = f->growth + ((int64_t)made - (int64_t)freed);
    if (grown && total > 0 && (uint64_t)total > f->options.max_total_growth)
        return fold_refuse(f, n, err,
                           "its %llu bytes would make the model %llu bytes larger, more than the "
                           "limit of %llu in total",
                           (unsigned long long)made, (unsigned long long)total,
                           (unsigned long long)f->options.max_total_growth);
    f->growth = total;
    *kept = true;
    return PGY_OK;
}
