/* SPDX-License-Identifier: Apache-2.0 */
/* Loads operators from shared objects: each definition is checked and becomes a row of the
 * registry. An object's operators are added all or none. */
#include <string.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "base/file.h"
#include "base/sized.h"
#include "ops/plugin.h"
#include "ops/signature.h"

static const op_attr_kind KINDS[] = {
    [PGY_OPERATOR_FLOAT] = OP_ATTR_FLOAT, [PGY_OPERATOR_INT] = OP_ATTR_INT,
    [PGY_OPERATOR_TEXT] = OP_ATTR_STRING, [PGY_OPERATOR_FLOATS] = OP_ATTR_FLOATS,
    [PGY_OPERATOR_INTS] = OP_ATTR_INTS,
};
enum {
    KIND_COUNT = sizeof KINDS / sizeof *KINDS,
    MAX_DEFINITIONS = 256,
    MAX_ATTRIBUTES = 64,
    MAX_TACTICS = 32,
    MAX_TACTIC_NAME = 63
};

static const char *tactics_defect(const pgy_operator_tactic *const *tactics)
{
    for (size_t i = 0; tactics && tactics[i]; i++) {
        const pgy_operator_tactic *t = tactics[i];
        if (i == MAX_TACTICS) return "it has too many tactics";
        if (!t->name || !*t->name || strlen(t->name) > MAX_TACTIC_NAME || strpbrk(t->name, " :/"))
            return "a tactic has no name, or a name that is too long or has a blank, ':' or '/'";
        if (t->version < 1 || t->version > UINT16_MAX)
            return "a tactic's version is not 1 to 65535";
        if (!t->accept || !t->run) return "a callback of a tactic is missing";
        for (size_t k = 0; k < i; k++)
            if (!strcmp(t->name, tactics[k]->name)) return "two tactics have the same name";
    }
    return NULL;
}

/* The first defect of a definition, or NULL. */
static const char *defect(const pgy_operator_definition *d)
{
    if (!d->name || !*d->name || !d->domain || !*d->domain) return "it lacks a name or a domain";
    if (d->since < 1 || d->since > INT32_MAX) return "its version is not positive";
    if (!d->infer || (!d->compute && (!d->tactics || !*d->tactics))) return "a callback is missing";
    if (tactics_defect(d->tactics)) return tactics_defect(d->tactics);
    if (d->min_inputs > d->max_inputs || d->min_outputs > d->max_outputs || d->min_inputs > 255 ||
        d->min_outputs > 255)
        return "its numbers of inputs or outputs are invalid: the least is above the largest, or "
               "above 255";
    if ((d->max_inputs != SIZE_MAX && d->max_inputs > 255) ||
        (d->max_outputs != SIZE_MAX && d->max_outputs > 255))
        return "it has more than 255 inputs or outputs";
    const op_def *known = op_find(d->domain, d->name, d->since);
    if (known && (known->since == d->since || known->infer != plugin_infer))
        return "another operator already has this name";
    return NULL;
}

static size_t count_attributes(const pgy_operator_attribute *a)
{
    size_t count = 0;
    while (a && count < MAX_ATTRIBUTES && a[count].name) count++;
    return count;
}

static pgy_status make_attributes(const op_attr_def **out, const pgy_operator_definition *d,
                                  arena *memory, pgy_error *err)
{
    const size_t count = count_attributes(d->attributes);
    op_attr_def *attrs = arena_alloc_array(memory, count + 1, sizeof *attrs);
    if (!attrs) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const pgy_operator_attribute *a = &d->attributes[i];
        if ((size_t)a->kind >= KIND_COUNT || !KINDS[a->kind])
            return pgy_error_set(err, PGY_E_BACKEND, "attribute '%s' has the unknown kind %d",
                                 a->name, (int)a->kind);
        attrs[i] = (op_attr_def){a->name, KINDS[a->kind], a->required, a->fallback};
    }
    *out = attrs;
    return PGY_OK;
}

/* Copies the tactics into structs of this version, whose size may differ. */
static pgy_status take_tactics(pgy_operator_definition *d, arena *memory, pgy_error *err)
{
    const pgy_operator_tactic *const *given = d->tactics;
    size_t count = 0;
    while (given && given[count] && count <= MAX_TACTICS) count++;
    pgy_operator_tactic *tactics = arena_alloc_array(memory, count + 1, sizeof *tactics);
    const pgy_operator_tactic **list = arena_alloc_array(memory, count + 1, sizeof *list);
    if (!tactics || !list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        st = SIZED_TAKE(pgy_operator_tactic, &tactics[i], given[i], err);
        list[i] = &tactics[i];
    }
    d->tactics = given ? list : NULL;
    return st;
}

