/* SPDX-License-Identifier: Apache-2.0 */
/* The reference backend: runs the operators one after the other in float64 or exact integers, by
 * the definitions in src/ops. Other runtimes are measured against it, so exact results come before
 * speed: floats are rounded only where the model says so (Cast and the like) and once at the end,
 * or, on request, after every node. */
#include <string.h>

#include "backends/opref/record.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "evaluate/execute.h"
#include "evaluate/interface.h"
#include "transform/substitute.h"

#include <polygraphy/backend.h>

extern const pgy_backend BACKEND_opref;

static const char LOG_PATH[] = "backends/opref/opref.c";

typedef struct settings {
    const char *precision, *substitute;
} settings;

static const char *const PRECISIONS[] = {"float64", "model", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--opref-precision", settings, precision, .choices = PRECISIONS,
                 .help = "precision of intermediate results: float64 (default) does not round "
                         "them; model rounds every tensor to the type that the model declares, as "
                         "a runtime without wider intermediates does"),
    PGY_OPT_TEXT(
        "--opref-substitute", settings, substitute, .meta = "PATH",
        .help =
            "file with the outputs of operators that the reference does not know, by tensor name: "
            "results that another run saved, or any format of inputs, with one iteration"),
    PGY_OPT_END,
};

typedef struct opref {
    const pgy_backend_model *source;
    bool model_precision;
    char *substitute; /* path of recorded tensors, or NULL */
    /* The members below are valid while the runner is active. */
    record record;
    pgy_graph *graph;
    size_t own_inputs; /* number of the model's inputs; recorded tensors come after them */
    graph_plan plan;
} opref;

static pgy_status probe(char *why, size_t why_size)
{
    if (why_size) why[0] = '\0';
    return PGY_OK;
}

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    const settings *given = options;
    const char *precision = given && given->precision ? given->precision : PRECISIONS[0];
    if (!model)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the reference needs an ONNX model, and none was given");
    if (strcmp(precision, PRECISIONS[0]) != 0 && strcmp(precision, PRECISIONS[1]) != 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "opref.opref_precision is '%s'; expected float64 or model", precision);
    opref *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    r->source = model;
    r->model_precision = strcmp(precision, PRECISIONS[1]) == 0;
    if (given && given->substitute && !(r->substitute = mem_strdup(given->substitute))) {
        mem_free(r);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = r;
    return PGY_OK;
}

static pgy_status open_model(pgy_model **out, const pgy_backend_model *source, pgy_error *err)
{
    if (source->model) {
        *out = pgy_model_retain(source->model);
        return PGY_OK;
    }
    if (source->path) return pgy_model_load(out, source->path, NULL, err);
    return pgy_model_parse(out, source->data, source->data_size, true, NULL, err);
}

static void deactivate(void *runner)
{
    opref *r = runner;
    pgy_graph_destroy(r->graph);
    r->graph = NULL;
    graph_plan_deinit(&r->plan);
    record_deinit(&r->record);
    mem_give_back();
}

/* Replaces unknown operators by recorded tensors of their outputs. */
static pgy_status substitute(opref *r, pgy_error *err)
{
    size_t count = 0;
    r->own_inputs = r->graph->input_count;
    if (!r->substitute) return PGY_OK;
    pgy_status st = record_load(&r->record, r->substitute, err);
    if (!st) st = graph_substitute(&count, r->graph, r->record.tensors, err);
    if (!st && !count)
        LOG(WARNING, "opref.opref_substitute has no effect: the reference knows every operator, or "
                     "the file has no outputs of the others");
    else if (!st)
        LOG(INFO, "Replaced %zu node(s) of unknown operators by their recorded outputs", count);
    return st;
}

/* Notes before a comparison that on 16-bit models the reference rounds at other places than any
 * runtime. */
static void note_narrow(const opref *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->graph->node_count && !r->model_precision; i++) {
        const pgy_node *n = r->graph->nodes[i];
        const pgy_value *v = n->output_count ? n->outputs[0] : NULL;
        count += v && (v->dtype == PGY_F16 || v->dtype == PGY_BF16);
    }
    if (count)
        LOG(INFO,
            "%zu of %zu nodes compute in 16-bit floats, but the reference rounds only the outputs "
            "of the model; to see which differences come from rounding, set opref.opref_precision "
            "to model, which rounds after every node (docs/disagreements.md)",
            count, r->graph->node_count);
}

static pgy_status activate(void *runner, pgy_error *err)
{
    opref *r = runner;
    pgy_model *model = NULL;
    pgy_status st = open_model(&model, r->source, err);
    if (st) return st;
    mem_keep_freed();
    st = pgy_graph_import(&r->graph, model, err);
    if (!st) graph_set_newer(r->graph, NEWER_WARNED);
    if (!st) st = substitute(r, err);
    if (!st) st = plan_build(&r->plan, r->graph, err);
    if (!st) st = pgy_graph_infer_shapes(r->graph, NULL, err);
    if (!st) note_narrow(r);
    if (!st)
        LOG(VERBOSE, "The reference has loaded the model: %zu nodes, %s precision",
            r->graph->node_count, PRECISIONS[r->model_precision]);
    pgy_model_destroy(model);
    if (st) deactivate(r);
    return st;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    const opref *r = runner;
    return interface_describe_all(out, r->graph->inputs, r->own_inputs, err);
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    const opref *r = runner;
    return interface_describe_all(out, r->graph->outputs, r->graph->output_count, err);
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    opref *r = runner;
    const execute_limits limits = {.max_bytes = memory_limit_bytes()};
    pgy_tensor_map *joined = NULL;
    pgy_status st = r->record.tensors ? record_join(&joined, &r->record, feed, err) : PGY_OK;
    if (st) return st;
    const int64_t start = clock_ns();
    st = execute_graph(&r->plan, r->graph, joined ? joined : feed, out, r->model_precision, &limits,
                       err);
    *time_ns = clock_ns() - start;
    pgy_tensor_map_destroy(joined);
    return st;
}

static void destroy(void *runner)
{
    opref *r = runner;
    if (!r) return;
    deactivate(r);
    mem_free(r->substitute);
    mem_free(r);
}

const pgy_backend BACKEND_opref = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "opref",
    .runner_prefix = "opref-runner",
    .title = "float64 reference",
    .description =
        "run inference with the built-in reference: every operator in float64 or exact integers",
    .options = OPTIONS,
    .options_size = sizeof(settings),
    .probe = probe,
    .create = create,
    .activate = activate,
    .inputs = inputs,
    .outputs = outputs,
    .infer = infer,
    .deactivate = deactivate,
    .destroy = destroy,
    .version = pgy_version,
    .traits = PGY_BACKEND_IS_REFERENCE | PGY_BACKEND_RUNS_RANKS,
};
