/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model in ONNX Runtime and in the engine on generated data, compares the outputs with a
 * custom tolerance (CompareFunc.simple(atol=1e-8)), and saves the results.
 *
 *     compare_with_engine identity.onnx results.json
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status add_runner(pgy_runner **out, const char *backend, const char *path, pgy_error *err)
{
    pgy_model_source source;
    pgy_status st = pgy_source_from_path(&source, path, err);
    return st ? st : pgy_runner_create(out, pgy_backend_find(backend), &source, NULL, NULL, err);
}

/* The data have one shape, since the model's is dynamic. */
static pgy_status make_loader(pgy_data_loader **out, pgy_error *err)
{
    static const int64_t SHAPE[] = {2, 3, 4};
    const pgy_tensor_info info = {.name = "inputT0", .dtype = PGY_F32, .rank = 3, .shape = SHAPE};
    pgy_random_options random = pgy_random_options_default();
    pgy_metadata *inputs = NULL;
    pgy_status st = pgy_metadata_create(&inputs, err);
    if (!st) st = pgy_metadata_set(inputs, &info, err);
    random.inputs = inputs;
    random.iterations = 2;
    if (!st) st = pgy_random_loader_create(out, &random, err);
    pgy_metadata_destroy(inputs);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s identity.onnx results.json\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_data_loader *loader = NULL;
    pgy_compare *simple = NULL;
    pgy_results *results = NULL;
    bool passed = false;
    pgy_run_options run = pgy_run_options_default();
    pgy_judge_options judge = pgy_judge_options_default();
    const pgy_number_entry atol = {.name = "", .value = {.real = 1e-8}}; /* of all outputs */
    pgy_compare_options tolerances = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    tolerances.atol = (pgy_number_map){.entries = &atol, .count = 1};
    pgy_log_open_console();
    pgy_status st = add_runner(&runners[0], "onnxrt", argv[1], &err);
    if (!st) st = add_runner(&runners[1], "trt", argv[1], &err);
    if (!st) st = make_loader(&loader, &err);
    if (!st) st = pgy_compare_create(&simple, &tolerances, &err);
    const pgy_compare *comparisons[] = {simple};
    judge.comparisons = comparisons;
    judge.comparison_count = 1;
    run.loader = loader;
    if (!st) st = pgy_infer_all(&results, runners, 2, &run, &err);
    if (!st) st = pgy_compare_accuracy(NULL, &passed, (const pgy_results *const *)&results, 1, &judge, &err);
    if (!st) st = pgy_results_save(results, argv[2], &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("ONNX Runtime and the engine %s\n", passed ? "agree" : "disagree");
    pgy_results_destroy(results);
    pgy_compare_destroy(simple);
    pgy_data_loader_destroy(loader);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    return st || !passed;
}
