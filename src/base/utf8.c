/* SPDX-License-Identifier: Apache-2.0 */
/* One UTF-8 character at a time, by RFC 3629: shortest forms only, no surrogates, nothing
 * above U+10FFFF. */
#include "base/utf8.h"

size_t utf8_read(const char *p, const char *end, uint32_t *c)
{
    static const uint32_t SMALLEST[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)p;
    if (s[0] < 0x80) {
        *c = s[0];
        return 1;
    }
    const size_t more = s[0] >= 0xF8   ? 0
                        : s[0] >= 0xF0 ? 3
                        : s[0] >= 0xE0 ? 2
                        : s[0] >= 0xC0 ? 1
                                       : 0;
    if (!more || (size_t)(end - p) <= more) return 0;
    uint32_t v = s[0] & (0x3Fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        v = v << 6 | (s[i] & 0x3F);
    }
    if (v < SMALLEST[more] || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) return 0;
    *c = v;
    return more + 1;
}

size_t utf8_write(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint32_t LEADS[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(LEADS[more] | c >> (6 * more));
    for (size_t i = 1; i <= more; i++) out[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3F));
    return more + 1;
}
