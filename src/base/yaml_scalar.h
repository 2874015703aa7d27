/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include "base/json.h"

/* Sets the type and value of a plain scalar from its text (v->raw, terminated in `text`). */
void yaml_resolve(json_value *v, const char *text);

#endif
