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

/* The page fills in the quoted names of the node's tensors. Only the first one cuts out a single
 * node, which must not have bodies that read tensors of the graph around them. */
static const struct {
    const char *title, *before, *after;
    bool has_model;
} COMMANDS[] = {
    {"Extract this node", "polygraphy surgeon extract",
     " --inputs {inputs} --outputs {outputs} -o part.onnx", true},
    {"Extract the model up to here", "polygraphy surgeon extract",
     " --outputs {outputs} -o upto.onnx", true},
    {"Compare the values here", "polygraphy run",
     " --onnxrt --trt --onnx-outputs {names} --trt-outputs {names}", true},
    {"Find where the error of these values starts, in the model extracted up to here",
     "polygraphy where upto.onnx --a onnxrt --b trt", "", false},
};

void graph_write_command_texts(json_writer *w, const view_graph *g)
{
    json_begin_array(w);
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        str s = {0};
        str_append(&s, COMMANDS[i].before);
        if (COMMANDS[i].has_model) append_model(&s, g);
        str_append(&s, COMMANDS[i].after);
        json_begin_array(w);
        json_text(w, COMMANDS[i].title);
        json_text(w, str_text(&s));
        json_end_array(w);
        if (s.failed) json_fail(w, PGY_E_MEMORY, "out of memory while writing commands");
        str_deinit(&s);
    }
    json_end_array(w);
}

void graph_write_commands(json_writer *w, const view_graph *g, const view_node *n)
{
    if (!n->source || !g->model || !is_in_main_graph(g, n) || !are_usable(n->source)) return;
    json_key(w, "commands");
    json_begin_array(w);
    for (size_t i = has_bodies(n->source) ? 1 : 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        json_uint(w, i);
    json_end_array(w);
}
