/* SPDX-License-Identifier: Apache-2.0 */
/* Converts test folders, as node_runner.c reads them, to other opset versions and runs the results
 * with the reference: opset_runner OUT FOLDER...
 * Every version above the model's own (only 28 of them) and every one below, down to the first that
 * cannot be expressed. One line each: "passed", "failed" or "impossible", the folder's name, the
 * version from, the version to, and why. Converted models are kept as OUT/<name>.<version>.onnx. */
#define main run_folders
#include "node_runner.c"
#undef main

static pgy_status run_model(pgy_model *model, const char *folder, pgy_error *err)
{
    bounds b = {1e-3, 1e-7};
    char path[4000];
    pgy_runner *r = NULL;
    pgy_model_source source;
    snprintf(path, sizeof path, "%s/tolerance", folder);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lf %lf", &b.rtol, &b.atol) != 2) b = (bounds){1e-3, 1e-7};
    if (file) fclose(file);
    pgy_loader *loader = NULL;
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st) st = pgy_runner_create(&r, pgy_backend_find("opref"), &source, NULL, folder, err);
    if (!st) st = pgy_runner_activate(r, err);
    for (int set = 0; !st; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d", folder, set);
        if (!exists(path)) break;
        st = run_set(r, path, b, err);
    }
    pgy_runner_destroy(r);
    return st;
}

static const char *base(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    return slash ? slash + 1 : folder;
}

static void say(const char *what, const char *folder, int64_t from, int64_t to, pgy_error *err)
{
    for (char *c = err->text; *c; c++)
        if (*c == '\n') *c = ' ';
    printf("%s %s %lld %lld %.300s\n", what, base(folder), (long long)from, (long long)to,
           err->text);
    fflush(stdout);
}

/* @return can it be expressed? */
static bool convert_one(pgy_model *model, const char *folder, const char *out, int64_t version)
{
    pgy_graph *g = NULL;
    pgy_model *converted = NULL;
    pgy_error err = {{0}};
    char path[4000];
    const int64_t from = pgy_model_opset(pgy_model_proto(model), "");
    pgy_status st = pgy_graph_import(&g, model, &err);
    if (!st) st = pgy_graph_convert_opset(g, version, NULL, &err);
    const bool impossible = st == PGY_E_UNSUPPORTED;
    if (!st) st = pgy_graph_export(&converted, g, &err);
    snprintf(path, sizeof path, "%s/%s.%lld.onnx", out, base(folder), (long long)version);
    if (!st) st = pgy_model_save(converted, path, NULL, &err);
    if (!st) st = run_model(converted, folder, &err);
    say(impossible ? "impossible" : st ? "failed" : "passed", folder, from, version, &err);
    pgy_graph_destroy(g);
    pgy_model_destroy(converted);
    return !impossible;
}

static void convert_folder(const char *folder, const char *out)
{
    char path[4000];
    pgy_model *model = NULL;
    pgy_error err = {{0}};
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (pgy_model_load(&model, path, NULL, &err)) {
        say("failed", folder, 0, 0, &err);
        return;
    }
    const int64_t from = pgy_model_opset(pgy_model_proto(model), "");
    if (from < 28 && from >= 7) convert_one(model, folder, out, 28);
    for (int64_t v = from - 1; v >= 7; v--)
        if (!convert_one(model, folder, out, v)) break;
    pgy_model_destroy(model);
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) convert_folder(argv[i], argv[1]);
    return argc < 2;
}
