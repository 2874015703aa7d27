/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a model: shows findings when they are found, the verdict, and reports for people and code
 * hosts. The second model reads a tensor that no node produces.
 *
 *     lint_a_model model.onnx report.sarif
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static void print(const pgy_lint_finding *finding, void *user)
{
    char *text = NULL;
    if (pgy_lint_finding_text(&text, finding, NULL)) return;
    printf("%s: %s\n", (const char *)user, text);
    pgy_text_free(text);
}

static pgy_status lint(pgy_lint **out, pgy_model *model, const char *title, pgy_error *err)
{
    char name[64];
    const pgy_lint_options o = {.size = sizeof o, .found = print, .user = name};
    pgy_loader *loader = NULL;
    snprintf(name, sizeof name, "%s", title);
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_lint_create(out, loader, &o, err);
    if (!st) printf("%s: %zu findings, %s\n", title, pgy_lint_count(*out), pgy_lint_passed(*out) ? "passed" : "failed");
    pgy_loader_destroy(loader);
    return st;
}

/* The same model, whose last node reads a tensor of another name. */
static pgy_status break_model(pgy_model **out, pgy_model *model, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *missing = NULL;
    pgy_status st = pgy_gs_import(&g, model, err);
    if (!st && !g->node_count) st = pgy_error_set(err, PGY_E_ARGUMENT, "the model has no nodes");
    if (!st) st = pgy_gs_variable(&missing, g, "missing", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_replace_uses(g->nodes[g->node_count - 1]->inputs[0], missing, err);
    if (!st) st = pgy_gs_export(out, g, NULL, err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.onnx report.sarif\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL, *broken = NULL;
    pgy_lint *good = NULL, *bad = NULL;
    char *json = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = lint(&good, model, "model", &err);
    if (!st) st = break_model(&broken, model, &err);
    if (!st) st = lint(&bad, broken, "broken model", &err);
    if (!st) st = pgy_lint_json(&json, bad, &err);
    if (!st) printf("%s\n", json);
    if (!st) st = pgy_lint_save_sarif(bad, argv[2], argv[1], &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    const bool told = !st && pgy_lint_passed(good) && !pgy_lint_passed(bad);
    pgy_text_free(json);
    pgy_lint_destroy(bad);
    pgy_lint_destroy(good);
    pgy_model_destroy(broken);
    pgy_model_destroy(model);
    return !told;
}
