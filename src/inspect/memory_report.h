/* SPDX-License-Identifier: Apache-2.0 */
/* What the two forms of a report of memory share. */
#ifndef INSPECT_MEMORY_REPORT_H
#define INSPECT_MEMORY_REPORT_H

#include <polygraphy/memory.h>

/* The caller's options, which may be those of an older version or NULL, with all texts set. */
pgy_memory_report_options memory_report_options(const pgy_memory_report_options *given);

#endif
