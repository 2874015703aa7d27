/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plugins: operators of which one node replaces several nodes of a graph. A plugin is a folder with
 * a Python script, pattern.py, which finds the subgraphs to replace, with onnx_graphsurgeon:
 *
 *     get_plugin_metadata()          # {"name": folder's name, "op": operator}
 *     get_matching_subgraphs(graph)  # [{"inputs": names, "outputs": names, "attributes": {}}]
 *     replace_with_plugin(graph, input_tensors, output_tensors, attrs, op)  # optional
 *
 * The places that the scripts find form a configuration, which is saved as YAML and can be edited
 * by hand. Replacing needs Python only for plugins with a replace_with_plugin of their own.
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
    PGY_PLUGIN_LIST /**< list of values of one kind other than list */
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

/** A subgraph that one node can replace, given by the names of its input and output tensors. */
typedef struct pgy_plugin_instance {
    const char *const *inputs, *const *outputs;
    size_t input_count, output_count;
    const pgy_plugin_value *attributes;
    size_t attribute_count;
} pgy_plugin_instance;

typedef struct pgy_plugin_places {
    const char *name; /**< name of the plugin's folder */
    const char *op;
    const char *domain; /**< domain; "": the default one. An addition of this library */
    const pgy_plugin_instance *instances;
    size_t count;
} pgy_plugin_places;

typedef struct pgy_plugin_config {
    const pgy_plugin_places *plugins;
    size_t count;
    void *internal;
} pgy_plugin_config;

/** Loads YAML, one document per plugin. @return PGY_E_FORMAT, with the place, if it is not such a
 * configuration */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_config_load(pgy_plugin_config **out, const char *path,
                                                         pgy_error *err);
/** Like pgy_plugin_config_load, from text; `name` stands for the path in messages. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_config_parse(pgy_plugin_config **out, const char *name,
                                                          const void *text, size_t size_bytes,
                                                          pgy_error *err);
/** Saves YAML; plugins without instances are left out. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_config_save(const pgy_plugin_config *config,
                                                         const char *path, pgy_error *err);
PGY_API void pgy_plugin_config_destroy(pgy_plugin_config *config); /**< NULL is fine */

typedef struct pgy_plugin_names {
    char **items; /**< sorted */
    size_t count;
} pgy_plugin_names;
/** Lists the plugins in a folder: its subfolders that contain a pattern.py. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_list(pgy_plugin_names *out, const char *dir,
                                                  pgy_error *err);
PGY_API void pgy_plugin_names_free(pgy_plugin_names *names);

/** Selects plugins of a folder. At most one of `include` and `exclude` may have names. */
typedef struct pgy_plugin_selection {
    size_t size; /**< sizeof(pgy_plugin_selection) */
    const char *dir;
    const char *const *include; /**< names of the plugins to use; no names: all */
    size_t include_count;
    const char *const *exclude; /**< names of the plugins not to use */
    size_t exclude_count;
} pgy_plugin_selection;
/** Gives the names of the chosen plugins, sorted. @return PGY_E_NOT_FOUND for a name that the
 * folder does not have; the text begins with "include: " or "exclude: " */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_choose(pgy_plugin_names *out,
                                                    const pgy_plugin_selection *selection,
                                                    pgy_error *err);

/** Runs the scripts of these plugins on a model. Entry i of the configuration belongs to name i; it
 * may have no instances. @param path a file with exactly this model; NULL: the function makes one
 * for the scripts */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_match(pgy_plugin_config **out, const char *dir,
                                                   const pgy_plugin_names *names, pgy_model *model,
                                                   const char *path, pgy_error *err);

/** Replaces an instance by a node; call cleanup and toposort afterwards. *done false: the graph
 * lacks one of the instance's tensors, which a warning names. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_replace(bool *done, pgy_gs_graph *g,
                                                     const pgy_plugin_places *plugin, size_t index,
                                                     pgy_error *err);
/** True if the plugin's script mentions replace_with_plugin, so that it may replace instances
 * itself. */
PGY_API bool pgy_plugin_has_hook(const char *dir, const char *name);
/** Replaces all instances by the plugin's own replace_with_plugin, in a copy of the model. *out is
 * NULL if the script does not have that function. *replaced: the number that the script reports. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_call_hook(pgy_model **out, size_t *replaced,
                                                       const char *dir,
                                                       const pgy_plugin_places *plugin,
                                                       pgy_model *model, pgy_error *err);

/** Replaces all instances of one plugin, by its own replace_with_plugin if it has one, then cleans
 * the graph up and sorts it. *graph may be replaced by another graph. *replaced: number of
 * instances replaced. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_apply(pgy_gs_graph **graph, size_t *replaced,
                                                   const char *dir, const pgy_plugin_places *plugin,
                                                   pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
