/* SPDX-License-Identifier: Apache-2.0 */
/* Registered operations. A name calls the operation registered for the graph's opset, else one for
 * all opsets, else a local function. Of several operations, the one registered last. */
#include "gs/graph/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/document.h"

enum { MAX_INVOKE_DEPTH = 200 };

static const char LOG_PATH[] = "gs/graph/registry.c";

struct gs_registered {
    pgy_gs_operation operation; /* its strings and lists are copies in the document's memory */
};

/* ---- Registering ----------------------------------------------------------------------------- */

static bool is_for(const pgy_gs_operation *o, int64_t opset)
{
    for (size_t i = 0; i < o->opset_count; i++)
        if (o->opsets[i] == opset) return true;
    return false;
}

static pgy_status check(const pgy_gs_operation *o, pgy_error *err)
{
    if (!o || !o->name || !*o->name || !o->build)
        return pgy_error_set(err, PGY_E_ARGUMENT, "an operation needs a name and a function");
    if (o->opset_count && !o->opsets)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "operation '%.200s': the list of opsets is empty or NULL", o->name);
    if (o->max_inputs && o->max_inputs < o->min_inputs)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "operation '%.200s': the lower limit of %zu inputs exceeds the upper limit of %zu",
            o->name, o->min_inputs, o->max_inputs);
    const char *kinds = o->input_kinds ? o->input_kinds : "";
    const size_t good = strspn(kinds, "tncif?");
    if (kinds[good])
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "operation '%.200s': unknown kind of input '%c'; the kinds are t, n, c, i, f and ?",
            o->name, kinds[good]);
    return PGY_OK;
}

static void warn_overload(const gs_document *d, const pgy_gs_operation *o)
{
    for (size_t i = 0; i < d->operation_count; i++) {
        const pgy_gs_operation *other = &d->operations[i].operation;
        if (strcmp(other->name, o->name) != 0 || !other->opsets == !o->opsets) continue;
        LOG(WARNING,
            "Operation '%s' is registered for all opsets and for certain opsets; where both fit, "
            "the one for certain opsets is called",
            o->name);
        return;
    }
}

pgy_status pgy_gs_register(pgy_gs_graph *g, const pgy_gs_operation *operation, pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    pgy_status st = check(operation, err);
    if (st) return st;
    gs_document *d = graph_box(g)->document;
    gs_registered *list = gs_alloc(d, d->operation_count + 1, sizeof(*list));
    int64_t *opsets = gs_alloc(d, operation->opset_count, sizeof(*opsets));
    const char *name = gs_strdup(d, operation->name);
    const char *kinds = operation->input_kinds ? gs_strdup(d, operation->input_kinds) : NULL;
    if (!list || !opsets || !name || (operation->input_kinds && !kinds)) return gs_no_memory(err);
    warn_overload(d, operation);
    if (operation->opset_count)
        memcpy(opsets, operation->opsets, operation->opset_count * sizeof(*opsets));
    if (d->operation_count) memcpy(list, d->operations, d->operation_count * sizeof(*list));
    gs_registered *made = &list[d->operation_count];
    made->operation = *operation;
    made->operation.name = name;
    made->operation.input_kinds = kinds;
    made->operation.opsets = operation->opsets ? opsets : NULL;
    d->operations = list;
    d->operation_count++;
    return PGY_OK;
}

