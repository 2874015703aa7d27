/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first tensor that differs between two models, and the nodes that start an error.
 *
 *     find_the_first_wrong_tensor GOOD BAD [REPORT.json]
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status show(const pgy_where_report *report, pgy_error *err)
{
    char *text = NULL;
    const pgy_where_tensor *first = pgy_where_report_first(report);
    const pgy_status st = pgy_where_report_text(&text, report, NULL, err);
    if (!st) printf("%s", text);
    if (first) printf("it begins at '%s', output of node '%s'\n", first->name, first->node);
    for (size_t i = 0; i < pgy_where_report_failure_count(report); i++)
        printf("failure: %s\n", pgy_where_report_failure(report, i));
    for (size_t i = 0; i < pgy_where_report_count(report); i++) {
        const pgy_where_tensor *t = pgy_where_report_at(report, i);
        printf("%s: handed %g, made %g, total %g\n", t->name, t->handed, t->made, t->error);
    }
    pgy_text_free(text);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_where_side good = {.size = sizeof good, .backend = pgy_backend_find("opref")};
    pgy_where_side bad = {.size = sizeof bad, .backend = pgy_backend_find("trt")};
    pgy_where_options options = pgy_where_options_default();
    pgy_where_report *report = NULL;
    bool passed = false;
    if (argc < 3) {
        fprintf(stderr, "usage: %s GOOD BAD [REPORT.json]\n", argv[0]);
        return 2;
    }
    options.max_memory = 64u << 20;
    pgy_status st = pgy_model_load(&good.model, argv[1], NULL, &err);
    if (!st) st = pgy_model_load(&bad.model, argv[2], NULL, &err);
    if (!st) st = pgy_where(&report, &good, &bad, &options, &err);
    if (!st) st = show(report, &err);
    if (!st && argc > 3) st = pgy_where_report_save(report, argv[3], NULL, &err);
    if (!st) passed = pgy_where_report_passed(report);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_where_report_destroy(report);
    pgy_model_destroy(good.model);
    pgy_model_destroy(bad.model);
    return !st && passed ? 0 : 1;
}
