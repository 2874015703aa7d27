/* SPDX-License-Identifier: Apache-2.0 */
/* The part of YAML that plugin configurations are written in: documents of block mappings and
 * sequences, plain and quoted scalars, [] and {}, anchors. Tags (but that of tuples), block
 * scalars, directives and complex keys are refused. A document becomes the same kind of tree as
 * JSON does. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

/* *out is a list of the documents (empty ones are null). Text need not live on. @return
 * PGY_E_FORMAT with line and column */
pgy_status yaml_parse(json_value **out, const char *text, size_t size_bytes, arena *a,
                      pgy_error *err) PGY_MUST_CHECK;
/* A text as PyYAML writes it: plain if it cannot be taken for something else, else in quotes. */
void yaml_append_text(str *out, const char *text);
void yaml_append_real(str *out, double v);

#endif
