/* SPDX-License-Identifier: Apache-2.0 */
/* Masks that close positions with the lowest number of the type. ONNX Runtime's Attention treats
 * that as minus infinity and gives 0 for rows that are closed completely, where the elementary
 * nodes give a mean. So a mask that may hold it is limited to a number that closes as well. */
#include "transform/fuse/attention.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_VISITS = 256, MAX_ELEMENTS = 1 << 24 };

/* Operators that may pass the lowest number on: their results are elements of their inputs, or sums
 * and products of these. */
static const char *const PASSED_ON[] = {
    "Add",       "Cast",      "Concat",  "Div",       "Expand",
    "Gather",    "Identity",  "Max",     "Min",       "Mul",
    "Neg",       "Pad",       "Reshape", "Slice",     "Split",
    "Squeeze",   "Sub",       "Sum",     "Tile",      "Trilu",
    "Unsqueeze", "Transpose", "Where",   "ScatterND", "ConstantOfShape"};

double attention_floor(pgy_dtype dtype)
{
    return dtype == PGY_F16 ? -60000 : -1e30;
}

static bool is_lowest(pgy_dtype dtype, double x)
{
    return isfinite(x) && fabs(x) >= (dtype == PGY_F16 ? 65504 : 1e37);
}

static bool holds_lowest(pattern *p, pgy_value *v)
{
    pgy_tensor *t = pattern_has_at_most(v, MAX_ELEMENTS) ? pattern_floats(p, v) : NULL;
    const size_t count = t ? pgy_tensor_count(t) : 0;
    bool found = false;
    for (size_t i = 0; !found && i < count; i++) found = is_lowest(pattern_dtype(v), op_f64(t)[i]);
    pgy_tensor_release(t);
    return found;
}

static bool fills_with_lowest(const pgy_node *n)
{
    const pgy_onnx_attribute *value = node_attribute(n, "value");
    pgy_tensor *stored = NULL, *wide = NULL;
    bool found = false;
    if (value && value->t &&
        pgy_onnx_tensor_load(&stored, n->graph->model, value->t, NULL) == PGY_OK &&
        pgy_tensor_count(stored) == 1 &&
        pgy_tensor_cast(&wide, pgy_tensor_view(stored), PGY_F64, NULL) == PGY_OK)
        found = is_lowest(pgy_tensor_dtype(stored), op_f64(wide)[0]);
    pgy_tensor_release(stored);
    pgy_tensor_release(wide);
    return found;
}

static bool is_passed_on(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof PASSED_ON / sizeof *PASSED_ON; i++)
        if (pattern_is(n, PASSED_ON[i])) return true;
    return false;
}

/* May v hold the lowest number of its type? Inputs of the model may hold any number; operators that
 * are not in PASSED_ON do not make masks. */
static bool may_hold_lowest(pattern *p, pgy_value *v, size_t depth, size_t *visits)
{
    if (!v || !pattern_is_float(v) || depth > MAX_DEPTH || ++*visits > MAX_VISITS) return false;
    if (pattern_is_constant(p, v)) return holds_lowest(p, v);
    const pgy_node *n = v->producer;
    if (!n) return true;
    if (pattern_is(n, "ConstantOfShape")) return fills_with_lowest(n);
    if (!is_passed_on(n)) return false;
    for (size_t i = 0; i < n->input_count; i++)
        if (may_hold_lowest(p, n->inputs[i], depth + 1, visits)) return true;
    return false;
}

bool attention_needs_floor(pattern *p, pgy_value *v)
{
    size_t visits = 0;
    return may_hold_lowest(p, v, 0, &visits);
}
