/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting and local functions: inlines the calls on the way to the selection; names in their bodies
 * become paths: "<call>/<name>". */
#ifndef GS_CUT_CALLS_H
#define GS_CUT_CALLS_H

#include <polygraphy/cut.h>

#include "base/arena.h"

/* *out is the model itself, retained, or a copy with inlined calls. The names in `selection` become
 * those in *out; their texts are in the arena. *inside: only nodes whose names begin with it are
 * selected; NULL: any. */
pgy_status cut_enter_calls(pgy_model **out, pgy_cut_selection *selection, const char **inside,
                           pgy_model *model, arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* ---- names.c --------------------------------------------------------------------------------- */
/* The rest of a path after `name` and a slash; NULL: the path begins otherwise. */
const char *cut_after(const char *path, const char *name);
/* True if the name has "*", "?" or "[". */
bool cut_is_pattern(const char *name);
/* "/encoder/layer.0//Add/" as "encoder.layer.0.Add", in the arena; NULL: out of memory. */
char *cut_normalise(arena *a, const char *name);
/* True if the name (not normalised) is that of the module (normalised) or of something in it. */
bool cut_is_under(const char *name, const char *module);
/* The metadata key under which PyTorch stores the modules of a node. */
#define CUT_SCOPES "pkg.torch.onnx.name_scopes"
/* True if PyTorch's metadata of the node list the module. */
bool cut_has_scope(const pgy_onnx_node *n, const char *module);

#endif
