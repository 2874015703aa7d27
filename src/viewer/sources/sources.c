/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all sources. */
#include "viewer/sources/source.h"

#include <stddef.h>

#define SOURCE(name) extern const view_source view_source_##name;
#include "viewer/sources/sources.def"
#undef SOURCE

const view_source *const VIEW_SOURCES[] = {
#define SOURCE(name) &view_source_##name,
#include "viewer/sources/sources.def"
#undef SOURCE
    NULL};
