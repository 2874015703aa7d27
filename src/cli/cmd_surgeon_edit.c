/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon edit: runs an edit script on a model, or on an empty graph, and shows the changes. */
#include <polygraphy/gs_script.h>

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "cli/cmd_surgeon_edit.c";

enum { SHOWN_CHANGES = 200 };

typedef struct edit_args {
    const char *output, *script;
    pgy_text_list edits;
    bool fresh, help_verbs, all_changes;
} edit_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", edit_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_TEXT("--script", edit_args, script, .meta = "PATH",
                 .help = "file of verbs, one in each line"),
    PGY_OPT_APPEND("-e --edit", edit_args, edits, .nargs = PGY_ONE_OR_MORE, .meta = "VERB",
                   .help = "run these verbs after those of --script; quote a verb with its "
                           "arguments: -e 'remove dropout' cleanup"),
    PGY_OPT_FLAG("--new", edit_args, fresh, .help = "start with an empty graph instead of a model"),
    PGY_OPT_FLAG("--all-changes", edit_args, all_changes,
                 .help = "show every change, not only the first 200"),
    PGY_OPT_FLAG("--help-verbs", edit_args, help_verbs, .alone = true,
                 .help = "list the verbs and exit"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const edit_args *s = settings;
    const model_args *model = ARGS_OF(line, model_args);
    if (s->help_verbs) return PGY_OK;
    if (!model->path == !s->fresh)
        return pgy_error_set(err, PGY_E_ARGUMENT, "expected either a model file or --new");
    if (!s->script && !s->edits.given)
        return pgy_error_set(err, PGY_E_ARGUMENT, "expected verbs: give -e or --script");
    return PGY_OK;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(edit_args), .finish = finish};
static const option_group *const GROUPS[] = {
    &GROUP_MODEL_OPTIONAL, &OWN, &GROUP_LOGGING, &GROUP_ONNX_READ, &GROUP_ONNX_WRITE,
    &GROUP_OPERATORS,      NULL};

static void list_verbs(void)
{
    str text = {0};
    for (size_t i = 0; pgy_gs_verb_at(i); i++) {
        const pgy_gs_verb *v = pgy_gs_verb_at(i);
        str_printf(&text, "\n%s%s%s\n    %s", v->name, *v->arguments ? " " : "", v->arguments,
                   v->help);
    }
    LOG(INFO, "Verbs of edit scripts:%s", str_text(&text));
    str_deinit(&text);
}

static pgy_status run_file(pgy_gs_script *script, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st && strlen(str_text(&text)) != text.size)
        st = pgy_error_set(err, PGY_E_FORMAT, "%s is not a text file: it contains a zero byte",
                           path);
    if (!st) st = pgy_gs_script_run(script, path, str_text(&text), err);
    str_deinit(&text);
    return st;
}

static pgy_status run_edits(pgy_gs_graph *g, const edit_args *s, pgy_error *err)
{
    pgy_gs_script *script = NULL;
    pgy_status st = pgy_gs_script_create(&script, g, err);
    if (!st && s->script) st = run_file(script, s->script, err);
    for (size_t i = 0, n = 1; !st && i < s->edits.count; i++) {
        char source[32];
        if (!s->edits.items[i]) continue;
        snprintf(source, sizeof source, "-e %zu", n++);
        st = pgy_gs_script_run(script, source, s->edits.items[i], err);
    }
    pgy_gs_script_destroy(script);
    return st;
}

static pgy_status show_changes(const pgy_gs_graph *before, const pgy_gs_graph *after,
                               const edit_args *s, pgy_error *err)
{
    pgy_gs_change_list list = {0};
    const pgy_status st = pgy_gs_changes(&list, before, after, err);
    if (st) return st;
    char *text = pgy_gs_changes_text(&list, s->all_changes ? 0 : SHOWN_CHANGES);
    pgy_gs_change_list_free(&list);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    LOG(INFO, "Changes:\n%s", text);
    pgy_text_free(text);
    return PGY_OK;
}

