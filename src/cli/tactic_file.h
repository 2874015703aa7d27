/* SPDX-License-Identifier: Apache-2.0 */
/* Tactic replay files as text: which algorithm does which layer. */
#ifndef CLI_TACTIC_FILE_H
#define CLI_TACTIC_FILE_H

#include <polygraphy/base.h>

#include "base/arena.h"

typedef struct tactic_layer {
    const char *name;
    const char *algorithm; /* "(Implementation: 1, Tactic: 2) | Inputs: (...) | Outputs: (...)" */
} tactic_layer;

typedef struct tactic_file {
    tactic_layer *layers; /* in the file's order */
    size_t count;
    arena memory; /* of all of it */
} tactic_file;

/* Of the original or of ours. PGY_E_FORMAT: it is no tactic replay. */
pgy_status tactic_file_load(tactic_file *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void tactic_file_deinit(tactic_file *f);

#endif
