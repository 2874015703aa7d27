/* SPDX-License-Identifier: Apache-2.0 */
/* Tactic replays as text, in the original's words: Python's tuples and None. */
#include <polygraphy/tactics.h>

#include "base/str.h"

static void append_optional(str *out, const char *digits)
{
    str_append(out, digits ? digits : "None");
}

/* Ends a Python tuple of `count` items: (1, 2), (1,), (). */
static void end_tuple(str *out, size_t count)
{
    str_append(out, count == 1 ? ",)" : ")");
}

static void append_operand(str *out, const pgy_tactic_operand *o)
{
    str_printf(out, "TensorInfo(%s, (", o->dtype);
    for (size_t i = 0; i < o->stride_count; i++)
        str_printf(out, "%s%s", i ? ", " : "", o->strides[i]);
    end_tuple(out, o->stride_count);
    str_append(out, ", ");
    append_optional(out, o->vectorized_dim);
    str_append(out, ", ");
    append_optional(out, o->components_per_element);
    str_append(out, ")");
}

static void append_operands(str *out, const pgy_tactic_operand *items, size_t count)
{
    str_append(out, "(");
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(out, ", ");
        append_operand(out, &items[i]);
    }
    end_tuple(out, count);
}

static void append_algorithm(str *out, const pgy_tactic_layer *l)
{
    str_printf(out, "(Implementation: %s, Tactic: %s) | Inputs: ", l->implementation, l->tactic);
    append_operands(out, l->inputs, l->input_count);
    str_append(out, " | Outputs: ");
    append_operands(out, l->outputs, l->output_count);
}

pgy_status pgy_tactic_layer_text(char **out, const pgy_tactic_layer *layer, pgy_error *err)
{
    str text = {0};
    append_algorithm(&text, layer);
    return str_give(out, &text, err);
}

pgy_status pgy_tactic_replay_text(char **out, const pgy_tactic_replay *r, pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i < pgy_tactic_replay_count(r); i++) {
        const pgy_tactic_layer *l = pgy_tactic_replay_at(r, i);
        str_printf(&text, "%sLayer: %s\n    Algorithm: ", i ? "\n" : "", l->name);
        append_algorithm(&text, l);
    }
    return str_give(out, &text, err);
}
