/* SPDX-License-Identifier: Apache-2.0 */
/* Loads input data from a callback that knows the inputs' shapes, and from a list that is built
 * before the run; both feed the same model.
 *
 *     data_loaders model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

enum { ITERATIONS = 3 };

/* A generator: returns one map per call, and NULL at the end. The library passes it the inputs
 * before the first call. */
typedef struct ramp {
    const pgy_metadata *inputs;
    int next;
} ramp;

static pgy_status set_inputs(void *user, const pgy_metadata *inputs, pgy_error *err)
{
    (void)err;
    ((ramp *)user)->inputs = inputs;
    return PGY_OK;
}

/* Values 0, step, 2 * step, ... for one input; dynamic dimensions become 1. */
static pgy_status make_ramp(pgy_tensor **out, const pgy_tensor_info *info, float step, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    for (int32_t i = 0; i < info->rank; i++) shape[i] = info->shape[i] < 0 ? 1 : info->shape[i];
    pgy_status st = pgy_tensor_create(out, PGY_F32, (size_t)info->rank, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(*out); i++) ((float *)pgy_tensor_data(*out))[i] = step * (float)i;
    return st;
}

static pgy_status next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    ramp *r = user;
    *out = NULL;
    if (r->next == ITERATIONS) return PGY_OK;
    pgy_tensor_map *m = NULL;
    pgy_status st = pgy_tensor_map_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(r->inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(r->inputs, i);
        pgy_tensor *t = NULL;
        st = make_ramp(&t, info, 0.01f * (float)(r->next + 1), err);
        if (!st) st = pgy_tensor_map_adopt(m, info->name, t, err);
    }
    if (st) {
        pgy_tensor_map_destroy(m);
        return st;
    }
    r->next++;
    *out = m;
    return PGY_OK;
}

/* Runs the reference over a loader; *count is the number of iterations. */
static pgy_status run(size_t *count, const char *path, pgy_data_loader *loader, pgy_error *err)
{
    pgy_model_source source;
    pgy_runner *runner = NULL;
    pgy_results *results = NULL;
    pgy_run_options options = pgy_run_options_default();
    options.loader = loader;
    pgy_status st = pgy_source_from_path(&source, path, err);
    if (!st) st = pgy_runner_create(&runner, pgy_backend_find("opref"), &source, NULL, NULL, err);
    if (!st) st = pgy_infer_all(&results, &runner, 1, &options, err);
    if (!st) *count = pgy_results_iteration_count(results, 0);
    pgy_results_destroy(results);
    pgy_runner_destroy(runner);
    return st;
}

/* A list: maps that exist before the run. */
static pgy_status run_list(size_t *count, const char *path, pgy_error *err)
{
    static const int64_t SHAPE[] = {1, 1, 8, 8};
    const pgy_tensor_info info = {.name = "image", .dtype = PGY_F32, .rank = 4, .shape = SHAPE};
    pgy_tensor_map *maps[2] = {NULL, NULL};
    pgy_data_loader *loader = NULL;
    pgy_status st = PGY_OK;
    for (int i = 0; !st && i < 2; i++) {
        pgy_tensor *t = NULL;
        st = pgy_tensor_map_create(&maps[i], err);
        if (!st) st = make_ramp(&t, &info, 0.1f, err);
        if (!st) st = pgy_tensor_map_adopt(maps[i], info.name, t, err);
    }
    if (!st) st = pgy_list_loader_create(&loader, (const pgy_tensor_map *const *)maps, 2, err);
    if (!st) st = run(count, path, loader, err);
    pgy_data_loader_destroy(loader);
    pgy_tensor_map_destroy(maps[0]);
    pgy_tensor_map_destroy(maps[1]);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s model.onnx\n", argv[0]);
        return 2;
    }
    static const pgy_data_loader_functions FUNCTIONS = {.size = sizeof FUNCTIONS, .next = next, .set_metadata = set_inputs};
    pgy_error err = {0};
    ramp state = {0};
    pgy_data_loader *loader = NULL;
    size_t from_callback = 0, from_list = 0;
    pgy_status st = pgy_data_loader_create(&loader, &FUNCTIONS, &state, &err);
    if (!st) st = run(&from_callback, argv[1], loader, &err);
    if (!st) st = run_list(&from_list, argv[1], &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("%zu iterations from the callback, %zu from the list\n", from_callback, from_list);
    pgy_data_loader_destroy(loader);
    return st || from_callback != ITERATIONS || from_list != 2;
}
