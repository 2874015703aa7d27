/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration caches in TensorRT's text format, so that TensorRT and this engine can use each
 * other's caches. Names of tensors may contain blanks and colons: the scale follows the last ": ".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "engine/precision/calibrate.h"

static const char LOG_PATH[] = "engine/precision/calibration_cache.c";
static const char ORIGINAL_PATH[] = "backend/trt/calibrator.py";

/* TensorRT release (10.13.0) in the header that is written: our calibrators imitate those of this
 * release. */
static const char VERSION[] = "101300";

static const char *const NAMES[] = {
    [PGY_CALIBRATOR_ENTROPY_2] = "EntropyCalibration2",
    [PGY_CALIBRATOR_ENTROPY] = "EntropyCalibration",
    [PGY_CALIBRATOR_MIN_MAX] = "MinMaxCalibration",
    [PGY_CALIBRATOR_LEGACY] = "LegacyCalibration",
    [PGY_CALIBRATOR_LEAST_ERROR] = "LeastErrorCalibration",
};
/* Marks zero points of tensors. TensorRT does not support them and refuses such a cache. */
static const char ASYMMETRIC[] = "Asymmetric", ZERO[] = " (zero point)";
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };

const char *calibrator_name(pgy_calibrator kind)
{
    return NAMES[kind];
}

/* ---- Scales --------------------------------------------------------------------------------- */

void scales_deinit(scale_table *t)
{
    strmap_deinit(&t->entries);
    arena_deinit(&t->memory);
}

bool scales_set(scale_table *t, const char *name, float scale)
{
    float *kept = strmap_get(&t->entries, name);
    if (!kept) {
        kept = arena_alloc(&t->memory, sizeof *kept);
        if (!kept || !strmap_put(&t->entries, name, kept)) return false;
    }
    *kept = scale;
    return true;
}

const float *scales_find(const scale_table *t, const char *name)
{
    return strmap_get(&t->entries, name);
}

bool scales_set_zero(scale_table *t, const char *name, int32_t zero)
{
    str key = {0};
    str_printf(&key, "%s%s", name, ZERO);
    const char *kept = key.failed ? NULL : arena_strdup(&t->memory, str_text(&key));
    str_deinit(&key);
    return kept && scales_set(t, kept, (float)(zero + 128));
}

int32_t scales_find_zero(const scale_table *t, const char *name)
{
    str key = {0};
    str_printf(&key, "%s%s", name, ZERO);
    const float *zero = key.failed ? NULL : scales_find(t, str_text(&key));
    str_deinit(&key);
    return zero && *zero <= 255 ? (int32_t)*zero - 128 : 0;
}

bool scales_have_zeros(const scale_table *t)
{
    for (size_t i = 0; i < t->entries.count; i++)
        if (str_ends_with(t->entries.entries[i].key, ZERO)) return true;
    return false;
}

/* ---- Reading -------------------------------------------------------------------------------- */

typedef struct place {
    const char *path;
    size_t line;
} place;

static pgy_status wrong(const place *at, pgy_error *err, const char *what, span text)
{
    const size_t shown = text.size < 80 ? text.size : 80;
    char line[81]; /* the file may be anything, so unprintable bytes are replaced */
    for (size_t i = 0; i < shown; i++)
        line[i] = text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?';
    line[shown] = '\0';
    return pgy_error_set(err, PGY_E_FORMAT, "calibration cache '%s', line %zu: %s: '%s'%s",
                         at->path, at->line, what, line, shown < text.size ? "..." : "");
}

static bool is_digits(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && text[i] >= '0' && text[i] <= '9') i++;
    return size > 0 && i == size;
}

static pgy_status read_header(pgy_calibrator *kind, span line, const place *at, pgy_error *err)
{
    const char *dash = line.size > 4 ? memchr(line.data + 4, '-', line.size - 4) : NULL;
    if (!dash || memcmp(line.data, "TRT-", 4) ||
        !is_digits(line.data + 4, (size_t)(dash - line.data) - 4) ||
        dash + 1 == line.data + line.size)
        return wrong(at, err, "expected a header such as 'TRT-8601-EntropyCalibration2', found",
                     line);
    span name = {dash + 1, (size_t)(line.data + line.size - dash) - 1};
    const size_t prefix = sizeof ASYMMETRIC - 1;
    if (name.size > prefix && memcmp(name.data, ASYMMETRIC, prefix) == 0)
        name = (span){name.data + prefix, name.size - prefix};
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (!span_equals(name, NAMES[i])) continue;
        *kind = (pgy_calibrator)i;
        return PGY_OK;
    }
    LOG(WARNING,
        "Calibration cache '%s': calibrator '%.*s' is unknown; the engine uses its scales anyway",
        at->path, (int)(name.size < 80 ? name.size : 80), name.data);
    return PGY_OK;
}

