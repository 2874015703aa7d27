/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that can be copied from the page and run in the model's folder. */
#include "viewer/graph_command.h"

#include <string.h>

#include "viewer/graph_text.h"

static bool is_in_main_graph(const view_graph *g, const view_node *n)
{
    for (uint32_t c = n->parent; c != VIEW_NONE; c = g->containers[c].parent) {
        const view_container_kind kind = g->containers[c].kind;
        if (kind == VIEW_BODY || kind == VIEW_FUNCTION) return false;
    }
    return true;
}

/* Names that a command line can hold: an argument must not look like an option. */
static bool is_usable(const char *name)
{
    return *name && *name != '-' && graph_text_is_valid(name);
}

static bool are_usable(const pgy_onnx_node *n)
{
    bool any = false;
    for (size_t i = 0; i < n->input_count; i++)
        if (*n->inputs[i] && !is_usable(n->inputs[i])) return false;
    for (size_t i = 0; i < n->output_count; i++) {
        if (*n->outputs[i] && !is_usable(n->outputs[i])) return false;
        any |= *n->outputs[i] != 0;
    }
    return any;
}

static bool has_bodies(const pgy_onnx_node *n)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (n->attributes[i]->g || n->attributes[i]->graph_count) return true;
    return false;
}

static bool is_weight(const view_tensor *t)
{
    return t->kind == VIEW_WEIGHT || t->kind == VIEW_NODE_CONSTANT;
}

static void append_with(str *s, const char *name, const char *suffix)
{
    str word = {0};
    str_append(&word, name);
    str_append(&word, suffix);
    str_append_char(s, ' ');
    str_append_word(s, str_text(&word));
    if (word.failed) s->failed = true;
    str_deinit(&word);
}

static void append_outputs(str *s, const pgy_onnx_node *n, const char *suffix)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (*n->outputs[i]) append_with(s, n->outputs[i], suffix);
}

static void append_inputs(str *s, const view_graph *g, const view_node *n)
{
    for (uint32_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == VIEW_NONE || is_weight(&g->tensors[n->inputs[i]])) continue;
        bool known = false;
        for (uint32_t k = 0; k < i && !known; k++) known = n->inputs[k] == n->inputs[i];
        if (!known) append_with(s, n->source->inputs[i], ":auto:auto");
    }
}

static void append_model(str *s, const view_graph *g)
{
    const char *path = g->model ? pgy_model_path(g->model) : "";
    const char *slash = strrchr(path, '/');
    str name = {0};
    if (slash) path = slash + 1;
    if (!*path) path = "model.onnx";
    if (*path == '-') str_append(&name, "./");
    graph_append_valid(&name, path, strlen(path));
    str_append_char(s, ' ');
    str_append_word(s, str_text(&name));
    if (name.failed) s->failed = true;
    str_deinit(&name);
}

static void put(json_writer *w, const char *title, str *command)
{
    if (command->failed) json_fail(w, PGY_E_MEMORY, "out of memory while writing commands");
    json_begin_array(w);
    json_text(w, title);
    json_text(w, str_text(command));
    json_end_array(w);
    str_clear(command);
}

void graph_write_commands(json_writer *w, const view_graph *g, const view_node *n)
{
    str s = {0};
    if (!is_in_main_graph(g, n) || !are_usable(n->source)) return;
    if (!has_bodies(n->source)) {
        str_append(&s, "polygraphy surgeon extract");
        append_model(&s, g);
        str_append(&s, " --inputs");
        append_inputs(&s, g, n);
        str_append(&s, " --outputs");
        append_outputs(&s, n->source, ":auto");
        str_append(&s, " -o part.onnx");
        put(w, "Extract this node", &s);
    }
    str_append(&s, "polygraphy surgeon extract");
    append_model(&s, g);
    str_append(&s, " --outputs");
    append_outputs(&s, n->source, ":auto");
    str_append(&s, " -o upto.onnx");
    put(w, "Extract the model up to here", &s);
    str_append(&s, "polygraphy run");
    append_model(&s, g);
    str_append(&s, " --onnxrt --trt --onnx-outputs");
    append_outputs(&s, n->source, "");
    str_append(&s, " --trt-outputs");
    append_outputs(&s, n->source, "");
    put(w, "Compare the values here", &s);
    str_append(&s, "polygraphy where upto.onnx --a onnxrt --b trt");
    put(w, "Find where the error of these values starts, in the model extracted up to here", &s);
    str_deinit(&s);
}
