/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the part of a model that makes a check fail, then builds the model several times and
 * counts the builds whose outputs are those of the reference.
 *
 *     reduce_a_model model.onnx Conv
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

#define CANDIDATE "reduce_a_model_candidate.onnx"

/* The check of this example: a candidate is bad if it has a node of the operator `user`. */
static pgy_status judge(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    pgy_model *model = NULL;
    const pgy_status st = pgy_model_load(&model, candidate, NULL, err);
    if (st) return st;
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    *passed = true;
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op_type, user) == 0) *passed = false;
    pgy_model_destroy(model);
    return PGY_OK;
}

static pgy_status infer_shapes(pgy_model **model, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_model *inferred = NULL;
    pgy_status st = pgy_graph_import(&g, *model, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = pgy_graph_export(&inferred, g, err);
    pgy_graph_destroy(g);
    if (st) return st;
    pgy_model_destroy(*model);
    *model = inferred;
    return PGY_OK;
}

static pgy_status reduce(pgy_model *model, char *op, pgy_error *err)
{
    const pgy_debug_reduce_options how = {.size = sizeof how};
    const pgy_debug_check check = {.size = sizeof check, .judge = judge, .user = op};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_session *session = NULL;
    pgy_debug_reduction found = {0};
    o.candidate = CANDIDATE;
    o.check = &check;
    pgy_status st = pgy_debug_session_create(&session, &o, err);
    if (!st) st = pgy_debug_reduce(&found, session, model, &how, err);
    if (!st)
        printf("%zu of %zu nodes are left; %zu candidates failed\n", found.bad_nodes, found.original_nodes,
               found.failed);
    pgy_debug_reduction_free(&found);
    pgy_debug_session_destroy(session);
    return st;
}

static pgy_status add_runner(pgy_runner **out, const char *backend, pgy_model *model, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    return st ? st : pgy_runner_create(out, pgy_backend_find(backend), &source, NULL, NULL, err);
}

/* A trial of the second session: builds the model for the engine. */
static pgy_status build(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err)
{
    pgy_runner *runner = NULL;
    (void)trial;
    const pgy_status st = add_runner(&runner, "trt", user, err);
    if (!st) *made = pgy_runner_activate(runner, NULL) == PGY_OK;
    pgy_runner_destroy(runner);
    return st;
}

/* Its check needs no command: it runs the engine and the reference on the same data. */
static pgy_status agrees(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    const pgy_judge_options rules = pgy_judge_options_default();
    const pgy_run_options how = pgy_run_options_default();
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_results *results = NULL;
    pgy_accuracy_results *accuracy = NULL;
    (void)candidate;
    pgy_status st = add_runner(&runners[0], "trt", user, err);
    if (!st) st = add_runner(&runners[1], "opref", user, err);
    if (!st) st = pgy_infer_all(&results, runners, 2, &how, err);
    if (!st) st = pgy_compare_accuracy(&accuracy, passed, (const pgy_results *const *)&results, 1, &rules, err);
    pgy_accuracy_results_destroy(accuracy);
    pgy_results_destroy(results);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    return st;
}

static pgy_status build_again(pgy_model *model, pgy_error *err)
{
    const pgy_debug_check check = {.size = sizeof check, .judge = agrees, .user = model};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_session *session = NULL;
    pgy_debug_summary sum = {0};
    o.check = &check;
    pgy_status st = pgy_debug_session_create(&session, &o, err);
    if (!st) st = pgy_debug_repeat(&sum, session, PGY_DEBUG_UNTIL_COUNT, 3, build, model, err);
    if (!st) printf("%zu of %zu builds are good\n", sum.passed, sum.trials);
    pgy_debug_session_destroy(session);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL OPERATOR\n", argv[0]);
        return 2;
    }
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = infer_shapes(&model, &err);
    if (!st) st = reduce(model, argv[2], &err);
    if (!st) st = build_again(model, &err);
    pgy_model_destroy(model);
    if (st) fprintf(stderr, "%s\n", err.text);
    return st ? 1 : 0;
}