/* Warns if node i of the main graph reads a tensor that no node, or only a later one, produces. */
static bool warn_inputs(const pgy_gs_graph *g, size_t i)
{
    const pgy_gs_node *n = g->nodes[i];
    for (size_t k = 0; k < n->input_count; k++) {
        const pgy_gs_tensor *t = n->inputs[k];
        if (t->kind == PGY_GS_CONSTANT || pgy_gs_is_omitted(t)) continue;
        if (t->producer_count == 0 && !surgeon_is_in(g->inputs, g->input_count, t)) {
            LOG(WARNING, "Node '%s' (%s) reads '%s', which no node produces", n->name, n->op,
                t->name);
            return true;
        }
        if (t->producer_count && t->producers[0]->graph == g &&
            pgy_gs_node_index(t->producers[0]) >= i) {
            LOG(WARNING,
                "'%s' is read before the node that produces it; the verb sort puts the nodes in "
                "order",
                t->name);
            return true;
        }
    }
    return false;
}

/* Warns if one of the node's outputs is also a weight, or an output of another node. */
static bool warn_outputs(const pgy_gs_node *n)
{
    for (size_t k = 0; k < n->output_count; k++) {
        const pgy_gs_tensor *t = n->outputs[k];
        if (pgy_gs_is_omitted(t) || (t->kind != PGY_GS_CONSTANT && t->producer_count < 2)) continue;
        LOG(WARNING, "'%s', an output of node '%s' (%s), is also %s", t->name, n->name, n->op,
            t->kind == PGY_GS_CONSTANT ? "a weight" : "an output of another node");
        return true;
    }
    return false;
}

/* Warns of the first graph input that a node produces, too. */
static void warn_made_inputs(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i]->producer_count) {
            const pgy_gs_node *n = g->inputs[i]->producers[0];
            LOG(WARNING, "'%s', an output of node '%s' (%s), is also an input of the graph",
                g->inputs[i]->name, n->name, n->op);
            return;
        }
}

/* Warns of the main graph's first defect of each kind that keeps the model from running. */
static void warn_unfinished(const pgy_gs_graph *g)
{
    bool inputs = false, outputs = false;
    for (size_t i = 0; i < g->node_count && !(inputs && outputs); i++) {
        if (!inputs) inputs = warn_inputs(g, i);
        if (!outputs) outputs = warn_outputs(g->nodes[i]);
    }
    warn_made_inputs(g);
}

static pgy_status load(pgy_gs_graph **g, pgy_gs_graph **before, const edit_args *s, args *line,
                       pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_status st = PGY_OK;
    if (s->fresh) {
        st = pgy_gs_create(g, err);
        return st ? st : pgy_gs_create(before, err);
    }
    st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_gs_import(g, model, err);
    if (!st && LOG_IS_ON(INFO)) st = pgy_gs_import(before, model, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

/* Outputs may lack a type only because no shape inference ran. */
static pgy_status save(pgy_gs_graph *g, const edit_args *s, args *line, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_status st = model_save_graph(g, line, s->output, NULL, &why);
    if (!st) return PGY_OK;
    return pgy_error_set(
        err, st, "%s%s", why.text,
        st == PGY_E_TYPE ? ": add the verb infer-shapes, or set the type with set-type" : "");
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const edit_args *s = args_get(line, &OWN);
    pgy_gs_graph *g = NULL, *before = NULL;
    if (s->help_verbs) {
        list_verbs();
        return PGY_OK;
    }
    pgy_status st = load(&g, &before, s, line, err);
    if (!st) st = run_edits(g, s, err);
    if (!st && before) st = show_changes(before, g, s, err);
    if (!st) warn_unfinished(g);
    if (!st) st = save(g, s, line, err);
    pgy_gs_destroy(before);
    pgy_gs_destroy(g);
    return st;
}

const command COMMAND_surgeon_edit = {
    .tool = "surgeon",
    .subtool = "edit",
    .summary = "Edit a model with a script.",
    .description =
        "Change a model with verbs: insert, remove and replace nodes, rename tensors, set "
        "attributes, inputs and outputs, fold, clean up, sort and more (--help-verbs lists them). "
        "The command shows all changes. It does not read weights that no verb uses.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
