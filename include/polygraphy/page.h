/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pages: a model as a picture, with what is known about its nodes and tensors.
 *
 *     pgy_page *page = NULL;
 *     if (pgy_page_create(&page, NULL, &err)) ...
 *     if (pgy_page_add(page, "model.onnx", &err)) ...    // graph A
 *     if (pgy_page_add(page, "accuracy.json", &err)) ... // errors of its tensors
 *     if (pgy_page_save(page, "page.html", &err)) ...    // or .svg, .png
 *     pgy_page_destroy(page);
 *
 * The first model or plan is graph A, which results belong to unless pgy_page_add_results says
 * otherwise; a second one, B, is compared with it. Weights are never read for a picture, so files
 * of external weights may be missing.
 */
#ifndef POLYGRAPHY_PAGE_H
#define POLYGRAPHY_PAGE_H

#include <polygraphy/engine.h>
#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_page pgy_page;

typedef struct pgy_page_options {
    size_t size;         /**< sizeof(pgy_page_options) */
    const char *title;   /**< NULL: name of the first file */
    const char *command; /**< command line that made the page, shown in the summary; NULL: none */
    /** Bytes of the values of one tensor that a page may contain; 0: statistics only. */
    uint64_t embed_values;
    double layout_seconds; /**< time limit of the layout, after which a simpler one is used; 0: 5 */
    bool flat;             /**< no containers but those of subgraphs */
    /** The profile of a plan whose program is graph A. The page has those of the others, too. */
    size_t profile;
} pgy_page_options;

/** @param options  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_create(pgy_page **out, const pgy_page_options *options,
                                                  pgy_error *err);
PGY_API void pgy_page_destroy(pgy_page *p); /**< NULL is fine */

/** Adds a file; its content decides what it is. A damaged model adds what could be read, and a
 * warning. Files of results may come before the model; they are read when it is there.
 * @return PGY_E_FORMAT for a file of no kind that a page can show */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_add(pgy_page *p, const char *path, pgy_error *err);
/** The same, shown as `name`: for temporary files. */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_add_as(pgy_page *p, const char *path, const char *name,
                                                  pgy_error *err);
/** Whom results belong to. */
typedef enum pgy_page_owner {
    PGY_PAGE_A,
    PGY_PAGE_B,      /**< the second model or plan */
    PGY_PAGE_PROFILE /**< a profile of the plan that is graph A */
} pgy_page_owner;
/** Adds a file of results of another graph than A. It is read when the page is written, at the
 * latest. @param profile  for PGY_PAGE_PROFILE: its number; else ignored */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_add_results(pgy_page *p, const char *path,
                                                       pgy_page_owner owner, size_t profile,
                                                       pgy_error *err);
/** Adds a model from memory, which is retained. @param name  shown as its name */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_add_model(pgy_page *p, pgy_model *model,
                                                     const char *name, pgy_error *err);
/** Adds a plan, which must outlive the page. */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_add_plan(pgy_page *p, const pgy_plan *plan,
                                                    const char *name, pgy_error *err);

PGY_API size_t pgy_page_warning_count(const pgy_page *p);
PGY_API const char *pgy_page_warning(const pgy_page *p, size_t i);

/** Writes the page; the name decides the form: ".html", ".json" (its data), ".svg", ".png". The
 * file appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_save(pgy_page *p, const char *path, pgy_error *err);

typedef enum pgy_theme { PGY_THEME_AUTO, PGY_THEME_LIGHT, PGY_THEME_DARK } pgy_theme;

typedef struct pgy_picture_options {
    size_t size;          /**< sizeof(pgy_picture_options) */
    const char *quantity; /**< id of what colours the picture, such as "maxabs" or "time"; NULL:
                             what tells most; "": nothing */
    pgy_theme theme;      /**< AUTO: SVG follows the viewer's system, PNG is light */
    double scale;         /**< pixels for each unit; 0: 1 for SVG, 2 for PNG */
    bool attributes;      /**< cards list the attributes of their nodes */
    bool types;           /**< cards list shapes and types of their outputs */
} pgy_picture_options;

/** Draws the page as ".svg" or ".png", without a browser. @param options  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_draw(pgy_page *p, const char *path,
                                                const pgy_picture_options *options, pgy_error *err);

/** Writes a table as ".csv" or ".json". @param id  "accuracy", "where", "layers", "diff" ..., or
 * "nodes" or "tensors": all of graph A with all quantities
 * @return PGY_E_NOT_FOUND: the page has no such table; the error lists those that it has */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_save_table(pgy_page *p, const char *id, const char *path,
                                                      pgy_error *err);
/** Writes the figures as an attachment for Netron, which shows them in its sidebar. */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_save_attachment(pgy_page *p, const char *path,
                                                           pgy_error *err);
/** Gives a text for a bug report: verdict, first failing layer, errors, and how to repeat it. Free
 * with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_text(char **out, pgy_page *p, pgy_error *err);

typedef struct pgy_page_serve_options {
    size_t size;   /**< sizeof(pgy_page_serve_options) */
    uint16_t port; /**< 0: 8000, or the next one that is free */
    /** Called when the server listens; NULL: nobody is told. Whoever knows the address can read the
     * page and its tensors: it has a part that cannot be guessed. */
    void (*ready)(const char *address, void *user);
    void *user;
} pgy_page_serve_options;

/** Serves the page on 127.0.0.1, with the values of weights and of saved outputs, until pgy_cancel.
 * Files are read when a browser asks for values. @param options  NULL: defaults
 * @return PGY_E_CANCELLED; PGY_E_IO if the port is in use */
PGY_API PGY_MUST_CHECK pgy_status pgy_page_serve(pgy_page *p, const pgy_page_serve_options *options,
                                                 pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
