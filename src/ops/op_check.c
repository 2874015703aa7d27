/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a node for all operators: attributes and arity against the definition, types and
 * omitted operands against the signature. */
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "ops/signature.h"

static const char *const KIND_NAMES[] = {
    "nothing", "a float", "an int",  "a string", "a tensor",        "a graph", "floats",
    "ints",    "strings", "tensors", "graphs",   "a sparse tensor", "a type"};

static pgy_status check_count(const op_node *n, const char *what, size_t count, size_t least,
                              size_t most, bool open, pgy_error *err)
{
    if (count < least)
        return op_error(n, err, PGY_E_FORMAT, "the node has %zu %s, but needs at least %zu", count,
                        what, least);
    if (!open && count > most)
        return op_error(n, err, PGY_E_FORMAT, "the node has %zu %s, but takes at most %zu", count,
                        what, most);
    return PGY_OK;
}

/* An empty list has no element kind in very old files, so it is accepted as any list. */
static bool kind_fits(const op_attr *a, op_attr_kind wanted)
{
    const bool list =
        a->kind == OP_ATTR_INTS || a->kind == OP_ATTR_FLOATS || a->kind == OP_ATTR_STRINGS;
    const bool list_wanted =
        wanted == OP_ATTR_INTS || wanted == OP_ATTR_FLOATS || wanted == OP_ATTR_STRINGS;
    return a->kind == wanted || (list && list_wanted && a->count == 0);
}

static bool is_choice(const char *words, span value)
{
    while (*words) {
        const size_t size = strcspn(words, " ");
        if (span_equal((span){words, size}, value)) return true;
        words += size + strspn(words + size, " ");
    }
    return false;
}

static pgy_status check_choice(const op_node *n, const op_attr_def *d, span value, pgy_error *err)
{
    if (is_choice(d->choices, value)) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT, "attribute '%s' is '%.*s', but must be one of: %s",
                    d->name, (int)(value.size < 256 ? value.size : 256),
                    value.data ? value.data : "", d->choices);
}

/* Both ends of a range ("1..", "0..1") are inclusive; without an upper end it has no limit. */
static pgy_status check_range(const op_node *n, const op_attr_def *d, int64_t value, pgy_error *err)
{
    char *dots;
    const long long least = strtoll(d->range, &dots, 10);
    const bool open = dots[2] == 0;
    const long long most = open ? INT64_MAX : strtoll(dots + 2, NULL, 10);
    if (value >= least && value <= most) return PGY_OK;
    if (open)
        return op_error(n, err, PGY_E_ARGUMENT, "attribute '%s' is %lld, but must be at least %lld",
                        d->name, (long long)value, least);
    return op_error(n, err, PGY_E_ARGUMENT, "attribute '%s' is %lld, but must be %lld to %lld",
                    d->name, (long long)value, least, most);
}

static pgy_status check_value(const op_node *n, const op_attr_def *d, const op_attr *a,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (d->choices && a->kind == OP_ATTR_STRING) return check_choice(n, d, a->s, err);
    if (d->range && a->kind == OP_ATTR_INT) return check_range(n, d, a->i, err);
    for (size_t i = 0; !st && d->choices && a->kind == OP_ATTR_STRINGS && i < a->count; i++)
        st = check_choice(n, d, a->strings[i], err);
    for (size_t i = 0; !st && d->range && a->kind == OP_ATTR_INTS && i < a->count; i++)
        st = check_range(n, d, a->ints[i], err);
    return st;
}

pgy_status op_check_node(const op_node *n, pgy_error *err)
{
    const op_def *def = n->def;
    pgy_status st = check_count(n, "inputs", n->input_count, def->min_inputs, def->max_inputs,
                                def->flags & OP_VARIADIC_INPUTS, err);
    if (st) return st;
    st = check_count(n, "outputs", n->output_count, def->min_outputs, def->max_outputs,
                     def->flags & OP_VARIADIC_OUTPUTS, err);
    if (st) return st;
    for (const op_attr_def *d = def->attrs; d && d->name; d++) {
        const op_attr *a = op_attr_find(n, d->name);
        if (!a && d->required)
            return op_error(n, err, PGY_E_FORMAT, "the node lacks attribute '%s'", d->name);
        if (a && !kind_fits(a, d->kind))
            return op_error(n, err, PGY_E_FORMAT, "attribute '%s' is %s, but must be %s", d->name,
                            KIND_NAMES[a->kind], KIND_NAMES[d->kind]);
        st = a ? check_value(n, d, a, err) : PGY_OK;
        if (st) return st;
    }
    return PGY_OK;
}

