/* SPDX-License-Identifier: Apache-2.0 */
/* What the tensors of a graph take, as text for a screen and as a JSON file. */
#ifndef CLI_MEMORY_TEXT_H
#define CLI_MEMORY_TEXT_H

#include <polygraphy/memory.h>

#include "base/str.h"

/* `all`: every node and every tensor at the peak. */
pgy_status memory_print(str *out, const pgy_memory *m, const char *path, bool all,
                        pgy_error *err) PGY_MUST_CHECK;
pgy_status memory_save_json(const char *path, const pgy_memory *m, const char *model,
                            pgy_error *err) PGY_MUST_CHECK;
/* "12.5 MiB". */
void memory_append_bytes(str *out, uint64_t bytes);

#endif
