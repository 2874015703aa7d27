/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the subtools of `surgeon`, which show the model before and after. */
#ifndef CLI_SURGEON_H
#define CLI_SURGEON_H

#include <polygraphy/graph.h>
#include <polygraphy/gs.h>
#include <polygraphy/onnx.h>
#include <polygraphy/record.h>

#include "cli/command.h"

/* Logs `title` and the summary of the model at INFO. */
pgy_status surgeon_show(const char *title, pgy_model *model, pgy_error *err) PGY_MUST_CHECK;
/* Reads the model that the command line names. */
pgy_status surgeon_read(pgy_model **out, args *line, pgy_error *err) PGY_MUST_CHECK;
/* Reads the model that the command line names, and logs its summary. */
pgy_status surgeon_load(pgy_model **out, args *line, pgy_error *err) PGY_MUST_CHECK;
/* Saves the model to `path` as the options say, then shows it. With `external`, weights go into a
 * file beside it even without an option. */
pgy_status surgeon_save(pgy_model *model, args *line, const char *path, bool external,
                        pgy_error *err) PGY_MUST_CHECK;
/* Calls pgy_record with the data that this line describes. Generated data have `shapes` (may be
 * NULL). */
pgy_status surgeon_record(pgy_tensor_map **out, pgy_model *model, pgy_record_options options,
                          const pgy_metadata *shapes, const args *line,
                          pgy_error *err) PGY_MUST_CHECK;
/* For pgy_record_options: logs the types and shapes of the data that a run gets. */
void surgeon_show_feed(const pgy_tensor_map *feed, void *user);
/* Overrides the shapes of inputs, and logs all inputs. A tensor that is not an input becomes one.
 */
pgy_status surgeon_override_shapes(pgy_graph *graph, const pgy_metadata *shapes,
                                   pgy_error *err) PGY_MUST_CHECK;
/* Is the tensor one of the list? */
bool surgeon_is_in(pgy_gs_tensor *const *list, size_t count, const pgy_gs_tensor *t);

#endif
