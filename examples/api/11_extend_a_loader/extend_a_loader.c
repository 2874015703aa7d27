/* SPDX-License-Identifier: Apache-2.0 */
/* Adds custom steps between a file and an engine: one renames the network, and one changes the
 * configuration in a way that the usual settings do not offer. Then the engine is built and run.
 *
 *     extend_a_loader identity.onnx
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

/* The step between loading and building: renames the network. */
static pgy_status rename_network(pgy_model **model, void *user, pgy_error *err)
{
    pgy_network *net = NULL;
    pgy_model *renamed = NULL;
    pgy_status st = pgy_network_from_model(&net, *model, err);
    if (!st) st = pgy_network_set_name(net, user, err);
    if (!st) st = pgy_network_to_model(&renamed, net, err);
    pgy_network_destroy(net);
    if (st) return st;
    pgy_model_destroy(*model);
    *model = renamed;
    return PGY_OK;
}

/* The usual configuration, with one custom setting. */
static pgy_build_config usual_config(void)
{
    return (pgy_build_config){.size = sizeof(pgy_build_config), .has_workspace_limit = true, .workspace_bytes = 16 << 20};
}
static pgy_build_config extended_config(void)
{
    pgy_build_config config = usual_config();
    config.version_compatible = true;
    config.cpu_level = PGY_CPU_PORTABLE;
    return config;
}

static pgy_status run(bool *right, pgy_engine *engine, pgy_error *err)
{
    const float input[] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[] = {1, 2, 3};
    float output[6] = {0};
    pgy_context *context = NULL;
    pgy_status st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = pgy_context_set_input_shape(context, "inputT0", 3, shape, err);
    if (!st) st = pgy_context_set_input(context, "inputT0", input, sizeof input, err);
    if (!st) st = pgy_context_set_output(context, "outputT0", output, sizeof output, err);
    if (!st) st = pgy_context_execute(context, err);
    *right = !st && memcmp(input, output, sizeof input) == 0;
    pgy_context_destroy(context);
    return st;
}

int main(int argc, char **argv)
{
    static char NAME[] = "MyIdentity";
    if (argc != 2) {
        fprintf(stderr, "usage: %s identity.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_engine *engine = NULL;
    const pgy_build_config config = extended_config();
    bool right = false, named = false;
    pgy_status st = pgy_loader_from_path(&loader, argv[1], NULL, &err);
    if (!st) st = pgy_loader_extend(&loader, rename_network, NAME, &err);
    if (!st) st = pgy_loader_call(&model, loader, &err);
    if (!st) st = pgy_engine_build(&engine, model, &config, &err);
    if (!st) named = strcmp(pgy_engine_name(engine), NAME) == 0;
    if (!st) st = run(&right, engine, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("engine %s, for %s processors; the output is %s\n", pgy_engine_name(engine),
                pgy_engine_config(engine)->cpu_level == PGY_CPU_PORTABLE ? "all" : "some", right ? "the input" : "wrong");
    pgy_engine_release(engine);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st || !right || !named;
}
