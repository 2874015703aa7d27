/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C: the first one asks the run to stop after the current inference; the second one ends the
 * program at once (temporaries are removed in both cases). */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_install(void);
bool interrupt_requested(void);

#endif
