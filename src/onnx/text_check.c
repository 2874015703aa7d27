/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it: shortest forms only, no surrogates, nothing above U+10FFFF. Names are
 * nearly always ASCII, so eight bytes are looked at at once before the long way is taken. */
#include "onnx/text_check.h"

#include <stdbool.h>
#include <string.h>

/* Has none of the 8 bytes its high bit set, and is none of them 0? */
static bool plain8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return ((v | (v - 0x0101010101010101u)) & 0x8080808080808080u) == 0;
}

/* Length of the sequence at p, 0 if there is none. */
static size_t sequence(const uint8_t *p, size_t left)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    if (*p < 0x80) return *p ? 1 : 0;
    const size_t n = *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC0 ? 2 : 0;
    if (n == 0 || n > left) return 0;
    uint32_t code = *p & (0x7Fu >> n);
    if (*p >= 0xF8) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (p[i] & 0x3F);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < LEAST[n] || code > 0x10FFFF || surrogate ? 0 : n;
}

const uint8_t *text_find_bad(const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    while (p < end) {
        if (end - p >= 8 && plain8(p)) {
            p += 8;
            continue;
        }
        const size_t n = sequence(p, (size_t)(end - p));
        if (n == 0) return p;
        p += n;
    }
    return NULL;
}
