/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Edit scripts: graph surgery as text, one verb a line, and lists of what an edit changed.
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

/** What a verb takes and does. The text of `arguments` is also the grammar: CAPITALS stand in order
 * or as name=value, [brackets] may be left out, "..." repeats. */
typedef struct pgy_gs_verb {
    const char *name, *arguments, *help;
} pgy_gs_verb;
/** The verbs in the order of the documentation; NULL behind the last. */
PGY_API const pgy_gs_verb *pgy_gs_verb_at(size_t i);

/** Runs scripts on one document. Between runs it remembers what was declared and which subgraph was
 * entered. */
typedef struct pgy_gs_script pgy_gs_script;
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_script_create(pgy_gs_script **out, pgy_gs_graph *g,
                                                       pgy_error *err);
PGY_API void pgy_gs_script_destroy(pgy_gs_script *s); /**< NULL is fine */
/** Runs every line of a text. The first verb that fails ends it: what was done before stays, and
 * the error begins with "source:line:column: verb: ". Verbs that add edges are followed by a search
 * for circles as long as all searches of the script together have looked at fewer than 20 million
 * nodes; pgy_gs_export looks again in any case.
 * @param source  what errors call the text */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_script_run(pgy_gs_script *s, const char *source,
                                                    const char *text, pgy_error *err);

/* ---- Changes -------------------------------------------------------------------------------- */

typedef enum pgy_gs_change_kind {
    PGY_GS_GRAPH_CHANGED, /**< inputs, outputs, name, opsets */
    PGY_GS_NODE_ADDED,
    PGY_GS_NODE_REMOVED,
    PGY_GS_NODE_CHANGED, /**< operator or attributes */
    PGY_GS_NODE_REWIRED, /**< reads or makes other tensors */
    PGY_GS_TENSOR_RETYPED,
    PGY_GS_WEIGHT_ADDED,
    PGY_GS_WEIGHT_REMOVED,
    PGY_GS_WEIGHT_CHANGED,
} pgy_gs_change_kind;

typedef struct pgy_gs_change {
    pgy_gs_change_kind kind;
    const char *graph;  /**< "" the top, "node/attribute" of a subgraph, "domain.name" a function */
    const char *name;   /**< of the node or tensor; of a node without name the tensor it makes */
    const char *detail; /**< one line */
} pgy_gs_change;

typedef struct pgy_gs_change_list {
    pgy_gs_change *items;
    size_t count;
    void *internal;
} pgy_gs_change_list;
/** What is different in `after`: usually a document and what it was imported from, or copied from,
 * before it was edited. Nodes meet by their name, those without by what they make. Weights are
 * compared by where they are stored, then by type and shape: their elements are not read. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_changes(pgy_gs_change_list *out,
                                                 const pgy_gs_graph *before,
                                                 const pgy_gs_graph *after, pgy_error *err);
PGY_API void pgy_gs_change_list_free(pgy_gs_change_list *list);
/** One line per change: "+ node 'bias' Add (a, b -> c)". At most `limit` lines (0: all), then how
 * many more. Free with pgy_text_free; NULL: out of memory. */
PGY_API char *pgy_gs_changes_text(const pgy_gs_change_list *list, size_t limit);

/* ---- Scripts in Python ---------------------------------------------------------------------- */

typedef struct pgy_gs_template_options {
    size_t size;                   /**< sizeof(pgy_gs_template_options) */
    const char *external_data_dir; /**< where the script looks for external data; NULL: beside the
                                        model */
    bool ignore_external_data;
    bool infer_shapes;
    bool half;          /**< convert to float16 */
    bool external_data; /**< save weights beside the model, as files beyond 2 GB must */
    const char *const *outputs, *const *types, *const *excludes; /**< other outputs: names or
                                        wildcards, operators whose outputs become outputs, and what
                                        does not; none: as they are */
    size_t output_count, type_count, exclude_count;
    const char *writer; /**< named in the first comment; NULL: this library */
} pgy_gs_template_options;
/** A Python script that loads the model with onnx-graphsurgeon, has a place for edits, and saves
 * the result as "net_updated.onnx". Free with pgy_text_free. @param path as the script opens it;
 * nothing is read. @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_template_text(char **out, const char *path,
                                                       const pgy_gs_template_options *options,
                                                       pgy_error *err);

/* ---- Shapes after an edit ------------------------------------------------------------------- */

/** Sizes of everything that depends on `from` become unknown, types stay: after another shape was
 * given to `from` they would say what is not so. @param ranks  forget ranks too */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_forget_shapes(pgy_gs_graph *g, pgy_gs_tensor *from,
                                                       bool ranks, pgy_error *err);
/** Types and shapes that are unknown are inferred from the rest. The list may be in any order; a
 * graph that cannot run (tensors that nobody makes) is PGY_E_FORMAT. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_infer_shapes(pgy_gs_graph *g, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
