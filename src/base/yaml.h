/* SPDX-License-Identifier: Apache-2.0 */
/* A subset of YAML 1.1: documents of block mappings and sequences, plain and quoted scalars, [] and
 * {}, anchors. Tags (except that of tuples), block scalars, directives and complex keys are
 * refused. A document becomes a JSON tree. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

/* *out is an array with one item for each document; an empty document is null. `text` may be freed
 * afterwards. @return PGY_E_FORMAT with line and column */
pgy_status yaml_parse(json_value **out, const char *text, size_t size_bytes, arena *a,
                      pgy_error *err) PGY_MUST_CHECK;
/* Writes a text as PyYAML does: plain if every reader takes it for a text, else in quotes. */
void yaml_append_text(str *out, const char *text);
void yaml_append_real(str *out, double v);

#endif
