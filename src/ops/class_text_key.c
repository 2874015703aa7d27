/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are written in hexadecimal. In texts zero bytes are escaped, and the length precedes
 * them, so that keys can be concatenated. */
#include "ops/class_text_key.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void text_key_string(str *key, const char *text, size_t size)
{
    str_printf(key, "%zx:", size);
    for (size_t i = 0; i < size; i++) {
        const bool special = text[i] == '\0' || text[i] == '\1';
        if (special) str_append_char(key, '\1');
        str_append_char(key, special ? (char)('0' + text[i]) : text[i]);
    }
}

void text_key_int(str *key, int64_t value)
{
    str_printf(key, "%" PRIx64 ",", (uint64_t)value);
}

void text_key_float(str *key, double value)
{
    uint64_t bits;
    if (isnan(value)) value = (double)NAN;
    if (value == 0) value = 0.0;
    memcpy(&bits, &value, sizeof bits);
    str_printf(key, "%" PRIx64 ";", bits);
}

void text_key_element(str *key, pgy_dtype storage, const void *data, size_t i)
{
    const pgy_string *texts = data;
    if (storage == PGY_STRING)
        text_key_string(key, texts[i].data, texts[i].size);
    else if (storage == PGY_I64)
        text_key_int(key, ((const int64_t *)data)[i]);
    else
        text_key_float(key, ((const double *)data)[i]);
}
