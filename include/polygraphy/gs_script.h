/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Edit scripts: graph surgery as text, one verb per line; and lists of the changes that an edit
 * made.
 *
 *     insert Add name=bias after=conv inputs=$out,const:ones[1,8,1,1]
 *     remove dropout_3
 *     set-input-shape image [N,3,224,224]
 *     fold
 *     cleanup
 *     sort
 *
 * docs/formats/edit_script.md describes the language; pgy_gs_verb_at lists its verbs.
 *
 *     pgy_gs_script *s = NULL;
 *     if (pgy_gs_script_create(&s, g, &err)) ...
 *     if (pgy_gs_script_run(s, "edit.txt", text, &err)) ...      // "edit.txt:3:8: remove: ..."
 *     pgy_gs_script_destroy(s);
 */
#ifndef POLYGRAPHY_GS_SCRIPT_H
#define POLYGRAPHY_GS_SCRIPT_H

#include <polygraphy/gs.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A verb, with its arguments and help. The text of `arguments` is also the grammar: arguments in
 * CAPITALS are given in order or as name=value, those in [brackets] are optional, "..." repeats. */
typedef struct pgy_gs_verb {
    const char *name, *arguments, *help;
} pgy_gs_verb;
/** The verbs in the order of the documentation; NULL after the last. */
PGY_API const pgy_gs_verb *pgy_gs_verb_at(size_t i);

/** Runs scripts on one document. Between runs it keeps the declarations and the subgraph that was
 * entered. */
typedef struct pgy_gs_script pgy_gs_script;
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_script_create(pgy_gs_script **out, pgy_gs_graph *g,
                                                       pgy_error *err);
PGY_API void pgy_gs_script_destroy(pgy_gs_script *s); /**< NULL is fine */
/** Runs every line of a text. It stops at the first verb that fails: earlier edits stay, and the
 * error begins with "source:line:column: verb: ". After each verb that adds edges it searches for
 * cycles, until all searches of the script together have visited 20 million nodes; pgy_gs_export
 * checks for cycles in any case. @param source name of the text in errors */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_script_run(pgy_gs_script *s, const char *source,
                                                    const char *text, pgy_error *err);

/* ---- Changes -------------------------------------------------------------------------------- */

typedef enum pgy_gs_change_kind {
    PGY_GS_GRAPH_CHANGED, /**< inputs, outputs, name, opsets */
    PGY_GS_NODE_ADDED,
    PGY_GS_NODE_REMOVED,
    PGY_GS_NODE_CHANGED, /**< operator or attributes */
    PGY_GS_NODE_REWIRED, /**< its inputs or outputs are other tensors */
    PGY_GS_TENSOR_RETYPED,
    PGY_GS_WEIGHT_ADDED,
    PGY_GS_WEIGHT_REMOVED,
    PGY_GS_WEIGHT_CHANGED,
} pgy_gs_change_kind;

typedef struct pgy_gs_change {
    pgy_gs_change_kind kind;
    const char *graph;  /**< "" for the main graph, "node/attribute" for a subgraph, "domain.name"
                           for a function */
    const char *name;   /**< name of the node or tensor; for an unnamed node, name of its output */
    const char *detail; /**< one line */
} pgy_gs_change;

typedef struct pgy_gs_change_list {
    pgy_gs_change *items;
    size_t count;
    void *internal;
} pgy_gs_change_list;
/** Lists the changes from `before` to `after`, usually a document before and after edits (keep a
 * copy, or import the model again). Nodes are matched by name, unnamed ones by their outputs.
 * Weights are compared by their place of storage, then by type and shape; their elements are not
 * read. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_changes(pgy_gs_change_list *out,
                                                 const pgy_gs_graph *before,
                                                 const pgy_gs_graph *after, pgy_error *err);
PGY_API void pgy_gs_change_list_free(pgy_gs_change_list *list);
/** Writes one line per change: "+ node 'bias' Add (a, b -> c)"; at most `limit` lines (0: all),
 * then the number of the others. Free with pgy_text_free; NULL: out of memory. */
PGY_API char *pgy_gs_changes_text(const pgy_gs_change_list *list, size_t limit);

/* ---- Scripts in Python ---------------------------------------------------------------------- */

typedef struct pgy_gs_template_options {
    size_t size;                   /**< sizeof(pgy_gs_template_options) */
    const char *external_data_dir; /**< folder in which the script looks for external data; NULL:
                                      beside the model */
    bool ignore_external_data;
    bool infer_shapes;
    bool half;          /**< convert to float16 */
    bool external_data; /**< save weights in a file beside the model, as models over 2 GB require */
    const char *const *outputs,
        *const *types,
            *const *excludes; /**< new outputs: names or wildcards, operators whose outputs become
                                 outputs, and names to exclude; none: outputs stay */
    size_t output_count, type_count, exclude_count;
    const char *writer; /**< program named in the first comment; NULL: this library */
} pgy_gs_template_options;
/** Writes a Python script that loads the model with onnx-graphsurgeon, has a place for edits, and
 * saves the result as "net_updated.onnx". Free with pgy_text_free. @param path path of the model in
 * the script; this function does not read it @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_template_text(char **out, const char *path,
                                                       const pgy_gs_template_options *options,
                                                       pgy_error *err);

/* ---- Shapes after an edit ------------------------------------------------------------------- */

/** Makes the shapes of all tensors that depend on `from` unknown; types stay. Call it after a
 * change of the shape of `from`, because the declared shapes may be wrong then. @param ranks also
 * make ranks unknown */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_forget_shapes(pgy_gs_graph *g, pgy_gs_tensor *from,
                                                       bool ranks, pgy_error *err);
/** Infers unknown types and shapes from the known ones. The list may be in any order. @return
 * PGY_E_FORMAT for a graph that cannot run (tensors without a producer) */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_infer_shapes(pgy_gs_graph *g, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
