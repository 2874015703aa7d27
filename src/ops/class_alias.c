/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that another operator computes: runs the other operator's infer and eval, with the
 * default attributes of the other operator. */
#include "ops/class_alias.h"

static op_node other_node(const op_node *n)
{
    const alias_spec *s = n->def->user_data;
    op_node other = *n;
    other.signature = NULL;
    other.def = op_find(s->domain, s->name, s->version);
    other.opset = s->version;
    if (s->inputs && n->input_count > s->inputs) other.input_count = s->inputs;
    return other;
}

pgy_status alias_infer(op_infer *c, pgy_error *err)
{
    const op_node node = other_node(c->node);
    op_infer other = *c;
    other.node = &node;
    const pgy_status st = node.def->infer(&other, err);
    c->why = other.why;
    return st;
}

pgy_status alias_eval(op_eval *c, pgy_error *err)
{
    const op_node node = other_node(c->node);
    op_eval other = *c;
    other.node = &node;
    return node.def->eval(&other, err);
}
