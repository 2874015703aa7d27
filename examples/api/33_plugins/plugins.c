/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the plugins of a folder, replaces their matches, and finds the set with which the model is
 * fastest. The matches come from a file that pgy_plugin_match could have saved; with the word
 * "match" the program calls it, which runs the plugins' Python scripts.
 *
 *     plugins model.onnx plugins/ places.yaml [match]
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status find_places(pgy_plugin_config **out, pgy_model *model, char **argv, bool match, pgy_error *err)
{
    const pgy_plugin_selection all = {.size = sizeof all, .dir = argv[2]};
    pgy_plugin_names names = {0};
    pgy_status st = pgy_plugin_choose(&names, &all, err);
    for (size_t i = 0; !st && i < names.count; i++) printf("plugin %s\n", names.items[i]);
    if (!st)
        st = match ? pgy_plugin_match(out, argv[2], &names, model, argv[1], err)
                   : pgy_plugin_config_load(out, argv[3], err);
    if (!st && match) st = pgy_plugin_config_save(*out, argv[3], err);
    pgy_plugin_names_free(&names);
    return st;
}

static pgy_status replace_all(pgy_model *model, const char *dir, const pgy_plugin_config *places, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_import(&g, model, err);
    for (size_t i = 0; !st && i < places->count; i++) {
        size_t replaced = 0;
        st = pgy_plugin_apply(&g, &replaced, dir, &places->plugins[i], err);
        if (!st) printf("%s: %zu of %zu places replaced\n", places->plugins[i].name, replaced, places->plugins[i].count);
    }
    pgy_gs_destroy(g);
    return st;
}

static pgy_status tune(pgy_model *model, const char *dir, const pgy_plugin_config *places, pgy_error *err)
{
    const pgy_plugin_tune_options o = {.size = sizeof o, .dir = dir, .threshold = -1};
    pgy_plugin_tuning *tuning = NULL;
    char *text = NULL;
    pgy_status st = pgy_plugin_tune(&tuning, model, places, &o, err);
    if (!st) st = pgy_plugin_tuning_text(&text, tuning, err);
    if (!st) printf("%s%s\n", text, pgy_plugin_tuning_model(tuning) ? "" : "the model is fastest as it is");
    pgy_text_free(text);
    pgy_plugin_tuning_destroy(tuning);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: %s model.onnx plugins/ places.yaml [match]\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_plugin_config *places = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = find_places(&places, model, argv, argc == 5, &err);
    if (!st) st = replace_all(model, argv[2], places, &err);
    if (!st) st = tune(model, argv[2], places, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_plugin_config_destroy(places);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
