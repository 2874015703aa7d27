/* SPDX-License-Identifier: Apache-2.0 */
/* Which passes run, and how many rewrites each may make. */
#ifndef ENGINE_PASSES_LIMITS_H
#define ENGINE_PASSES_LIMITS_H

#include "engine/passes/pass.h"

enum { MAX_PASSES = 64 };

typedef struct pass_limits {
    size_t most[MAX_PASSES]; /* rewrites of each pass; 0: it does not run, SIZE_MAX: no limit */
} pass_limits;

/* Reads the text of pgy_build_config.passes. *out is set on failure, too: the words before the one
 * that the error names count. */
pgy_status pass_limits_read(pass_limits *out, const char *text, pgy_error *err) PGY_MUST_CHECK;

#endif
