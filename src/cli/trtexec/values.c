/* SPDX-License-Identifier: Apache-2.0 */
/* The values of trtexec's options. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trtexec/options.h"

pgy_status trtexec_real(double *out, const char *text, const char *option, double least,
                        pgy_error *err)
{
    char *end = NULL;
    const double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || v < least)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not a number of at least %g", option,
                             text, least);
    *out = v;
    return PGY_OK;
}

/* The end of an item: a comma outside quotes. */
static size_t item_size(const char *text)
{
    bool quoted = false;
    size_t i = 0;
    for (; text[i] && (quoted || text[i] != ','); i++) quoted ^= text[i] == '\'';
    return i;
}

static pgy_status read_pair(trtexec_pair *out, const char *item, size_t size, const char *option,
                            arena *a, pgy_error *err)
{
    size_t colon = size;
    while (colon > 0 && item[colon - 1] != ':') colon--;
    size_t begin = 0, end = colon ? colon - 1 : 0;
    if (end >= 2 && item[0] == '\'' && item[end - 1] == '\'') begin++, end--;
    if (end <= begin)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%.*s' is not of the form NAME:VALUE",
                             option, (int)size, item);
    out->name = arena_strndup(a, item + begin, end - begin);
    out->value = arena_strndup(a, item + colon, size - colon);
    if (!out->name || !out->value) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    return PGY_OK;
}

pgy_status trtexec_pairs(trtexec_pair **out, size_t *count, const char *text, const char *option,
                         arena *a, pgy_error *err)
{
    trtexec_pair *pairs = arena_alloc_array(a, strlen(text) + 1, sizeof *pairs);
    *count = 0;
    if (!pairs) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const char *at = text;;) {
        const size_t size = item_size(at);
        const pgy_status st = read_pair(&pairs[*count], at, size, option, a, err);
        if (st) return st;
        ++*count;
        if (!at[size]) break;
        at += size + 1;
    }
    *out = pairs;
    return PGY_OK;
}

pgy_status trtexec_dims(int64_t **out, size_t *rank, const char *text, const char *option, arena *a,
                        pgy_error *err)
{
    int64_t *dims = arena_alloc_array(a, PGY_MAX_RANK, sizeof *dims);
    *rank = 0;
    if (!dims) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = dims;
    if (!*text || !strcmp(text, "scalar")) return PGY_OK;
    for (const char *at = text;;) {
        char *end = NULL;
        errno = 0;
        const long long v = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (v < 0 || errno || (*end && *end != 'x') || *rank == PGY_MAX_RANK)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "%s: '%s' is not a shape; expected dimensions as in 1x3x224x224",
                                 option, text);
        dims[(*rank)++] = v;
        if (!*end) return PGY_OK;
        at = end + 1;
    }
}

pgy_status trtexec_bytes(uint64_t *out, const char *text, const char *option, double unit,
                         pgy_error *err)
{
    static const char SUFFIXES[] = "BKMG";
    char *end = NULL;
    const double v = strtod(text, &end);
    const char *suffix = end != text && *end && !end[1] ? strchr(SUFFIXES, *end) : NULL;
    if (suffix) unit = ldexp(1, 10 * (int)(suffix - SUFFIXES));
    if (end == text || (*end && !suffix) || !(v >= 0) || v * unit >= ldexp(1, 63))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s: '%s' is not a size; expected a number with B, K, M, G or nothing",
                             option, text);
    *out = (uint64_t)(v * unit);
    return PGY_OK;
}

pgy_status trtexec_path(const char **out, const char *path, arena *a, pgy_error *err)
{
    const char *home = getenv("HOME");
    *out = path;
    if (path[0] != '~' || (path[1] && path[1] != '/') || !home) return PGY_OK;
    str text = {0};
    str_printf(&text, "%s%s", home, path + 1);
    *out = text.failed ? NULL : arena_strdup(a, str_text(&text));
    str_deinit(&text);
    return *out ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}
