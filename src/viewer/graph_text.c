/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a model on their way to the page. Control characters and marks of direction stay: JSON
 * escapes the former, and the page shows both. */
#include "viewer/graph_text.h"

#include <string.h>

#include "base/utf8.h"
#include "onnx/text_check.h"

bool graph_text_is_valid(const char *text)
{
    return !text_find_bad((const uint8_t *)text, strlen(text));
}

void graph_append_valid(str *out, const char *text, size_t size)
{
    if (!size) return; /* text may be NULL */
    const char *end = text + size;
    for (const char *p = text; p < end;) {
        uint32_t c;
        const size_t count = *p ? utf8_read(p, end, &c) : 0;
        str_append_n(out, count ? p : "\xEF\xBF\xBD", count ? count : 3);
        p += count ? count : 1;
    }
}
