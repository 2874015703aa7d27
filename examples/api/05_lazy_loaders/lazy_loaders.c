/* SPDX-License-Identifier: Apache-2.0 */
/* Composes loaders lazily: the model is read when the loader is called, or when a runner that uses
 * it is activated. A custom step is inserted between the others. Then the same steps run
 * immediately.
 *
 *     lazy_loaders model.onnx out.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

/* A step that the library does not offer: counts the models that pass through it. */
static pgy_status count_nodes(pgy_model **model, void *user, pgy_error *err)
{
    (void)err;
    *(size_t *)user = pgy_model_proto(*model)->graph->node_count;
    return PGY_OK;
}

static pgy_status compose(pgy_loader **out, const char *from, const char *to, size_t *nodes, pgy_error *err)
{
    static const char *const OUTPUTS[] = {"relu*", "logits"};
    const pgy_output_selection selection = {.size = sizeof selection, .names = OUTPUTS, .name_count = 2};
    pgy_status st = pgy_loader_from_path(out, from, NULL, err);
    if (!st) st = pgy_loader_infer_shapes(out, NULL, err);
    if (!st) st = pgy_loader_select_outputs(out, &selection, err);
    if (!st) st = pgy_loader_extend(out, count_nodes, nodes, err);
    if (!st) st = pgy_loader_save(out, to, NULL, err);
    return st;
}

/* The composed loader as the source of a runner: the work happens when it is activated. */
static pgy_status run(size_t *output_count, pgy_loader *loader, pgy_error *err)
{
    pgy_model_source source;
    pgy_runner *runner = NULL;
    const pgy_metadata *outputs;
    pgy_status st = pgy_loader_source(&source, pgy_loader_retain(loader), err);
    if (!st) st = pgy_runner_create(&runner, pgy_backend_find("opref"), &source, NULL, NULL, err);
    if (!st) st = pgy_runner_activate(runner, err);
    if (!st) st = pgy_runner_outputs(&outputs, runner, err);
    if (!st) *output_count = pgy_metadata_count(outputs);
    pgy_runner_destroy(runner);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.onnx out.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    size_t nodes = 0, outputs = 0;
    pgy_status st = compose(&loader, argv[1], argv[2], &nodes, &err);
    bool lazy = nodes == 0; /* nothing was loaded yet */
    if (!st) st = pgy_loader_call(&model, loader, &err); /* at once */
    if (!st) st = run(&outputs, loader, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("%zu nodes, %zu outputs, written to %s\n", nodes, outputs, argv[2]);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st || !lazy || !nodes || outputs != 3;
}
