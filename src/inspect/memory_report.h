/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the text and JSON reports of memory. */
#ifndef INSPECT_MEMORY_REPORT_H
#define INSPECT_MEMORY_REPORT_H

#include <polygraphy/memory.h>

/* The caller's options (NULL: the defaults) with all texts set. */
pgy_status memory_report_options(pgy_memory_report_options *out,
                                 const pgy_memory_report_options *given,
                                 pgy_error *err) PGY_MUST_CHECK;

#endif
