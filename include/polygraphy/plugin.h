/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plugins: stretches of a graph that one node of another operator can do the work of. A plugin is a
 * folder with a Python script, pattern.py, which finds such stretches with onnx_graphsurgeon:
 *
 *     get_matching_subgraphs(graph)   a list of {"inputs": names, "outputs": names, "attributes":
 * {}} get_plugin_metadata()           {"name": folder's name, "op": operator}
 *     replace_with_plugin(graph, input_tensors, output_tensors, attrs, op)     optional
 *
 * What was found is a configuration, which is saved as YAML and can be changed by hand; replacing
 * needs Python only for plugins that do it themselves.
 *
 *     if (pgy_plugin_list(&names, "plugins", &err)) ...
 *     if (pgy_plugin_match(&found, "plugins", &names, model, "model.onnx", &err)) ...
 *     for (size_t i = 0; i < found->plugins[0].count; i++)
 *         if (pgy_plugin_replace(&done, graph, &found->plugins[0], i, &err)) ...
 *     pgy_plugin_config_destroy(found);
 */
#ifndef POLYGRAPHY_PLUGIN_H
#define POLYGRAPHY_PLUGIN_H

#include <polygraphy/gs.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pgy_plugin_kind {
    PGY_PLUGIN_BOOL,
    PGY_PLUGIN_INT,
    PGY_PLUGIN_REAL,
    PGY_PLUGIN_TEXT,
    PGY_PLUGIN_LIST /**< of values of one kind, which is no list */
} pgy_plugin_kind;

/** An attribute of the new node. */
typedef struct pgy_plugin_value {
    const char *name; /**< NULL for items of lists */
    pgy_plugin_kind kind;
    int64_t integer; /**< of bool and int */
    double real;
    const char *text;
    const struct pgy_plugin_value *items;
    size_t count;
} pgy_plugin_value;

/** One place in a model, by names of tensors. */
typedef struct pgy_plugin_instance {
    const char *const *inputs, *const *outputs;
    size_t input_count, output_count;
    const pgy_plugin_value *attributes;
    size_t attribute_count;
} pgy_plugin_instance;

typedef struct pgy_plugin_places {
    const char *name; /**< of the plugin's folder */
    const char *op;
    const char *domain; /**< of the operator; "": the default one. An addition of this library */
    const pgy_plugin_instance *instances;
    size_t count;
} pgy_plugin_places;

typedef struct pgy_plugin_config {
    const pgy_plugin_places *plugins;
    size_t count;
    void *internal;
} pgy_plugin_config;

/** YAML, one document per plugin. What is no such configuration is PGY_E_FORMAT naming the place.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_config_load(pgy_plugin_config **out, const char *path,
                                                         pgy_error *err);
/** The same from text; `name` stands for the path in messages. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_config_parse(pgy_plugin_config **out, const char *name,
                                                          const void *text, size_t size_bytes,
                                                          pgy_error *err);
/** Plugins without instances are left out. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_config_save(const pgy_plugin_config *config,
                                                         const char *path, pgy_error *err);
PGY_API void pgy_plugin_config_destroy(pgy_plugin_config *config); /**< NULL is fine */

typedef struct pgy_plugin_names {
    char **items; /**< sorted */
    size_t count;
} pgy_plugin_names;
/** The plugins in a folder: its folders that hold a pattern.py. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_list(pgy_plugin_names *out, const char *dir,
                                                  pgy_error *err);
PGY_API void pgy_plugin_names_free(pgy_plugin_names *names);

/** Some of the plugins of a folder; one of the lists may have names. */
typedef struct pgy_plugin_selection {
    size_t size; /**< sizeof(pgy_plugin_selection) */
    const char *dir;
    const char *const *include; /**< only these; none: all */
    size_t include_count;
    const char *const *exclude; /**< all but these */
    size_t exclude_count;
} pgy_plugin_selection;
/** Their names, sorted. @return PGY_E_NOT_FOUND for a name that the folder does not have: the text
 * begins with "include: " or "exclude: " */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_choose(pgy_plugin_names *out,
                                                    const pgy_plugin_selection *selection,
                                                    pgy_error *err);

/** Runs the scripts of these plugins on a model: configuration i is that of name i, maybe without
 * instances. @param path a file that holds just this model, or NULL: one is made for the scripts */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_match(pgy_plugin_config **out, const char *dir,
                                                   const pgy_plugin_names *names, pgy_model *model,
                                                   const char *path, pgy_error *err);

/** Puts a node in place of an instance; then clean up and sort. *done false: the graph lacks one of
 * its tensors, which a warning names. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_replace(bool *done, pgy_gs_graph *g,
                                                     const pgy_plugin_places *plugin, size_t index,
                                                     pgy_error *err);
/** May the plugin replace by itself? (Its script speaks of replace_with_plugin.) */
PGY_API bool pgy_plugin_has_hook(const char *dir, const char *name);
/** All instances by the plugin's own replace_with_plugin, in a model of its own; NULL: it has none
 * after all. *replaced: how many it said it did. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_call_hook(pgy_model **out, size_t *replaced,
                                                       const char *dir,
                                                       const pgy_plugin_places *plugin,
                                                       pgy_model *model, pgy_error *err);

/** Replaces all instances of one plugin, by its own replace_with_plugin if it has one, then cleans
 * the graph up and sorts it. *graph may become another one. *replaced: how many were replaced. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_apply(pgy_gs_graph **graph, size_t *replaced,
                                                   const char *dir, const pgy_plugin_places *plugin,
                                                   pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
