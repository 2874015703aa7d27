/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptions of models and plans share. */
#ifndef INSPECT_DESCRIBE_H
#define INSPECT_DESCRIBE_H

#include <polygraphy/describe.h>

/* The caller's options, which may be those of an older version or NULL. */
pgy_describe_options describe_options(const pgy_describe_options *given);

#endif
