/* SPDX-License-Identifier: Apache-2.0 */
/* A page's Content-Security-Policy: the second wall, if a text of a model were ever taken for
 * markup. Script and style are allowed by their hashes only. */
#include "base/base64.h"
#include "base/sha256.h"
#include "viewer/html_parts.h"

static void put_hash(str *out, const str *text)
{
    uint8_t hash[SHA256_SIZE];
    char code[(SHA256_SIZE + 2) / 3 * 4];
    sha256(hash, str_text(text), text->size);
    base64_encode(code, hash, sizeof hash);
    str_append(out, " 'sha256-");
    str_append_n(out, code, sizeof code);
    str_append_char(out, '\'');
}

void html_policy(str *out, const str *script, const str *style, bool served)
{
    str_append(out, "default-src 'none'; script-src");
    put_hash(out, script);
    str_append(out, "; style-src");
    put_hash(out, style);
    str_printf(out, "; img-src data: blob:; connect-src '%s'; base-uri 'none'; form-action 'none'",
               served ? "self" : "none");
}
