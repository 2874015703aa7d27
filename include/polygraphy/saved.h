/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files of saved inputs, outputs and accuracy results: finds out what a file holds, shows it as
 * text, and joins several files.
 *
 *     pgy_saved_kind kind;
 *     char *text = NULL;
 *     if (pgy_saved_kind_of(&kind, "outputs.json", &err)) ...
 *     if (pgy_saved_text(&text, "outputs.json", NULL, &err)) ...
 *     if (pgy_saved_concat("all.json", paths, 2, &err)) ...
 *
 * To load the data, use pgy_feeds_load (data.h), pgy_results_load and pgy_accuracy_results_load
 * (compare.h).
 */
#ifndef POLYGRAPHY_SAVED_H
#define POLYGRAPHY_SAVED_H

#include <polygraphy/compare.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pgy_saved_kind {
    PGY_SAVED_INPUTS,
    PGY_SAVED_RESULTS, /**< outputs of runners */
    PGY_SAVED_ACCURACY /**< verdicts of comparisons */
} pgy_saved_kind;

/** Finds out what a file holds; for a folder, its first file decides. Formats other than JSON hold
 * inputs.
 * @return PGY_E_NOT_FOUND for a folder without such a file; PGY_E_FORMAT for damaged JSON */
PGY_API PGY_MUST_CHECK pgy_status pgy_saved_kind_of(pgy_saved_kind *out, const char *path,
                                                    pgy_error *err);

typedef struct pgy_saved_text_options {
    size_t size;        /**< sizeof(pgy_saved_text_options) */
    bool all;           /**< show every iteration, not only the first */
    bool values;        /**< show the values of arrays, too */
    bool histogram;     /**< show histograms of arrays, too */
    int64_t edge_items; /**< values shown at each end of a dimension; negative: all */
    int64_t line_width; /**< width of lines of values; negative: lines end where rows end */
} pgy_saved_text_options;
PGY_API pgy_saved_text_options pgy_saved_text_options_default(void); /**< 3 items, 75 columns */

/** Describes a file of arrays (names, types, shapes, statistics) or of verdicts. Only the arrays of
 * one iteration are in memory at a time. Free with pgy_text_free.
 * @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_saved_text(char **out, const char *path,
                                                 const pgy_saved_text_options *options,
                                                 pgy_error *err);

/** Writes the iterations of all files, one after the other. All files hold inputs, or all hold
 * outputs; outputs are joined by the names of their runners.
 * @return PGY_E_ARGUMENT for files of both kinds; PGY_E_FORMAT for accuracy results */
PGY_API PGY_MUST_CHECK pgy_status pgy_saved_concat(const char *path, const char *const *paths,
                                                   size_t count, pgy_error *err);
/** Writes one file of inputs: its iteration i has all tensors, inputs and outputs alike, that the
 * files have in their iteration i. If several files have a tensor, the last file wins, with a
 * warning. @param advice text of the warning that says how to join iterations instead; NULL: it
 * names pgy_saved_concat. @return PGY_E_FORMAT for accuracy results */
PGY_API PGY_MUST_CHECK pgy_status pgy_saved_merge(const char *path, const char *const *paths,
                                                  size_t count, const char *advice, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
