/* SPDX-License-Identifier: Apache-2.0 */
/* The table of built-in backends. A new backend needs a folder with a const pgy_backend, and a line
 * in backends.def. */
#include "runner/registry.h"

#define BACKEND(name) extern const pgy_backend BACKEND_##name;
#include "backends/backends.def"
#undef BACKEND

static const pgy_backend *const BUILTIN[] = {
#define BACKEND(name) &BACKEND_##name,
#include "backends/backends.def"
#undef BACKEND
};

size_t backends_builtin(const pgy_backend *const **out)
{
    *out = BUILTIN;
    return sizeof BUILTIN / sizeof *BUILTIN;
}
