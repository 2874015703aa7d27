/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a search for the fastest plugin nodes, as the original's report and as JSON. */
#include "base/json.h"
#include "base/pytext.h"
#include "tune/plugin_tune.h"

void tuning_append_figures(str *out, const pgy_plugin_figures *f)
{
    str_printf(out, "Latency: %.2fms, Throughput: %.2ffps, Memory: %.2fMB", f->latency_ms,
               f->throughput, f->memory_mb);
}

static void append_value(str *out, const pgy_plugin_value *v)
{
    switch (v->kind) {
    case PGY_PLUGIN_BOOL: str_append(out, v->integer ? "True" : "False"); break;
    case PGY_PLUGIN_INT: str_printf(out, "%lld", (long long)v->integer); break;
    case PGY_PLUGIN_REAL: str_append_g(out, 7, v->real); break;
    case PGY_PLUGIN_TEXT: str_append_py_repr(out, v->text); break;
    case PGY_PLUGIN_LIST:
        str_append_char(out, '[');
        for (size_t i = 0; i < v->count; i++) {
            str_append(out, i ? ", " : "");
            append_value(out, &v->items[i]);
        }
        str_append_char(out, ']');
    }
}

static void append_place(str *out, const pgy_plugin_tuning_place *p)
{
    const pgy_plugin_instance *v = &p->plugin->instances[p->index];
    str_printf(out, "  - Op: %s\n    Plugin: %s\n    Inputs: ", p->plugin->op, p->plugin->name);
    str_append_py_list(out, v->inputs, v->input_count);
    str_append(out, "\n    Outputs: ");
    str_append_py_list(out, v->outputs, v->output_count);
    str_append(out, "\n    Attributes: {");
    for (size_t i = 0; i < v->attribute_count; i++) {
        str_append(out, i ? ", " : "");
        str_append_py_repr(out, v->attributes[i].name);
        str_append(out, ": ");
        append_value(out, &v->attributes[i]);
    }
    str_append(out, "}\n");
}

pgy_status pgy_plugin_tuning_text(char **out, const pgy_plugin_tuning *t, pgy_error *err)
{
    const pgy_plugin_tuning_summary *s = &t->summary;
    str text = {0};
    str_append(&text, "Plugin Autotuning Report\n");
    str_append_fill(&text, '=', 50);
    str_printf(&text,
               "\nOptimization Time: %.2fs\nTotal Combinations Tested: %zu\nNumber of Engine "
               "Builds: %zu\nTotal Compilation Time: %.2fs\n\nBaseline Performance:\n  ",
               s->seconds, s->tested, s->builds, s->build_seconds);
    tuning_append_figures(&text, &s->baseline);
    str_append(&text, "\nBest Performance:\n  ");
    tuning_append_figures(&text, &s->best);
    str_printf(&text, "\n\nBest Strategy (%zu replacements):\n", s->replaced);
    for (size_t i = 0; i < t->count; i++)
        if (t->places[i].chosen) append_place(&text, &t->places[i]);
    return str_give(out, &text, err);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_figures(json_writer *w, const char *key, const pgy_plugin_figures *f)
{
    json_key(w, key);
    json_begin_object(w);
    json_put_real(w, "latency_ms", f->latency_ms);
    json_put_real(w, "throughput", f->throughput);
    json_put_real(w, "memory_mb", f->memory_mb);
    json_end_object(w);
}

static void write_names(json_writer *w, const char *key, const char *const *names, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) json_text(w, names[i]);
    json_end_array(w);
}

static void write_place(json_writer *w, const pgy_plugin_tuning_place *p)
{
    const pgy_plugin_instance *v = &p->plugin->instances[p->index];
    json_begin_object(w);
    json_put_text(w, "plugin", p->plugin->name);
    json_put_text(w, "op", p->plugin->op);
    write_names(w, "inputs", v->inputs, v->input_count);
    write_names(w, "outputs", v->outputs, v->output_count);
    json_put_bool(w, "chosen", p->chosen);
    json_end_object(w);
}

static pgy_status write_tuning(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_plugin_tuning *t = user;
    const pgy_plugin_tuning_summary *s = &t->summary;
    (void)err;
    json_begin_object(w);
    json_put_bool(w, "found", s->found);
    write_figures(w, "baseline", &s->baseline);
    write_figures(w, "best", &s->best);
    json_put_real(w, "seconds", s->seconds);
    json_put_real(w, "build_seconds", s->build_seconds);
    json_put_uint(w, "tested", s->tested);
    json_put_uint(w, "builds", s->builds);
    json_key(w, "places");
    json_begin_array(w);
    for (size_t i = 0; i < t->count; i++) write_place(w, &t->places[i]);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_plugin_tuning_json(char **out, const pgy_plugin_tuning *t, pgy_error *err)
{
    return json_to_text(out, write_tuning, t, err);
}
