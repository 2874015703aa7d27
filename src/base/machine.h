/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine is. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stddef.h>

/* The name of the processor; "unknown" if the system does not tell. */
void machine_processor(char *out, size_t size);

#endif
