/* SPDX-License-Identifier: Apache-2.0 */
/* Goes from an ONNX file to a network, an engine with fp16, a saved plan, and a runner that is
 * active in one scope only. The log shows the profile and the settings of the build.
 *
 *     onnx_to_engine identity.onnx identity_fp16.plan
 *
 * (07_build_a_network writes the model.) */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static pgy_status make_feed(pgy_tensor_map **out, pgy_error *err)
{
    static const int64_t SHAPE[] = {3, 4, 5};
    pgy_tensor *x = NULL;
    pgy_status st = pgy_tensor_map_create(out, err);
    if (!st) st = pgy_tensor_create(&x, PGY_F32, 3, SHAPE, err);
    if (st) return st;
    for (size_t i = 0; i < pgy_tensor_count(x); i++) ((float *)pgy_tensor_data(x))[i] = (float)i / 4; /* float16 holds these */
    return pgy_tensor_map_adopt(*out, "inputT0", x, err);
}

static bool same(const pgy_tensor *a, const pgy_tensor *b)
{
    return a && b && pgy_tensor_size_bytes(a) == pgy_tensor_size_bytes(b) && memcmp(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a)) == 0;
}

/* The work that is done while the runner is active. */
static pgy_status use(pgy_runner *runner, bool *right, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_status st = make_feed(&feed, err);
    if (!st) st = pgy_runner_infer(&outputs, runner, feed, err);
    *right = !st && same(pgy_tensor_map_find(feed, "inputT0"), pgy_tensor_map_find(outputs, "outputT0"));
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(feed);
    return st;
}

/* The scope: the runner is inactive after it, also after an error. */
static pgy_status with_active(pgy_runner *runner, pgy_status (*body)(pgy_runner *runner, bool *right, pgy_error *err), bool *right, pgy_error *err)
{
    pgy_status st = pgy_runner_activate(runner, err);
    if (!st) st = body(runner, right, err);
    pgy_runner_deactivate(runner);
    return st;
}

/* The loader of the model: file, network, model. It does nothing before the runner is activated. */
static pgy_status through_network(pgy_model **model, void *user, pgy_error *err)
{
    pgy_network *net = NULL;
    pgy_model *made = NULL;
    (void)user;
    pgy_status st = pgy_network_from_model(&net, *model, err);
    if (!st) printf("network %s: %zu layers, the first is %s\n", pgy_network_name(net), pgy_network_layer_count(net), pgy_layer_type_name(pgy_network_layer_at(net, 0)->type));
    if (!st) st = pgy_network_to_model(&made, net, err);
    pgy_network_destroy(net);
    if (st) return st;
    pgy_model_destroy(*model);
    *model = made;
    return PGY_OK;
}

int main(int argc, char **argv)
{
    static const int64_t MIN[] = {1, 1, 1}, OPT[] = {3, 4, 5}, MAX[] = {6, 8, 10};
    if (argc != 3) {
        fprintf(stderr, "usage: %s identity.onnx identity_fp16.plan\n", argv[0]);
        return 2;
    }
    const pgy_profile_range range = {.name = "inputT0", .count = 3, .min = MIN, .opt = OPT, .max = MAX};
    const pgy_profile profile = {.ranges = &range, .range_count = 1};
    const pgy_build_config config = {.size = sizeof config, .profiles = &profile, .profile_count = 1, .fp16 = true};
    const pgy_backend *backend = pgy_backend_find("trt");
    pgy_error err = {0};
    pgy_loader *loader = NULL;
    pgy_model_source source;
    pgy_backend_options *options = NULL;
    pgy_runner *runner = NULL;
    bool right = false;
    pgy_log_open_console();
    pgy_status st = pgy_loader_from_path(&loader, argv[1], NULL, &err);
    if (!st) st = pgy_loader_extend(&loader, through_network, NULL, &err);
    if (!st) st = pgy_loader_source(&source, loader, &err); /* the loader moves in */
    if (!st) st = pgy_backend_options_create(&options, backend, &err);
    if (!st) st = pgy_backend_options_set(options, "save_engine", argv[2], &err); /* the options of --trt, by name */
    if (!st) st = pgy_engine_runner_configure(options, &config, &err);
    if (!st) st = pgy_runner_create(&runner, backend, &source, options, NULL, &err);
    pgy_backend_options_destroy(options);
    if (!st) st = with_active(runner, use, &right, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("the output is %s; the runner is %s; %s is %s plan\n", right ? "the input" : "wrong", pgy_runner_is_active(runner) ? "active" : "inactive", argv[2],
                pgy_plan_is_plan(argv[2]) ? "a" : "no");
    const bool ended = !st && !pgy_runner_is_active(runner) && pgy_plan_is_plan(argv[2]);
    pgy_runner_destroy(runner);
    return !right || !ended;
}