pgy_status gs_registry_copy(gs_document *to, const gs_document *from, pgy_error *err)
{
    gs_registered *list = gs_alloc(to, from->operation_count, sizeof(*list));
    if (!list) return gs_no_memory(err);
    if (from->operation_count)
        memcpy(list, from->operations, from->operation_count * sizeof(*list));
    to->operations = list;
    to->operation_count = from->operation_count;
    return PGY_OK;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static const pgy_gs_operation *find(const gs_document *d, const char *name, int64_t opset)
{
    const pgy_gs_operation *for_all = NULL;
    for (size_t i = d->operation_count; i-- > 0;) {
        const pgy_gs_operation *o = &d->operations[i].operation;
        if (strcmp(o->name, name) != 0) continue;
        if (o->opsets && is_for(o, opset)) return o;
        if (!o->opsets && !for_all) for_all = o;
    }
    return for_all;
}

static pgy_gs_graph *find_local(const gs_document *d, const char *name)
{
    pgy_gs_graph *found = NULL;
    for (size_t i = 0; i < d->function_count; i++) {
        if (strcmp(d->functions[i]->name, name) != 0) continue;
        if (found) {
            LOG_ONCE(WARNING,
                     "Several domains have a function '%s'; the call uses that of domain '%s'",
                     name, found->domain);
            break;
        }
        found = d->functions[i];
    }
    return found;
}

static void append_opsets(str *s, const gs_document *d, const char *name)
{
    for (size_t i = 0; i < d->operation_count; i++) {
        const pgy_gs_operation *o = &d->operations[i].operation;
        if (strcmp(o->name, name) != 0) continue;
        for (size_t k = 0; k < o->opset_count; k++)
            str_printf(s, "%s%lld", s->size ? ", " : "; it is registered for opset ",
                       (long long)o->opsets[k]);
    }
}

static pgy_status not_found(const pgy_gs_graph *g, const char *name, pgy_error *err)
{
    const gs_document *d = graph_box(g)->document;
    str hint = {0};
    append_opsets(&hint, d, name);
    const size_t count = d->operation_count + d->function_count;
    const char **names = hint.size ? NULL : mem_calloc(count + 1, sizeof(*names));
    for (size_t i = 0; names && i < count; i++)
        names[i] = i < d->operation_count ? d->operations[i].operation.name
                                          : d->functions[i - d->operation_count]->name;
    if (names) gs_suggest(&hint, name, names, count);
    mem_free(names);
    pgy_error_set(err, PGY_E_NOT_FOUND, "no operation '%.200s' is registered for opset %lld%s",
                  name, (long long)g->opset, str_text(&hint));
    str_deinit(&hint);
    return PGY_E_NOT_FOUND;
}

/* ---- Calling --------------------------------------------------------------------------------- */

static const char *kind_text(char letter)
{
    switch (letter) {
    case 't': return "a tensor";
    case 'n': return "a name";
    case 'c': return "a constant";
    case 'i': return "integers";
    default: return "numbers";
    }
}

static bool fits(char letter, const pgy_gs_operand *o)
{
    const pgy_gs_operand_kind k = o->kind;
    const bool ints = k == PGY_GS_INTS || k == PGY_GS_INT;
    const bool numbers = ints || k == PGY_GS_FLOATS || k == PGY_GS_FLOAT;
    switch (letter) {
    case 't': return k == PGY_GS_TENSOR;
    case 'n': return k == PGY_GS_NAME;
    case 'i': return ints;
    case 'f': return numbers;
    case 'c':
        return numbers || k == PGY_GS_ARRAY ||
               (k == PGY_GS_TENSOR && o->value.tensor && o->value.tensor->kind == PGY_GS_CONSTANT);
    default: return true;
    }
}

static pgy_status wrong_count(const pgy_gs_operation *o, size_t given, pgy_error *err)
{
    char most[32] = "";
    if (o->max_inputs && o->max_inputs != o->min_inputs)
        snprintf(most, sizeof most, " to %zu", o->max_inputs);
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "operation '%.200s' takes %s%zu%s inputs and was called with %zu", o->name,
                         o->max_inputs ? "" : "at least ", o->min_inputs, most, given);
}

static pgy_status check_call(const pgy_gs_operation *o, const pgy_gs_call *call, pgy_error *err)
{
    const size_t most = o->max_inputs ? o->max_inputs : SIZE_MAX;
    if (call->input_count < o->min_inputs || call->input_count > most)
        return wrong_count(o, call->input_count, err);
    const char *kinds = o->input_kinds ? o->input_kinds : "";
    for (size_t i = 0; i < call->input_count && kinds[i]; i++) {
        const bool left_out = call->inputs[i].kind == PGY_GS_OMITTED && i >= o->min_inputs;
        if (!left_out && !fits(kinds[i], &call->inputs[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT, "operation '%.200s': input %zu must be %s",
                                 o->name, i, kind_text(kinds[i]));
    }
    return PGY_OK;
}

static pgy_status build(pgy_gs_node **out, gs_document *d, const pgy_gs_operation *o,
                        pgy_gs_graph *g, const pgy_gs_call *call, pgy_error *err)
{
    if (d->invoke_depth >= MAX_INVOKE_DEPTH)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "operation '%.200s': operations invoke each other more than %d deep",
                             o->name, MAX_INVOKE_DEPTH);
    d->invoke_depth++;
    const pgy_status st = o->build(out, g, call, o->user, err);
    d->invoke_depth--;
    return st;
}

pgy_status pgy_gs_invoke(pgy_gs_node **out, pgy_gs_graph *g, const char *name,
                         const pgy_gs_call *call, pgy_error *err)
{
    static const pgy_gs_call NOTHING;
    pgy_gs_node *n = NULL;
    if (!g || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the graph and the name must not be NULL");
    if (!call) call = &NOTHING;
    if ((call->input_count && !call->inputs) || (call->output_count && !call->outputs) ||
        (call->attr_count && !call->attrs))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "operation '%.200s': a list is NULL, but its count is not 0", name);
    gs_document *d = graph_box(g)->document;
    const pgy_gs_operation *o = find(d, name, g->opset);
    pgy_gs_graph *f = o ? NULL : find_local(d, name);
    if (!o && !f) return not_found(g, name, err);
    pgy_status st = o ? check_call(o, call, err) : gs_call_function(&n, g, f, call, NULL, err);
    if (!st && o) st = build(&n, d, o, g, call, err);
    if (st) return st;
    if (out) *out = n;
    return PGY_OK;
}
