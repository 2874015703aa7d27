/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a selection name nodes in bodies of local functions: inlines the calls that lead to them. A
 * name in a body becomes "<call>/<name>". */
#ifndef GS_CUT_CALLS_H
#define GS_CUT_CALLS_H

#include <polygraphy/cut.h>

#include "base/arena.h"

/* *out: the model itself, retained, or a copy with inlined calls. Names in `selection` are replaced
 * by those in *out, allocated in `memory`. *inside: only nodes whose names begin with it are
 * selected; NULL: any. */
pgy_status cut_enter_calls(pgy_model **out, pgy_cut_selection *selection, const char **inside,
                           pgy_model *model, arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* ---- names.c --------------------------------------------------------------------------------- */
/* The rest of a path after "<name>/"; NULL: the path does not begin so. */
const char *cut_after(const char *path, const char *name);
/* True if the name has "*", "?" or "[". */
bool cut_is_pattern(const char *name);
/* Normalises a name: "/encoder/layer.0//Add/" becomes "encoder.layer.0.Add". Allocated in `a`;
 * NULL: out of memory. */
char *cut_normalise(arena *a, const char *name);
/* True if `name` (not normalised) is `module` (normalised) or is inside it, as "encoder/Add" is in
 * "encoder". */
bool cut_is_under(const char *name, const char *module);
/* The metadata key under which PyTorch stores the modules of a node. */
#define CUT_SCOPES "pkg.torch.onnx.name_scopes"
/* True if the node's PyTorch metadata (CUT_SCOPES) lists the module. */
bool cut_has_scope(const pgy_onnx_node *n, const char *module);

#endif
