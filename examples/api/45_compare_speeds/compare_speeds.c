/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the speed of two models on the built-in engine, and with the measurement of an earlier run.
 *
 *     compare_speeds a.onnx b.onnx times.json
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status open_side(pgy_bench_side *side, const char *name, const char *path, pgy_error *err)
{
    pgy_model_source source;
    pgy_status st = pgy_source_from_path(&source, path, err);
    side->name = name;
    if (!st) st = pgy_runner_create(&side->runner, pgy_backend_find("trt"), &source, NULL, NULL, err);
    if (!st) st = pgy_random_loader_create(&side->data, NULL, err);
    return st;
}

/* Each side is compared with itself, as the file has it. */
static pgy_status compare_with_file(const pgy_bench *now, const char *path, pgy_error *err)
{
    pgy_bench *old = NULL;
    pgy_status st = pgy_bench_load(&old, path, err);
    for (size_t i = 0, at; !st && i < pgy_bench_count(now); i++) {
        pgy_bench_verdict v;
        const char *name = pgy_bench_name(now, i);
        if (!pgy_bench_find(&at, old, name)) continue;
        st = pgy_bench_compare(&v, now, i, old, at, err);
        if (!st) printf("%s now and then: %s\n", name, pgy_bench_outcome_name(v.outcome));
    }
    pgy_bench_destroy(old);
    return st;
}

static pgy_status measure(pgy_bench **out, char **argv, pgy_error *err)
{
    pgy_bench_options o = pgy_bench_options_default();
    pgy_bench_side sides[2] = {0};
    o.duration_s = 0.1;
    o.warm_up_ms = 5;
    pgy_status st = open_side(&sides[0], "a", argv[1], err);
    if (!st) st = open_side(&sides[1], "b", argv[2], err);
    if (!st) st = pgy_bench_measure(out, sides, 2, &o, err);
    for (int i = 0; i < 2; i++) {
        pgy_runner_destroy(sides[i].runner);
        pgy_data_loader_destroy(sides[i].data);
    }
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_bench *bench = NULL;
    char *text = NULL;
    if (argc != 4) return 2;
    pgy_status st = measure(&bench, argv, &err);
    if (!st) st = pgy_bench_text(&text, bench, &err);
    if (!st) puts(text);
    if (!st) st = pgy_bench_save(argv[3], bench, &err);
    if (!st) st = compare_with_file(bench, argv[3], &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_text_free(text);
    pgy_bench_destroy(bench);
    return st != PGY_OK;
}
