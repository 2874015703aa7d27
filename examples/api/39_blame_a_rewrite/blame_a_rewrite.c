/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the passes of the engine, and the optimizers of ONNX Runtime, that change any bit of a model's outputs.
 *
 *     blame_a_rewrite model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static bool is_engine(const char *backend)
{
    return pgy_backend_has(pgy_backend_find(backend), PGY_BACKEND_BUILDS_PLANS);
}

/* Runs the model once with an option that switches all rewrites off: these are the right outputs. */
static pgy_status run_plainly(pgy_results **out, pgy_model *model, const char *backend, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .passes = "none"};
    pgy_backend_options *options = NULL;
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_runner *runner = NULL;
    const pgy_run_options how = pgy_run_options_default();
    pgy_status st = pgy_backend_options_create(&options, pgy_backend_find(backend), err);
    if (!st && is_engine(backend)) st = pgy_engine_runner_configure(options, &config, err);
    if (!st && !is_engine(backend)) st = pgy_backend_options_set(options, "graph_optimization_level", "ORT_DISABLE_ALL", err);
    if (!st) st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st) st = pgy_runner_create(&runner, pgy_backend_find(backend), &source, options, NULL, err);
    if (!st) st = pgy_infer_all(out, &runner, 1, &how, err);
    pgy_runner_destroy(runner);
    pgy_backend_options_destroy(options);
    return st;
}

static pgy_status blame(const char *backend, pgy_model *model, const pgy_judge_options *judge, pgy_error *err)
{
    pgy_rewrite_options o = {.size = sizeof o, .judge = judge};
    pgy_results *outputs = NULL;
    pgy_rewrite_report *report = NULL;
    char *text = NULL;
    pgy_status st = run_plainly(&outputs, model, backend, err);
    o.outputs = outputs;
    if (!st)
        st = is_engine(backend) ? pgy_bisect_passes(&report, model, &o, err)
                                : pgy_bisect_ort(&report, model, &o, err);
    if (!st) st = pgy_rewrite_report_text(&text, report, err);
    if (!st) printf("%s: %s\n", backend, text);
    pgy_text_free(text);
    pgy_rewrite_report_destroy(report);
    pgy_results_destroy(outputs);
    return st;
}

int main(int argc, char **argv)
{
    static const pgy_number_entry ZERO = {"", {.is_integer = true}};
    pgy_compare_options exact = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_judge_options judge = pgy_judge_options_default();
    pgy_compare *compare = NULL;
    pgy_error err = {0};
    pgy_model *model = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: %s MODEL\n", argv[0]);
        return 2;
    }
    exact.rtol = exact.atol = (pgy_number_map){&ZERO, 1};
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_compare_create(&compare, &exact, &err);
    const pgy_compare *const comparisons[] = {compare};
    judge.comparisons = comparisons;
    judge.comparison_count = 1;
    if (!st) st = blame("trt", model, &judge, &err);
    if (!st && pgy_backend_find("onnxrt")->probe(NULL, 0) == PGY_OK)
        st = blame("onnxrt", model, &judge, &err);
    pgy_compare_destroy(compare);
    pgy_model_destroy(model);
    if (st) fprintf(stderr, "%s\n", err.text);
    return st ? 1 : 0;
}
