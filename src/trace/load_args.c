/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of traces take from JSON: exact times, and args as text. */
#include "trace/load_args.h"

#include <math.h>
#include <string.h>

#include "base/printable.h"

enum { SHOWN = 40 };

pgy_status trace_wrong(const json_value *item, const char *member, const char *expected,
                       pgy_error *err)
{
    const json_value *v = json_get(item, member);
    str shown = {0};
    if (v && v->raw.size)
        str_append_printable(&shown, v->raw.data, v->raw.size < SHOWN ? v->raw.size : SHOWN, "");
    const pgy_status st =
        pgy_error_set(err, PGY_E_FORMAT, "line %u: '%s' of an event is %s%s%s; expected %s",
                      v ? v->line : item->line, member,
                      !v           ? "missing"
                      : shown.size ? "'"
                                   : "no such value",
                      shown.size ? str_text(&shown) : "", shown.size ? "'" : "", expected);
    str_deinit(&shown);
    return st;
}

/* ---- Times ---------------------------------------------------------------------------------- */

/* Times of other programs may count from 1970: in double they lose a quarter of a microsecond. */
static bool exact_ns(int64_t *out, span digits)
{
    const int most_digits = 15, decimals = 3;
    const bool negative = digits.size && digits.data[0] == '-';
    int64_t value = 0;
    int whole = 0, behind = -1;
    for (size_t i = negative; i < digits.size; i++) {
        const char c = digits.data[i];
        if (c == '.' && behind < 0) {
            behind = 0;
            continue;
        }
        if (c < '0' || c > '9') return false;
        if (behind < 0 && ++whole > most_digits + 1) return false;
        if (behind >= decimals) continue;
        if (behind >= 0) behind++;
        value = value * 10 + (c - '0');
    }
    for (int i = behind < 0 ? 0 : behind; i < decimals; i++) value *= 10;
    *out = negative ? -value : value;
    return true;
}

bool trace_us_to_ns(int64_t *out, const json_value *v)
{
    const double most_us = 2e15;
    if (!v || (v->type != JSON_INT && v->type != JSON_REAL)) return false;
    if (!isfinite(v->real) || fabs(v->real) > most_us) return false;
    if (!exact_ns(out, v->raw)) *out = (int64_t)llround(v->real * 1e3);
    return true;
}

/* ---- Args ----------------------------------------------------------------------------------- */

/* Args that differ from event to event: without them, all executions of a layer share one label. */
static bool is_varying(span key)
{
    static const char *const NAMES[] = {"run",           "gflops_per_s",       "gb_per_s",
                                        "correlation",   "External id",        "external id",
                                        "Ev Idx",        "Record function id", "Sequence number",
                                        "Fwd thread id", "Python id",          "Python parent id"};
    static const char MEMORY[] = "mem_";
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (span_equals(key, NAMES[i])) return true;
    return key.size >= strlen(MEMORY) && !memcmp(key.data, MEMORY, strlen(MEMORY));
}

static void put_key(str *out, span key, arena *memory)
{
    const char *text = arena_strndup(memory, key.data, key.size);
    if (!text) out->failed = true;
    trace_text(out, text ? text : "");
    str_append_char(out, ':');
}

/* The reader limits the depth. */
static void put_value(str *out, const json_value *v, arena *memory)
{
    static const char *const OPEN[] = {[JSON_ARRAY] = "[", [JSON_OBJECT] = "{"};
    static const char *const CLOSE[] = {[JSON_ARRAY] = "]", [JSON_OBJECT] = "}"};
    switch (v->type) {
    case JSON_NULL: str_append(out, "null"); return;
    case JSON_BOOL: str_append(out, v->boolean ? "true" : "false"); return;
    case JSON_INT: str_append_n(out, v->raw.data, v->raw.size); return;
    case JSON_STRING:
    case JSON_REAL: {
        const bool quoted = v->type == JSON_STRING || !isfinite(v->real);
        if (quoted) str_append_char(out, '"');
        str_append_n(out, v->raw.data, v->raw.size);
        if (quoted) str_append_char(out, '"');
        return;
    }
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    str_append(out, OPEN[v->type]);
    for (const json_value *item = v->first; item; item = item->next) {
        if (item != v->first) str_append_char(out, ',');
        if (v->type == JSON_OBJECT) put_key(out, item->key, memory);
        put_value(out, item, memory);
    }
    str_append(out, CLOSE[v->type]);
}

void trace_put_args(str *out, const json_value *args, arena *memory)
{
    bool first = true;
    str_append_char(out, '{');
    for (const json_value *v = args && args->type == JSON_OBJECT ? args->first : NULL; v;
         v = v->next) {
        if (is_varying(v->key)) continue;
        if (!first) str_append_char(out, ',');
        first = false;
        /* ONNX Runtime's name of what everyone calls op. */
        if (span_equals(v->key, "op_name"))
            str_append(out, "\"op\":");
        else
            put_key(out, v->key, memory);
        put_value(out, v, memory);
    }
    str_append_char(out, '}');
}