static pgy_status take(pgy_operator_definition **out, const pgy_operator_definition *given,
                       arena *memory, pgy_error *err)
{
    pgy_operator_definition *d = arena_alloc(memory, sizeof *d);
    if (!d) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = SIZED_TAKE(pgy_operator_definition, d, given, err);
    if (!st && d->abi != PGY_OPERATOR_ABI)
        st =
            pgy_error_set(err, PGY_E_BACKEND,
                          "it was built for another version of the operator interface; rebuild it");
    if (!st) st = take_tactics(d, memory, err);
    *out = d;
    return st;
}

static pgy_status make_row(op_def *row, const pgy_operator_definition *given, arena *memory,
                           pgy_error *err)
{
    const op_attr_def *attrs = NULL;
    pgy_operator_definition *d = NULL;
    pgy_status st = take(&d, given, memory, err);
    if (st) return st;
    const char *wrong = defect(d);
    if (wrong) return pgy_error_set(err, PGY_E_BACKEND, "%s", wrong);
    op_signature *parsed = arena_alloc(memory, sizeof *parsed);
    if (!parsed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    st = d->signature ? op_signature_parse(parsed, d->signature, memory, err) : PGY_OK;
    if (!st) st = make_attributes(&attrs, d, memory, err);
    if (st) return st;
    *row = (op_def){
        .name = d->name,
        .domain = d->domain,
        .since = (int)d->since,
        .min_inputs = (uint8_t)d->min_inputs,
        .max_inputs = d->max_inputs > 255 ? 255 : (uint8_t)d->max_inputs,
        .min_outputs = (uint8_t)d->min_outputs,
        .max_outputs = d->max_outputs > 255 ? 255 : (uint8_t)d->max_outputs,
        .flags = (uint8_t)((d->max_inputs == SIZE_MAX ? OP_VARIADIC_INPUTS : 0) |
                           (d->max_outputs == SIZE_MAX ? OP_VARIADIC_OUTPUTS : 0) |
                           (d->random ? OP_RANDOM : 0)),
        .attrs = attrs,
        .types = "",
        .infer = plugin_infer,
        .eval = plugin_eval,
        .user_data = d,
        .signature = d->signature,
        .parsed = d->signature ? parsed : NULL,
    };
    return PGY_OK;
}

static const char *given_name(const pgy_operator_definition *d)
{
    const bool has = d->size >= offsetof(pgy_operator_definition, name) + sizeof d->name;
    return has && d->name ? d->name : "without name";
}

static pgy_status add_all(const pgy_operator_definition *const *list, pgy_error *err)
{
    static arena kept; /* rows live as long as the process */
    size_t count = 0;
    while (count <= MAX_DEFINITIONS && list[count]) count++;
    if (count == 0 || count > MAX_DEFINITIONS)
        return pgy_error_set(err, PGY_E_BACKEND, "the library defines no operator, or more than %d",
                             MAX_DEFINITIONS);
    op_def *rows = arena_alloc_array(&kept, count, sizeof *rows);
    if (!rows) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = make_row(&rows[i], list[i], &kept, err);
        if (st) return pgy_error_prefix(err, st, "operator %s: ", given_name(list[i]));
        for (size_t k = 0; k < i; k++)
            if (!strcmp(rows[k].name, rows[i].name) && !strcmp(rows[k].domain, rows[i].domain) &&
                rows[k].since == rows[i].since)
                return pgy_error_set(err, PGY_E_BACKEND, "operator %s is defined twice",
                                     rows[i].name);
    }
    return op_add_rows(rows, count)
               ? PGY_OK
               : pgy_error_set(err, PGY_E_MEMORY, "there are too many operators of plug-ins");
}

pgy_status pgy_operators_load(const char *path, pgy_error *err)
{
    void *handle = NULL;
    union {
        void *address;
        pgy_operator_entry call;
    } entry = {NULL};
    const dl_symbol symbols[] = {{PGY_OPERATOR_SYMBOL, &entry.address, true}};

    if (!path || !*path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'path' must be the name of an operator library");
    /* A name without a folder means a file in the working directory before one on the library
     * path. */
    char *absolute = file_exists(path) ? path_absolute(path) : NULL;
    const char *const names[] = {absolute ? absolute : path};
    pgy_status st = dl_open(&handle, names, 1, NULL, err);
    mem_free(absolute);
    if (!st) st = dl_resolve(handle, symbols, 1, err);
    if (st) return pgy_error_prefix(err, st, "library of operators '%s': ", path);
    const pgy_operator_definition *const *list = entry.call(plugin_host());
    st = list ? add_all(list, err)
              : pgy_error_set(err, PGY_E_BACKEND,
                              "it does not support this host (its entry function returned NULL)");
    return st ? pgy_error_prefix(err, st, "library of operators '%s': ", path) : PGY_OK;
}
