/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a model at several batch sizes, checks its outputs against the float64 reference, and holds it to a budget. The exit
 * status is 0 if every demand is met, or else the number of the first subject that is not (polygraphy/bench_budget.h).
 *
 *     speed_budget model.onnx 'batch=1,2' 'p99<100ms,err<1e-3' times.json report.xml picture.svg
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status open_runner(pgy_runner **out, const char *path, const char *backend, pgy_error *err)
{
    pgy_model_source source;
    const pgy_status st = pgy_source_from_path(&source, path, err);
    return st ? st : pgy_runner_create(out, pgy_backend_find(backend), &source, NULL, NULL, err);
}

static pgy_status measure(pgy_bench_sweep **out, const char *path, const char *words, pgy_error *err)
{
    pgy_bench_options o = pgy_bench_options_default();
    pgy_bench_reference reference = {.size = sizeof reference, .name = "opref"};
    pgy_bench_side side = {.name = "model"};
    pgy_bench_axes *axes = NULL;
    o.duration_s = 0.05;
    o.slices = 8;
    o.warm_up_ms = 1;
    o.reference = &reference;
    pgy_status st = pgy_bench_axes_parse(&axes, &words, 1, err);
    if (!st) st = open_runner(&side.runner, path, "trt", err);
    if (!st) st = open_runner(&reference.runner, path, "opref", err);
    if (!st) st = pgy_random_loader_create(&side.data, NULL, err);
    if (!st) st = pgy_bench_sweep_measure(out, &side, 1, axes, &o, err);
    pgy_runner_destroy(reference.runner);
    pgy_runner_destroy(side.runner);
    pgy_data_loader_destroy(side.data);
    pgy_bench_axes_destroy(axes);
    return st;
}

static pgy_status judge(pgy_bench_demands *d, const char *text, const pgy_bench_sweep *s, pgy_error *err)
{
    pgy_bench_budget *budget = NULL;
    pgy_status st = pgy_bench_budget_parse(&budget, text, err);
    if (!st) st = pgy_bench_budget_check(d, budget, s, err);
    for (size_t i = 0; !st && i < pgy_bench_demands_count(d); i++) {
        const pgy_bench_demand *one = pgy_bench_demands_at(d, i);
        printf("%s: %s: %s\n", one->where, one->what, one->passed ? "kept" : one->found);
    }
    pgy_bench_budget_destroy(budget);
    return st;
}

/* A file of a measurement gives the same report again. */
static pgy_status print_file(const char *path, pgy_error *err)
{
    pgy_bench_sweep *s = NULL;
    char *text = NULL;
    pgy_status st = pgy_bench_sweep_load(&s, path, err);
    if (!st) st = pgy_bench_sweep_text(&text, s, err);
    if (!st) puts(text);
    pgy_text_free(text);
    pgy_bench_sweep_destroy(s);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_bench_sweep *s = NULL;
    pgy_bench_demands *d = NULL;
    if (argc != 7) return 2;
    pgy_status st = measure(&s, argv[1], argv[2], &err);
    if (!st) st = pgy_bench_sweep_save(argv[4], s, &err);
    if (!st) st = print_file(argv[4], &err);
    if (!st) st = pgy_bench_demands_create(&d, &err);
    if (!st) st = judge(d, argv[3], s, &err);
    if (!st) st = pgy_bench_demands_save_junit(argv[5], d, s, &err);
    if (!st) st = pgy_bench_sweep_save_svg(argv[6], s, &err);
    const int code = st ? 1 : pgy_bench_demands_status(d);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_bench_demands_destroy(d);
    pgy_bench_sweep_destroy(s);
    return code;
}
