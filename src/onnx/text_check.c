/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 without NUL. Names are nearly always ASCII, so eight bytes are checked at once before
 * single characters are decoded. */
#include "onnx/text_check.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* True if none of the 8 bytes is 0 or has its high bit set. */
static bool plain8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return ((v | (v - 0x0101010101010101u)) & 0x8080808080808080u) == 0;
}

const uint8_t *text_find_bad(const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    while (p < end) {
        if (end - p >= 8 && plain8(p)) {
            p += 8;
            continue;
        }
        uint32_t code;
        const size_t n = *p ? utf8_read((const char *)p, (const char *)end, &code) : 0;
        if (n == 0) return p;
        p += n;
    }
    return NULL;
}
