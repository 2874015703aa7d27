/* SPDX-License-Identifier: Apache-2.0 */
/* Saves parts of one model under one path, one after the other, as a search does. A part shares
 * most weights with the part before it. The rewriter writes the weights first, in an order that
 * leaves shared ones at their place in the file, so that only the rest must be written. */
#ifndef ONNX_REWRITER_H
#define ONNX_REWRITER_H

#include <polygraphy/onnx.h>

typedef struct model_rewriter model_rewriter;
/* `whole` is the model that all parts are made from; it is retained. Parts of fewer than
 * `min_bytes` are not worth the trouble. */
pgy_status model_rewriter_create(model_rewriter **out, pgy_model *whole, const char *path,
                                 uint64_t min_bytes, pgy_error *err) PGY_MUST_CHECK;
/* The file stays where it is if it has its path. */
void model_rewriter_destroy(model_rewriter *w);
/* Saves a part in one file. *saved false: it cannot be saved so; use pgy_model_save. */
pgy_status model_rewriter_save(bool *saved, model_rewriter *w, pgy_model *part,
                               pgy_error *err) PGY_MUST_CHECK;
/* Removes the file from its path. False: the path does not name the file that was saved last. */
bool model_rewriter_hide(model_rewriter *w);
/* Bytes that the last save had to write. */
uint64_t model_rewriter_written(const model_rewriter *w);

#endif
