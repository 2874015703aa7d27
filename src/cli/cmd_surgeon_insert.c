/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon insert: inserts one node between tensors of a model. Former producers of its outputs are
 * removed unless other nodes need them, so the node replaces the nodes between its inputs and
 * outputs. */
#include <polygraphy/gs.h>

#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/insert.py";

typedef struct insert_args {
    const char *output;
} insert_args;

typedef struct node_args {
    pgy_text_list inputs, outputs, attr_words, model_inputs;
    const char *op, *name;
    pgy_gs_attr *attrs;
    size_t attr_count;
} node_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", insert_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_END,
};
static const pgy_option NODE_OPTIONS[] = {
    PGY_OPT_LIST("--inputs", node_args, inputs, .nargs = PGY_ONE_OR_MORE, .required = true,
                 .meta = "NAME", .help = "tensors that the node reads, in this order"),
    PGY_OPT_LIST("--outputs", node_args, outputs, .nargs = PGY_ONE_OR_MORE, .required = true,
                 .meta = "NAME",
                 .help = "tensors that the node produces, in this order. If one of them is also in "
                         "--inputs, all other nodes that read it read the node's output instead"),
    PGY_OPT_TEXT("--op", node_args, op, .required = true, .help = "operator of the node"),
    PGY_OPT_TEXT("--name", node_args, name, .help = "name of the node"),
    PGY_OPT_LIST("--attrs", node_args, attr_words, .nargs = PGY_ONE_OR_MORE, .meta = "NAME=VALUE",
                 .help = "attributes, for example axis=1 alpha=0.5 mode='linear' axes=[0,1]; a "
                         "number in quotes is a string"),
    PGY_OPT_LIST("--model-inputs --model-input-shapes", node_args, model_inputs,
                 .nargs = PGY_ONE_OR_MORE, .hidden = true, .deprecated = "has no effect any more"),
    PGY_OPT_END,
};

/* ---- Attributes ----------------------------------------------------------------------------- */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static bool all_are(const cast_value *v, cast_kind a, cast_kind b)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->items[i].kind != a && v->items[i].kind != b) return false;
    return true;
}

static pgy_status read_list(pgy_gs_attr *out, const char *name, const cast_value *v, arena *a,
                            pgy_error *err)
{
    int64_t *ints = arena_alloc_array(a, v->count, sizeof *ints);
    float *floats = arena_alloc_array(a, v->count, sizeof *floats);
    const char **texts = arena_alloc_array(a, v->count, sizeof *texts);
    const bool is_empty = v->count == 1 && v->items[0].kind == CAST_TEXT && !*v->items[0].text;
    if (!ints || !floats || !texts) return no_memory(err);
    for (size_t i = 0; i < v->count; i++) {
        ints[i] = v->items[i].number.integer;
        floats[i] = (float)v->items[i].number.real;
        texts[i] = v->items[i].text;
    }
    if (is_empty || all_are(v, CAST_INT, CAST_INT))
        *out = pgy_gs_attr_ints(name, ints, is_empty ? 0 : v->count);
    else if (all_are(v, CAST_INT, CAST_REAL))
        *out = pgy_gs_attr_floats(name, floats, v->count);
    else if (all_are(v, CAST_TEXT, CAST_TEXT))
        *out = pgy_gs_attr_texts(name, texts, v->count);
    else
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "--attrs: '%s' mixes numbers and strings; all values of a list must have one type",
            name);
    return PGY_OK;
}

/* Is it a real written with digits only, so an integer that does not fit in 64 bits? */
static bool is_too_large(const cast_value *v)
{
    const char *text = v->text + (*v->text == '-' || *v->text == '+');
    return v->kind == CAST_REAL && *text && !text[strspn(text, "0123456789")];
}

static pgy_status read_attr(pgy_gs_attr *out, const char *word, arena *a, pgy_error *err)
{
    const char *equals = strrchr(word, '=');
    cast_value v;
    if (!equals || equals == word)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--attrs: '%s' is not in the form NAME=VALUE",
                             word);
    const char *name = arena_strndup(a, word, (size_t)(equals - word));
    pgy_status st = name ? value_cast(&v, equals + 1, a, err) : no_memory(err);
    if (st) return st;
    if (v.kind == CAST_LIST) return read_list(out, name, &v, a, err);
    if (is_too_large(&v))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--attrs: '%s' does not fit into a 64-bit integer", word);
    *out = v.kind == CAST_INT    ? pgy_gs_attr_int(name, v.number.integer)
           : v.kind == CAST_REAL ? pgy_gs_attr_float(name, (float)v.number.real)
                                 : pgy_gs_attr_text(name, v.text);
    return PGY_OK;
}

