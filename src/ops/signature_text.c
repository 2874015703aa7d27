/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures written as texts in the definitions of operators of other domains. The first look-up
 * parses all of them and keeps them for the life of the process. A malformed text counts as no
 * signature; a test of the registry rejects it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/signature.h"

enum { MAX_PARAMETERS = 64, MAX_SETS = 255 };

typedef struct reader {
    const char *at;
    arena *memory;
    const char *variables[OP_MAX_VARIABLES];
    size_t variable_count; /* number of type variables; variable v has type set v */
    op_type_set *sets;
    size_t set_count;
    op_parameter *parameters;
    size_t parameter_count;
    pgy_error *err;
} reader;

static pgy_status complain(const reader *r, const char *what)
{
    return pgy_error_set(r->err, PGY_E_FORMAT, "%s at '%.40s'", what, r->at);
}

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \n");
}

static span word(reader *r)
{
    skip_blanks(r);
    const size_t size = strcspn(r->at, " \n;,:=-");
    const span w = {r->at, size};
    r->at += size;
    skip_blanks(r);
    return w;
}

/* The types of a word list; 0 if a word is unknown. */
static uint32_t types_of(char *words)
{
    const pgy_dtype_info *types;
    const size_t count = pgy_dtype_list(&types);
    uint32_t bits = 0;
    char *rest = words;
    for (char *one; (one = strtok_r(rest, " \n", &rest));) {
        uint32_t meant = 0;
        for (size_t i = 0; i < count; i++)
            if (op_type_in(one, types[i].dtype)) meant |= UINT32_C(1) << types[i].onnx;
        if (!meant) return 0;
        bits |= meant;
    }
    return bits;
}

/* Reads words of types up to one of the characters in `ends`. */
static pgy_status read_set(reader *r, const char *ends)
{
    skip_blanks(r);
    const size_t size = strcspn(r->at, ends);
    char *words = arena_strndup(r->memory, r->at, size);
    if (!words) return pgy_error_set(r->err, PGY_E_MEMORY, "out of memory");
    const uint32_t bits = types_of(words);
    if (!bits) return complain(r, "a word means no type");
    if (r->set_count == MAX_SETS) return complain(r, "too many types");
    r->sets[r->set_count++] = (op_type_set){.tensors = bits};
    r->at += size;
    return PGY_OK;
}

static pgy_status read_variables(reader *r)
{
    while (strchr(r->at, ';')) {
        const span name = word(r);
        if (!name.size || *r->at != '=' || r->variable_count == OP_MAX_VARIABLES)
            return complain(r, "a variable and its types are expected");
        r->at++;
        r->variables[r->variable_count] = arena_strndup(r->memory, name.data, name.size);
        if (!r->variables[r->variable_count++])
            return pgy_error_set(r->err, PGY_E_MEMORY, "out of memory");
        const pgy_status st = read_set(r, ";");
        if (st) return st;
        r->at++;
    }
    return PGY_OK;
}

static uint8_t read_mark(reader *r)
{
    static const struct {
        char mark;
        uint8_t flags;
    } MARKS[] = {{'?', OP_PARAM_OPTIONAL},
                 {'*', OP_PARAM_VARIADIC},
                 {'~', OP_PARAM_VARIADIC | OP_PARAM_MIXED}};
    skip_blanks(r);
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        if (*r->at == MARKS[i].mark) {
            r->at++;
            return MARKS[i].flags;
        }
    return 0;
}

static pgy_status read_type(reader *r, op_parameter *p)
{
    const char *start = r->at;
    const span type = word(r);
    for (size_t v = 0; v < r->variable_count; v++)
        if (span_equals(type, r->variables[v])) {
            p->type = r->variables[v];
            p->variable = p->flags & OP_PARAM_MIXED ? 0 : (uint8_t)(v + 1);
            p->set = (uint8_t)v;
            return PGY_OK;
        }
    r->at = start;
    p->set = (uint8_t)r->set_count;
    return read_set(r, ",-");
}

static pgy_status read_parameter(reader *r)
{
    op_parameter *p = &r->parameters[r->parameter_count];
    p->flags = read_mark(r);
    p->type = "";
    const span name = word(r);
    if (!name.size || *r->at != ':' || r->parameter_count == MAX_PARAMETERS - 1)
        return complain(r, "a name and its type are expected");
    r->at++;
    r->parameter_count++;
    p->name = arena_strndup(r->memory, name.data, name.size);
    if (!p->name) return pgy_error_set(r->err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = read_type(r, p);
    skip_blanks(r);
    return st;
}

/* Reads parameters up to "->" or the end of the text. */
static pgy_status read_list(reader *r, size_t *count)
{
    const size_t before = r->parameter_count;
    skip_blanks(r);
    while (*r->at && strncmp(r->at, "->", 2) != 0) {
        const pgy_status st = read_parameter(r);
        if (st) return st;
        if (*r->at == ',') r->at++;
    }
    *count = r->parameter_count - before;
    return PGY_OK;
}

pgy_status op_signature_parse(op_signature *out, const char *text, arena *memory, pgy_error *err)
{
    reader r = {.at = text, .memory = memory, .err = err};
    size_t inputs = 0, outputs = 0;
    r.sets = arena_alloc_array(memory, MAX_SETS, sizeof *r.sets);
    r.parameters = arena_alloc_array(memory, MAX_PARAMETERS, sizeof *r.parameters);
    if (!r.sets || !r.parameters) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = read_variables(&r);
    if (!st) st = read_list(&r, &inputs);
    if (!st && strncmp(r.at, "->", 2) != 0) st = complain(&r, "'->' is expected");
    if (st) return st;
    r.at += 2;
    st = read_list(&r, &outputs);
    if (!st && *r.at) st = complain(&r, "nothing more is expected");
    if (st) return st;
    *out = (op_signature){.input_count = (uint8_t)inputs,
                          .output_count = (uint8_t)outputs,
                          .parameters = r.parameters,
                          .sets = r.sets};
    return PGY_OK;
}

/* ---- Those of the registry ------------------------------------------------------------------ */

typedef struct kept {
    const op_def *def;
    op_signature signature;
} kept;

static arena texts;
static kept *all;
static size_t all_count;
static pthread_once_t parsed = PTHREAD_ONCE_INIT;

static int by_definition(const void *a, const void *b)
{
    const op_def *x = ((const kept *)a)->def, *y = ((const kept *)b)->def;
    return (x > y) - (x < y);
}

static void parse_all(void)
{
    size_t count = 0;
    for (size_t i = 0; i < op_table_count(); i++) count += op_table_at(i)->signature != NULL;
    all = arena_alloc_array(&texts, count, sizeof *all);
    for (size_t i = 0; all && i < op_table_count(); i++) {
        const op_def *def = op_table_at(i);
        kept *k = &all[all_count];
        if (!def->signature || op_signature_parse(&k->signature, def->signature, &texts, NULL))
            continue;
        k->def = def;
        k->signature.name = def->name;
        k->signature.since = def->since;
        all_count++;
    }
    if (all_count) qsort(all, all_count, sizeof *all, by_definition);
}

const op_signature *op_signature_of_text(const op_def *def)
{
    if (def->parsed) return def->parsed;
    pthread_once(&parsed, parse_all);
    const kept key = {.def = def};
    const kept *found =
        all_count ? bsearch(&key, all, all_count, sizeof *all, by_definition) : NULL;
    return found ? &found->signature : NULL;
}
