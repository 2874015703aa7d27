/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Views: a model as a picture, with what is known about its nodes and tensors.
 *
 *     pgy_view *view = NULL;
 *     if (pgy_view_create(&view, NULL, &err)) ...
 *     if (pgy_view_add(view, "model.onnx", &err)) ...    // graph A
 *     if (pgy_view_add(view, "accuracy.json", &err)) ... // errors of its tensors
 *     if (pgy_view_save(view, "page.html", &err)) ...    // or .svg, .png
 *     pgy_view_destroy(view);
 *
 * The first model or plan is graph A, which all results belong to; a second one is compared with
 * it. Weights are never read for a picture, so files of external weights may be missing.
 */
#ifndef POLYGRAPHY_VIEW_H
#define POLYGRAPHY_VIEW_H

#include <polygraphy/engine.h>
#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_view pgy_view;

typedef struct pgy_view_options {
    size_t size;         /**< sizeof(pgy_view_options) */
    const char *title;   /**< NULL: name of the first file */
    const char *command; /**< command line that made the view, shown in the summary; NULL: none */
    /** Bytes of the values of one tensor that a page may contain; 0: statistics only. */
    uint64_t embed_values;
    double layout_seconds; /**< time limit of the layout, after which a simpler one is used; 0: 5 */
    bool flat;             /**< no containers but those of subgraphs */
} pgy_view_options;

/** @param options  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_view_create(pgy_view **out, const pgy_view_options *options,
                                                  pgy_error *err);
PGY_API void pgy_view_destroy(pgy_view *v); /**< NULL is fine */

/** Adds a file; its content decides what it is. A damaged model adds what could be read, and a
 * warning. @return PGY_E_FORMAT for a file that is none of pgy_view_kind */
PGY_API PGY_MUST_CHECK pgy_status pgy_view_add(pgy_view *v, const char *path, pgy_error *err);
/** Adds a model from memory, which is retained. @param name  shown as its name */
PGY_API PGY_MUST_CHECK pgy_status pgy_view_add_model(pgy_view *v, pgy_model *model,
                                                     const char *name, pgy_error *err);
/** Adds a plan, which must outlive the view. */
PGY_API PGY_MUST_CHECK pgy_status pgy_view_add_plan(pgy_view *v, const pgy_plan *plan,
                                                    const char *name, pgy_error *err);

PGY_API size_t pgy_view_warning_count(const pgy_view *v);
PGY_API const char *pgy_view_warning(const pgy_view *v, size_t i);

/** Writes the view; the name decides the form: ".html", ".svg", ".png". The file appears whole or
 * not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_view_save(pgy_view *v, const char *path, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