static pgy_status read_attrs(void *settings, args *line, pgy_error *err)
{
    node_args *s = settings;
    pgy_status st = PGY_OK;
    s->attrs = arena_alloc_array(&line->memory, s->attr_words.count + 1, sizeof *s->attrs);
    if (!s->attrs) return no_memory(err);
    for (size_t i = 0; !st && i < s->attr_words.count; i++) {
        pgy_gs_attr a;
        size_t k = 0;
        st = read_attr(&a, s->attr_words.items[i], &line->memory, err);
        if (st) break;
        while (k < s->attr_count && strcmp(s->attrs[k].name, a.name)) k++;
        if (k < s->attr_count)
            LOG(WARNING, "--attrs: duplicate attribute '%s'; the last value is used", a.name);
        else
            s->attr_count++;
        s->attrs[k] = a;
    }
    return st;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(insert_args)};
static const option_group NODE = {.title = "Inserted Node",
                                  .description = "Options related to the node to insert",
                                  .options = NODE_OPTIONS,
                                  ARGS_TYPE(node_args),
                                  .finish = read_attrs};
static const option_group *const GROUPS[] = {&OWN,
                                             &NODE,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_FILE,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_READ,
                                             &GROUP_ONNX_WRITE,
                                             NULL};

/* ---- Tensors -------------------------------------------------------------------------------- */

static bool is_among(const pgy_text_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], name)) return true;
    return false;
}

static pgy_status with_suffix(const char **out, const char *name, args *line, pgy_error *err)
{
    *out = arena_printf(&line->memory, "%s_%s_surgeon_insert_output", name, line->dialect->program);
    return *out ? PGY_OK : no_memory(err);
}

static pgy_status replace_output(pgy_gs_graph *g, const pgy_gs_tensor *from, pgy_gs_tensor *to,
                                 arena *a, pgy_error *err)
{
    pgy_gs_tensor **list = arena_alloc_array(a, g->output_count + 1, sizeof *list);
    if (!list) return no_memory(err);
    for (size_t i = 0; i < g->output_count; i++)
        list[i] = g->outputs[i] == from ? to : g->outputs[i];
    return pgy_gs_set_graph_outputs(g, list, g->output_count, err);
}

/* Makes a tensor that replaces `from` for all other users, while the new node reads `from`. A graph
 * output keeps its name and type: then `from` gets the suffix. */
static pgy_status take_place(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_gs_tensor *from, args *line,
                             pgy_error *err)
{
    const char *name = from->name, *other;
    pgy_gs_tensor *to = NULL;
    const bool is_output = surgeon_is_in(g->outputs, g->output_count, from);
    pgy_status st = with_suffix(&other, name, line, err);
    if (!st && pgy_gs_find_tensor(g, other))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the model already has a tensor '%s', the name of the new tensor; "
                           "rename it first",
                           other);
    if (!st && is_output) {
        name = arena_strdup(&line->memory, name);
        st = name ? pgy_gs_rename(from, other, err) : no_memory(err);
    }
    if (!st)
        st = pgy_gs_variable(&to, g, is_output ? name : other,
                             is_output ? from->dtype : PGY_DTYPE_NONE, -1, NULL, err);
    if (!st) st = pgy_gs_replace_uses(from, to, err);
    if (!st && is_output) st = replace_output(g, from, to, &line->memory, err);
    if (!st)
        LOG(VERBOSE, "Tensor '%s' replaces '%s' as input of other nodes", to->name, from->name);
    if (!st) *out = to;
    return st;
}

/* Detaches a tensor from its producers, because the new node produces it. */
static pgy_status take_over(pgy_gs_graph *g, pgy_gs_tensor *t, pgy_error *err)
{
    if (surgeon_is_in(g->inputs, g->input_count, t))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--outputs: '%s' is an input of the model, so no node can produce it; "
                             "also give it in --inputs to insert the node after it",
                             t->name);
    if (t->kind == PGY_GS_CONSTANT) return pgy_gs_to_variable(t, t->dtype, t->rank, t->dims, err);
    pgy_gs_clear_producers(t);
    return PGY_OK;
}

/* ---- The node ------------------------------------------------------------------------------- */

