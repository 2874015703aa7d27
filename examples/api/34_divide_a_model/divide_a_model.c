/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a model with attention among several devices: suggests hints, saves and reads them, and
 * applies them. Then it writes a Python script for edits by hand.
 *
 *     divide_a_model attention.onnx hints.json divided.onnx edit.py
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status divide(pgy_gs_graph *g, const char *hints_path, const char *path, pgy_error *err)
{
    const pgy_shard_options o = pgy_shard_options_default();
    pgy_shard_hints *suggested = NULL, *hints = NULL;
    pgy_model *divided = NULL;
    pgy_status st = pgy_shard_name_nodes(g, err);
    if (!st) st = pgy_shard_suggest(&suggested, g, &o, err);
    if (!st) st = pgy_shard_hints_save(suggested, hints_path, err);
    if (!st) st = pgy_shard_hints_load(&hints, hints_path, err);
    const size_t before = g->node_count;
    if (!st) st = pgy_shard_context(g, hints, o.pattern, err);
    if (!st) printf("%zu attention layers, %zu nodes more\n", hints->layer_count, g->node_count - before);
    if (!st) st = pgy_gs_export(&divided, g, NULL, err);
    if (!st) st = pgy_model_save(divided, path, NULL, err);
    pgy_model_destroy(divided);
    pgy_shard_hints_destroy(hints);
    pgy_shard_hints_destroy(suggested);
    return st;
}

static pgy_status write_script(const char *model, const char *path, pgy_error *err)
{
    char *text = NULL;
    pgy_status st = pgy_gs_template_text(&text, model, NULL, err);
    FILE *file = st ? NULL : fopen(path, "w");
    if (!st && (!file || fputs(text, file) == EOF)) st = pgy_error_set(err, PGY_E_IO, "cannot write '%s'", path);
    if (file && fclose(file)) st = pgy_error_set(err, PGY_E_IO, "cannot write '%s'", path);
    pgy_text_free(text);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s attention.onnx hints.json divided.onnx edit.py\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_gs_import(&g, model, &err);
    if (!st) st = divide(g, argv[2], argv[3], &err);
    if (!st) st = write_script(argv[1], argv[4], &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
