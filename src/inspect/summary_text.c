/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about a whole graph: the cost of its operators, and the shapes without an upper bound. */
#include <polygraphy/describe.h>
#include <polygraphy/transform.h>

#include "base/pytext.h"

/* ---- Unbounded data-dependent shapes -------------------------------------------------------- */

/* Prints a tensor like the original's graph library. */
static void append_variable(str *out, const pgy_value *v)
{
    str_printf(out, "Variable (%s): (shape=", v->name);
    if (v->rank < 0) str_append(out, "None");
    for (int32_t i = 0; i < v->rank; i++) {
        str_append(out, i ? ", " : "[");
        if (v->dims[i].value >= 0)
            str_printf(out, "%lld", (long long)v->dims[i].value);
        else if (v->dims[i].text)
            str_append_py_repr(out, v->dims[i].text);
        else
            str_append(out, "None");
    }
    if (v->rank >= 0) str_append(out, v->rank ? "]" : "[]");
    str_printf(out, ", dtype=%s)", v->dtype ? pgy_dtype_name(v->dtype) : "None");
}

pgy_status pgy_graph_unbounded_text(char **out, pgy_graph *graph, pgy_error *err)
{
    const pgy_value *const *items;
    size_t count = 0;
    str text = {0};
    pgy_status st = pgy_graph_list_unbounded(&items, &count, graph, err);
    str_append_char(&text, '[');
    for (size_t i = 0; !st && i < count; i++) {
        if (i) str_append(&text, ", ");
        append_variable(&text, items[i]);
    }
    str_append_char(&text, ']');
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}

/* ---- Summary -------------------------------------------------------------------------------- */

static void append_count(str *out, double v)
{
    static const char *const UNITS[] = {"", " K", " M", " G", " T", " P"};
    size_t unit = 0;
    while (v >= 1000 && unit + 1 < sizeof UNITS / sizeof *UNITS) v /= 1000, unit++;
    str text = {0};
    str_printf(&text, unit ? "%.2f%s" : "%.0f%s", v, UNITS[unit]);
    str_printf(out, " %12s", str_text(&text));
    str_deinit(&text);
}

static void append_row(str *out, const char *name, size_t nodes, double parameters, double bytes,
                       double flops)
{
    str_printf(out, "\n%-28s %8zu", name, nodes);
    append_count(out, parameters);
    append_count(out, bytes);
    if (flops < 0)
        str_printf(out, " %12s", "unknown");
    else
        append_count(out, flops);
}

/* The inputs with every dynamic dimension set to 1, as in generated data. *any: there was a dynamic
 * dimension. */
static pgy_status fixed_inputs(pgy_metadata **out, bool *any, const pgy_graph *graph,
                               pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < graph->input_count; i++) {
        const pgy_value *v = graph->inputs[i];
        int64_t shape[PGY_MAX_RANK];
        if (v->rank < 0 || v->rank > PGY_MAX_RANK) continue;
        for (int32_t k = 0; k < v->rank; k++) {
            shape[k] = v->dims[k].value < 0 ? 1 : v->dims[k].value;
            *any = *any || v->dims[k].value < 0;
        }
        const pgy_tensor_info info = {
            .name = v->name, .dtype = v->dtype, .rank = v->rank, .shape = shape};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

pgy_status pgy_graph_summary_text(char **out, pgy_graph *graph, pgy_error *err)
{
    const pgy_op_summary *rows;
    size_t count, nodes = 0;
    double parameters = 0, bytes = 0, flops = 0;
    bool dynamic = false;
    pgy_metadata *inputs = NULL;
    pgy_status st = fixed_inputs(&inputs, &dynamic, graph, err);
    if (!st) st = pgy_graph_summarize(&rows, &count, graph, inputs, err);
    pgy_metadata_destroy(inputs);
    if (st) return st;
    str text = {0};
    str_printf(&text, "==== Summary ====\n%-28s %8s %12s %12s %12s", "Operator", "Nodes",
               "Parameters", "Bytes", "FLOPs");
    for (size_t i = 0; i < count; i++) {
        str name = {0};
        str_printf(&name, "%s%s%s", rows[i].domain, rows[i].domain[0] ? "::" : "", rows[i].op_type);
        append_row(&text, str_text(&name), rows[i].node_count, (double)rows[i].parameter_count,
                   (double)rows[i].parameter_bytes, rows[i].flops);
        str_deinit(&name);
        nodes += rows[i].node_count;
        parameters += (double)rows[i].parameter_count;
        bytes += (double)rows[i].parameter_bytes;
        flops = flops < 0 || rows[i].flops < 0 ? -1 : flops + rows[i].flops;
    }
    append_row(&text, "Total", nodes, parameters, bytes, flops);
    if (flops < 0)
        str_append(
            &text,
            "\nunknown: a shape is data-dependent or has no rank, so it is unknown before the run");
    if (dynamic) str_append(&text, "\nDynamic dimensions of the inputs count as 1.");
    return str_give(out, &text, err);
}