/* Finds the inputs and outputs of the new node. Inputs come first, before any tensor is renamed. */
static pgy_status find_tensors(pgy_gs_tensor **inputs, pgy_gs_tensor **outputs, pgy_gs_graph *g,
                               const node_args *s, args *line, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->inputs.count; i++)
        st = pgy_gs_get_tensor(&inputs[i], g, s->inputs.items[i], err);
    for (size_t i = 0; !st && i < s->outputs.count; i++) {
        st = pgy_gs_get_tensor(&outputs[i], g, s->outputs.items[i], err);
        if (!st && surgeon_is_in(outputs, i, outputs[i]))
            st = pgy_error_set(err, PGY_E_ARGUMENT, "--outputs: duplicate tensor '%s'",
                               s->outputs.items[i]);
    }
    for (size_t i = 0; !st && i < s->outputs.count; i++) {
        if (is_among(&s->inputs, s->outputs.items[i]))
            st = take_place(&outputs[i], g, outputs[i], line, err);
        else
            st = take_over(g, outputs[i], err);
    }
    return st;
}

/* The place after the last producer of the inputs. The nodes stay sorted, unless a node before it
 * reads an output of the new node. */
static size_t place_of(pgy_gs_tensor *const *inputs, size_t count)
{
    size_t place = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < inputs[i]->producer_count; k++) {
            const size_t index = pgy_gs_node_index(inputs[i]->producers[k]);
            if (index != SIZE_MAX && index + 1 > place) place = index + 1;
        }
    return place;
}

static pgy_status insert(pgy_gs_graph *g, args *line, pgy_error *err)
{
    static const pgy_gs_sort_options SORT = {
        .size = sizeof SORT, .stable = true, .keep_subgraphs = true, .keep_functions = true};
    const node_args *s = args_get(line, &NODE);
    arena *a = &line->memory;
    pgy_gs_tensor **inputs = arena_alloc_array(a, s->inputs.count, sizeof *inputs);
    pgy_gs_tensor **outputs = arena_alloc_array(a, s->outputs.count, sizeof *outputs);
    pgy_gs_node *node = NULL;
    if (!inputs || !outputs) return no_memory(err);
    pgy_status st = find_tensors(inputs, outputs, g, s, line, err);
    if (st) return st;
    const size_t place = place_of(inputs, s->inputs.count);
    const pgy_gs_node_spec spec = {.op = s->op,
                                   .name = s->name,
                                   .inputs = inputs,
                                   .input_count = s->inputs.count,
                                   .outputs = outputs,
                                   .output_count = s->outputs.count,
                                   .attrs = s->attrs,
                                   .attr_count = s->attr_count};
    st = pgy_gs_add_node(&node, g, &spec, err);
    if (!st) st = pgy_gs_place_node(node, g, place, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = pgy_gs_toposort(g, &SORT, err);
    return st;
}

static pgy_status infer_shapes(pgy_model **model, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model *inferred = NULL;
    pgy_status st = pgy_loader_from_model(&loader, *model, err);
    if (!st) st = pgy_loader_infer_shapes(&loader, NULL, err);
    if (!st) st = pgy_loader_call(&inferred, loader, err);
    if (!st) {
        pgy_model_destroy(*model);
        *model = inferred;
    }
    pgy_loader_destroy(loader);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    static const pgy_gs_export_options LOOSE = {.size = sizeof LOOSE, .no_type_check = true};
    const insert_args *s = args_get(line, &OWN);
    const onnx_shape_args *shapes = ARGS_OF(line, onnx_shape_args);
    pgy_model *model = NULL, *edited = NULL;
    pgy_gs_graph *graph = NULL;
    pgy_status st = surgeon_load(&model, line, err);
    if (!st) st = pgy_gs_import(&graph, model, err);
    if (!st) st = insert(graph, line, err);
    if (!st) st = pgy_gs_export(&edited, graph, &LOOSE, err);
    if (!st && shapes->infer) st = infer_shapes(&edited, err);
    if (!st) st = surgeon_save(edited, line, s->output, false, err);
    pgy_model_destroy(edited);
    pgy_gs_destroy(graph);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_surgeon_insert = {
    .tool = "surgeon",
    .subtool = "insert",
    .summary = "Insert a node into a model.",
    .description = "Insert one node that reads the tensors --inputs of a model and produces the "
                   "tensors --outputs. Nodes that are no longer needed are removed, so the node "
                   "replaces those between its inputs and outputs.",
    .groups = GROUPS,
    .run = run,
};
