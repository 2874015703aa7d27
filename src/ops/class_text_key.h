/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tensor elements as keys of a strmap, whose keys must contain no zero byte. Two texts are
 * equal if and only if the elements are. */
#ifndef OPS_CLASS_TEXT_KEY_H
#define OPS_CLASS_TEXT_KEY_H

#include "ops/op.h"

void text_key_string(str *key, const char *text, size_t size);
void text_key_int(str *key, int64_t value);
void text_key_float(str *key, double value); /* all NaNs give one key, and so do both zeros */
/* Element i of data in storage type (text, i64 or f64). */
void text_key_element(str *key, pgy_dtype storage, const void *data, size_t i);

#endif
