/* SPDX-License-Identifier: Apache-2.0 */
/* Shows, joins and merges files of saved inputs and outputs. It judges saved verdicts again with
 * another threshold, without running a model.
 *
 *     saved_data model.onnx outputs.json accuracy.json together.json
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status make_runner(pgy_runner **out, const char *backend, const char *path, pgy_error *err)
{
    pgy_model_source source;
    const pgy_status st = pgy_source_from_path(&source, path, err);
    return st ? st : pgy_runner_create(out, pgy_backend_find(backend), &source, NULL, backend, err);
}

/* Runs two runners, and saves their outputs and the verdict. */
static pgy_status run(char *const *paths, pgy_error *err)
{
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_run_report *report = NULL;
    pgy_run_options o = pgy_run_options_default();
    o.save_outputs = paths[1];
    o.save_accuracy = paths[2];
    pgy_status st = make_runner(&runners[0], "opref", paths[0], err);
    if (!st) st = make_runner(&runners[1], "trt", paths[0], err);
    if (!st) st = pgy_run(&report, runners, 2, &o, err);
    pgy_run_report_destroy(report);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    return st;
}

static pgy_status show(const char *path, pgy_error *err)
{
    static const char *const KINDS[] = {"inputs", "outputs", "accuracy results"};
    pgy_saved_kind kind;
    char *text = NULL;
    pgy_status st = pgy_saved_kind_of(&kind, path, err);
    if (!st) st = pgy_saved_text(&text, path, NULL, err);
    if (!st) printf("%s holds %s\n%s\n", path, KINDS[kind], text);
    pgy_text_free(text);
    return st;
}

/* Judges by the largest difference, because files of results contain statistics, not elements. */
static pgy_status judge_again(bool *passed, const char *path, double tolerance, pgy_error *err)
{
    const pgy_number_entry all = {.name = "", .value = {.real = tolerance}};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    const pgy_stat_entry largest = {.name = "", .value = PGY_STAT_MAX};
    o.atol = o.rtol = (pgy_number_map){&all, 1};
    o.stats = &largest;
    o.stat_count = 1;
    pgy_compare *compare = NULL;
    pgy_accuracy_results *saved = NULL, *judged = NULL;
    pgy_status st = pgy_compare_create(&compare, &o, err);
    if (!st) st = pgy_accuracy_results_load(&saved, path, err);
    if (!st) st = pgy_accuracy_reevaluate(&judged, saved, (const pgy_compare *const *)&compare, 1, false, err);
    if (!st) *passed = pgy_accuracy_results_passed(judged);
    if (!st) printf("tolerance %g: %s\n", tolerance, *passed ? "passed" : "failed");
    pgy_accuracy_results_destroy(judged);
    pgy_accuracy_results_destroy(saved);
    pgy_compare_destroy(compare);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s model.onnx outputs.json accuracy.json together.json\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    const char *twice[] = {argv[2], argv[2]};
    bool loose = false, strict = true;
    pgy_status st = run(argv + 1, &err);
    if (!st) st = show(argv[2], &err);
    if (!st) st = show(argv[3], &err);
    if (!st) st = judge_again(&loose, argv[3], 1e-3, &err);
    if (!st) st = judge_again(&strict, argv[3], 0, &err);
    if (!st) st = pgy_saved_concat(argv[4], twice, 2, &err);
    if (!st) st = show(argv[4], &err);
    if (!st) st = pgy_saved_merge(argv[4], twice, 1, NULL, &err); /* outputs become inputs of another model */
    if (!st) st = show(argv[4], &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    return st || !loose || strict;
}
