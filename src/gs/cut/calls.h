/* SPDX-License-Identifier: Apache-2.0 */
/* What cutting does with calls of local functions: those on the way to what is selected are
 * replaced by bodies, in which the names are paths: "<call>/<name>". */
#ifndef GS_CUT_CALLS_H
#define GS_CUT_CALLS_H

#include <polygraphy/cut.h>

#include "base/arena.h"

/* *out is the model itself, retained, or one with bodies in place of calls. The names of
 * `selection` become those that hold there; texts are of the arena. *inside: only nodes whose names
 * begin so are meant; NULL: all. */
pgy_status cut_enter_calls(pgy_model **out, pgy_cut_selection *selection, const char **inside,
                           pgy_model *model, arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* ---- names.c --------------------------------------------------------------------------------- */
/* What follows `name` and a slash in a path; NULL: it does not begin so. */
const char *cut_after(const char *path, const char *name);
/* "*", "?" or "[" in it. */
bool cut_is_pattern(const char *name);
/* "/encoder/layer.0//Add/" as "encoder.layer.0.Add", of the arena; NULL: out of memory. */
char *cut_normalise(arena *a, const char *name);
/* Is the module (normalised) or something in it of this name (not normalised)? */
bool cut_is_under(const char *name, const char *module);
/* Where PyTorch notes the modules that a node comes from. */
#define CUT_SCOPES "pkg.torch.onnx.name_scopes"
/* Does what PyTorch notes of a node have the module among its scopes? */
bool cut_has_scope(const pgy_onnx_node *n, const char *module);

#endif