static bool read_hex(uint32_t *out, const char *text)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 8; i++) {
        const char c = text[i];
        const uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                               : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                      : 16;
        if (digit == 16) return false;
        bits = bits << 4 | digit;
    }
    *out = bits;
    return true;
}

static pgy_status read_entry(scale_table *out, span line, const place *at, pgy_error *err)
{
    char name[4096];
    uint32_t bits = 0;
    float scale;
    /* name, ": ", 8 digits */
    if (line.size < 11 || memcmp(line.data + line.size - 10, ": ", 2) ||
        !read_hex(&bits, line.data + line.size - 8))
        return wrong(at, err, "expected 'TENSOR: 8 hex digits', found", line);
    const size_t size = line.size - 10;
    if (size >= sizeof name || memchr(line.data, 0, size))
        return wrong(at, err, "the tensor name is too long or has a zero byte", line);
    memcpy(name, line.data, size);
    name[size] = 0;
    memcpy(&scale, &bits, sizeof scale);
    if (!isfinite(scale) || scale < 0)
        return wrong(at, err, "the scale is negative or not finite", line);
    return scales_set(out, name, scale) ? PGY_OK
                                        : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status calibration_cache_parse(scale_table *out, pgy_calibrator *kind, const char *text,
                                   size_t size, const char *path, pgy_error *err)
{
    place at = {path, 0};
    pgy_status st = PGY_OK;
    for (size_t from = 0; !st && from < size;) {
        const char *end = memchr(text + from, '\n', size - from);
        span line = {text + from, end ? (size_t)(end - text) - from : size - from};
        from += line.size + 1;
        at.line++;
        if (line.size && line.data[line.size - 1] == '\r') line.size--;
        if (at.line == 1)
            st = read_header(kind, line, &at, err);
        else if (line.size)
            st = read_entry(out, line, &at, err);
    }
    return st;
}

pgy_status calibration_cache_load(scale_table *out, pgy_calibrator *kind, bool *found,
                                  const char *path, pgy_error *err)
{
    str text = {0};
    *found = false;
    if (!file_exists(path)) return PGY_OK;
    pgy_status st = file_read(&text, path, err);
    if (!st && text.size) {
        LOG_ORIGINAL(INFO, "Loading calibration cache from %s", path);
        st = calibration_cache_parse(out, kind, text.data, text.size, path, err);
        *found = !st && out->entries.count;
    }
    str_deinit(&text);
    return st;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* TensorRT reads a cache only with the calibrator that its header names. Polygraphy uses entropy 2
 * by default, so a cache made without naming a calibrator gets entropy 2. */
static const char *header_name(const pgy_calibration *c)
{
    return NAMES[c->kind == PGY_CALIBRATOR_LEAST_ERROR && !c->asymmetric ? PGY_CALIBRATOR_ENTROPY_2
                                                                         : c->kind];
}

pgy_status calibration_cache_save(const char *path, const scale_table *scales,
                                  const pgy_calibration *c, pgy_error *err)
{
    str text = {0};
    str_printf(&text, "TRT-%s-%s%s\n", VERSION, c->asymmetric ? ASYMMETRIC : "", header_name(c));
    for (size_t i = 0; i < scales->entries.count; i++) {
        const strmap_entry *e = &scales->entries.entries[i];
        uint32_t bits;
        memcpy(&bits, e->value, sizeof bits);
        if (strchr(e->key, '\n')) continue; /* the name would break the line format */
        str_printf(&text, "%s: %08x\n", e->key, (unsigned)bits);
    }
    LOG_ORIGINAL(INFO, "Saving calibration cache to %s", path);
    const pgy_status st = text.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                      : file_write_all(path, text.data, text.size, err);
    str_deinit(&text);
    return st;
}