static const op_signature *signature_of(const op_node *n)
{
    return n->signature ? n->signature : op_signature_find(n->def->domain, n->def->name, n->opset);
}

/* Without a signature, the first min_inputs inputs are required. */
bool op_requires_input(const op_node *n, size_t i)
{
    const op_signature *s = signature_of(n);
    const op_parameter *p = s ? op_signature_input(s, i) : NULL;
    return p ? !(p->flags & OP_PARAM_OPTIONAL) : i < n->def->min_inputs;
}

bool op_requires_output(const op_node *n, size_t i)
{
    const op_signature *s = signature_of(n);
    const op_parameter *p = s ? op_signature_output(s, i) : NULL;
    return p && !(p->flags & (OP_PARAM_OPTIONAL | OP_PARAM_VARIADIC));
}

static pgy_status refuse_omitted(const op_node *n, const char *what, size_t i,
                                 const op_parameter *p, pgy_error *err)
{
    return op_error(n, err, PGY_E_FORMAT, "%s %zu%s%s%s is required, but omitted", what, i,
                    p ? " '" : "", p ? p->name : "", p ? "'" : "");
}

static pgy_status check_present(const op_infer *c, const op_signature *s, pgy_error *err)
{
    const op_node *n = c->node;
    for (size_t i = 0; i < n->input_count; i++)
        if (!c->present[i] && op_requires_input(n, i))
            return refuse_omitted(n, "input", i, s ? op_signature_input(s, i) : NULL, err);
    return PGY_OK;
}

pgy_status op_check_named(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const op_signature *s = signature_of(n);
    for (size_t i = 0; s && i < n->output_count; i++)
        if (!c->wanted[i] && op_requires_output(n, i))
            return refuse_omitted(n, "output", i, op_signature_output(s, i), err);
    return PGY_OK;
}

pgy_status op_check_outputs(const op_infer *c, pgy_error *err)
{
    const op_signature *s = signature_of(c->node);
    return s ? op_signature_check_outputs(c, s, err) : PGY_OK;
}

pgy_status op_check_inputs(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    if (n->input_count == 0) return PGY_OK;
    const op_signature *s = signature_of(n);
    pgy_status st = check_present(c, s, err);
    if (!st && s) st = op_signature_check(c, s, err);
    if (st) return st;
    for (size_t i = 0; !(n->def->flags & (OP_SEQUENCES | OP_HAS_GRAPHS)) && i < n->input_count; i++)
        if (c->inputs[i].sequence)
            return op_error(n, err, PGY_E_TYPE, "input %zu must be a tensor, not %s", i,
                            c->inputs[i].optional ? "an optional" : "a sequence");
        else if (c->inputs[i].map_key)
            return op_error(n, err, PGY_E_TYPE, "input %zu must be a tensor, not a map", i);
    const pgy_dtype first = c->inputs[0].dtype;
    if (first && !op_type_in(n->def->types, first))
        return op_error(n, err, PGY_E_TYPE, "input 0 is %s, but must be one of: %s",
                        pgy_dtype_name(first), n->def->types);
    if (!(n->def->flags & OP_SAME_TYPES) || !first) return PGY_OK;
    for (size_t i = 1; i < n->input_count; i++) {
        const pgy_dtype other = c->inputs[i].dtype;
        if (c->present[i] && other && other != first)
            return op_error(n, err, PGY_E_TYPE, "input %zu is %s, but input 0 is %s", i,
                            pgy_dtype_name(other), pgy_dtype_name(first));
    }
    return PGY_OK;
}
