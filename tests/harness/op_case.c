/* SPDX-License-Identifier: Apache-2.0 */
/* Reader and runner of operator cases. A case is gathered line by line; the next `case:` line or
 * the end of the file runs it. Everything of a case lives in one arena. */
#include "harness/op_case.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dl.h"
#include "ops/op.h"
#include "tensor/convert.h"

enum { MAX_VALUES = 64, MAX_ATTRS = 32 };

typedef struct case_value {
    bool absent, unknown_data, unknown_rank;
    pgy_dtype dtype;
    size_t rank;
    char **dims;      /* texts of the dimensions: numbers or symbols */
    pgy_tensor *data; /* elements as tensors store them */
    char **elements;  /* texts of the elements, if some are symbolic */
    size_t element_count;
} case_value;

typedef struct op_case {
    arena memory;
    char *name, *op, *error, *domain, *library;
    int line;
    int64_t version;
    op_attr attrs[MAX_ATTRS];
    size_t attr_count;
    case_value in[MAX_VALUES], out[MAX_VALUES];
    size_t in_count, out_count, error_outputs;
    double tolerance; /* < 0: the default of the element type */
    bool model_precision, bad;
    uint32_t seed;
    str *problems;
} op_case;

static void problem(op_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void problem(op_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_append(c->problems, "    ");
    str_vprintf(c->problems, format, args);
    str_append(c->problems, "\n");
    va_end(args);
    c->bad = true;
}

/* Reading a case cannot go on without memory: the test ends, as failed. */
static void *need(void *p)
{
    if (!p) fail_msg("out of memory while reading cases");
    return p;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static char *trim(char *s)
{
    while (isspace((unsigned char)*s)) s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    return s;
}

/* Next element of a blank-separated list; quoted ones lose their quotes. NULL at the end. */
static char *next_word(char **at, bool *quoted)
{
    char *s = *at;
    while (isspace((unsigned char)*s) || *s == ',') s++;
    if (!*s) return NULL;
    *quoted = *s == '"';
    char *start = *quoted ? ++s : s;
    if (*quoted)
        while (*s && *s != '"') s++;
    else
        while (*s && !isspace((unsigned char)*s) && *s != ',') s++;
    if (*s) *s++ = '\0';
    *at = s;
    return start;
}

/* Splits "[a, b]" at commas outside parentheses, and moves *at behind the bracket. */
static bool read_dims(op_case *c, case_value *v, char **at)
{
    char *s = strchr(*at, '['), *end = s ? strchr(s, ']') : NULL;
    if (!end) return false;
    *end = '\0';
    *at = end + 1;
    v->dims = need(arena_alloc_array(&c->memory, PGY_MAX_RANK, sizeof *v->dims));
    s = trim(s + 1);
    if (strcmp(s, "*") == 0) v->unknown_rank = true;
    if (!*s || v->unknown_rank) return true;
    int depth = 0;
    char *start = s;
    for (;; s++) {
        depth += (*s == '(') - (*s == ')');
        if (*s && (*s != ',' || depth)) continue;
        const bool last = !*s;
        *s = '\0';
        if (v->rank == PGY_MAX_RANK) return false;
        v->dims[v->rank++] = trim(start);
        start = s + 1;
        if (last) return true;
    }
}

static bool set_number(pgy_tensor *t, size_t i, const char *text)
{
    char *end = NULL;
    void *data = pgy_tensor_data(t);
    switch (pgy_tensor_dtype(t)) {
    case PGY_F64: ((double *)data)[i] = strtod(text, &end); break;
    case PGY_I64: ((int64_t *)data)[i] = strtoll(text, &end, 0); break;
    case PGY_U64: ((uint64_t *)data)[i] = strtoull(text, &end, 0); break;
    case PGY_BOOL:
        ((uint8_t *)data)[i] = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        return ((uint8_t *)data)[i] || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    case PGY_C128: {
        double *pair = (double *)data + 2 * i;
        pair[0] = strtod(text, &end);
        pair[1] = *end ? strtod(end, &end) : 0;
        return *end == '\0' || strcmp(end, "j") == 0;
    }
    default: return false;
    }
    return end && end != text && *end == '\0';
}

static bool is_symbolic(const char *word)
{
    return strcmp(word, "?") == 0 ||
           (isalpha((unsigned char)*word) && strcmp(word, "nan") && strcmp(word, "inf") &&
            strcmp(word, "true") && strcmp(word, "false")) ||
           strpbrk(word, "*(") != NULL;
}

static bool fill(case_value *v, char *word)
{
    const size_t count = pgy_tensor_count(v->data), size = strlen(word);
    char number[40];
    if (*word == '*') {
        for (size_t i = 0; i < count; i++)
            if (!set_number(v->data, i, word + 1)) return false;
        return true;
    }
    word[size - 2] = '\0';
    const long long first = strtoll(word, NULL, 10);
    for (size_t i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%lld", first + (long long)i);
        if (!set_number(v->data, i, number)) return false;
    }
    return true;
}

static bool read_symbolic(op_case *c, case_value *v, char *text)
{
    /* Symbolic elements may contain blanks, so commas separate them. */
    char *s = text;
    v->elements = need(arena_alloc_array(&c->memory, 256, sizeof *v->elements));
    int depth = 0;
    char *start = s;
    for (;; s++) {
        depth += (*s == '(') - (*s == ')');
        if (*s && (*s != ',' || depth)) continue;
        const bool last = !*s;
        *s = '\0';
        if (v->element_count == 256) return false;
        v->elements[v->element_count++] = trim(start);
        start = s + 1;
        if (last) return true;
    }
}

static bool read_elements(op_case *c, case_value *v, char *text)
{
    int64_t shape[PGY_MAX_RANK];
    bool quoted;
    text = trim(text);
    if (strcmp(text, "?") == 0) {
        v->unknown_data = true;
        return true;
    }
    const pgy_dtype storage = op_storage(v->dtype);
    const bool ints = storage == PGY_I64 || storage == PGY_U64;
    const bool conditions = storage == PGY_BOOL && strchr(text, '?');
    if ((ints || conditions) && *text != '*' && v->rank <= 1 &&
        (is_symbolic(text) || strpbrk(text, "?*(") ||
         strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < strlen(text)))
        return read_symbolic(c, v, text);
    for (size_t i = 0; i < v->rank; i++) shape[i] = strtoll(v->dims[i], NULL, 10);
    if (pgy_tensor_create(&v->data, storage, v->rank, shape, NULL)) return false;
    const size_t count = pgy_tensor_count(v->data), size = strlen(text);
    const bool counts_up = size > 2 && strcmp(text + size - 2, "..") == 0;
    if (*text == '*' || counts_up) {
        if (!fill(v, text)) return false;
    } else {
        size_t i = 0;
        for (char *word; (word = next_word(&text, &quoted)); i++) {
            if (i >= count) return false;
            if (storage == PGY_STRING) {
                if (pgy_tensor_set_string(v->data, i, word, strlen(word), NULL)) return false;
            } else if (!set_number(v->data, i, word)) {
                return false;
            }
        }
        if (i != count) return false;
    }
    return true;
}

static void read_value(op_case *c, case_value *v, char *text, bool round)
{
    char *shown = need(arena_strdup(&c->memory, text));
    *v = (case_value){0};
    text = trim(text);
    if (strcmp(text, "-") == 0) {
        v->absent = true;
        return;
    }
    char *at = text + strcspn(text, " [");
    char *dims = strchr(text, '[');
    if (dims && *at) {
        char *name = need(arena_strndup(&c->memory, text, (size_t)(at - text)));
        v->dtype = pgy_dtype_from_name(name);
        at = dims;
        if (v->dtype && read_dims(c, v, &at) && read_elements(c, v, at)) {
            if (v->data && round) op_conform(v->data, v->dtype, true);
            return;
        }
    }
    problem(c, "cannot read the value: %s", shown);
}

static void read_list_attr(op_case *c, op_attr *a, char *text)
{
    char *end = strrchr(text, ']');
    char *items[512];
    bool quoted = false, any_quoted = false, any_float = false;
    size_t n = 0;
    if (end) *end = '\0';
    text++;
    for (char *word; n < 512 && (word = next_word(&text, &quoted)); n++) {
        items[n] = word;
        any_quoted |= quoted;
        any_float |= strpbrk(word, ".ein") != NULL;
    }
    a->count = n;
    int64_t *ints = need(arena_alloc_array(&c->memory, n, sizeof *ints));
    float *floats = need(arena_alloc_array(&c->memory, n, sizeof *floats));
    span *strings = need(arena_alloc_array(&c->memory, n, sizeof *strings));
    for (size_t i = 0; i < n; i++) {
        ints[i] = strtoll(items[i], NULL, 10);
        floats[i] = strtof(items[i], NULL);
        strings[i] = span_of(items[i]);
    }
    a->kind = any_quoted ? OP_ATTR_STRINGS : any_float ? OP_ATTR_FLOATS : OP_ATTR_INTS;
    if (any_quoted)
        a->strings = strings;
    else if (any_float)
        a->floats = floats;
    else
        a->ints = ints;
}

static void read_attr(op_case *c, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || c->attr_count == MAX_ATTRS) {
        problem(c, "cannot read the attribute: %s", text);
        return;
    }
    *equals = '\0';
    op_attr *a = &c->attrs[c->attr_count++];
    a->name = trim(text);
    text = trim(equals + 1);
    if (*text == '"') {
        char *end = strrchr(text + 1, '"');
        a->kind = OP_ATTR_STRING;
        a->s = (span){text + 1, end ? (size_t)(end - text - 1) : strlen(text + 1)};
    } else if (*text == '[') {
        read_list_attr(c, a, text);
    } else if (str_starts_with(text, "tensor ")) {
        case_value v;
        read_value(c, &v, text + 7, true);
        a->kind = OP_ATTR_TENSOR;
        a->tensor = v.data;
        a->tensor_dtype = v.dtype;
    } else if (strpbrk(text, ".ein")) {
        a->kind = OP_ATTR_FLOAT;
        a->f = strtof(text, NULL);
    } else {
        a->kind = OP_ATTR_INT;
        a->i = strtoll(text, NULL, 10);
    }
}

static void read_op(op_case *c, char *text)
{
    char *space = strrchr(text, ' ');
    if (!space) {
        problem(c, "'op: %s' lacks a version", text);
        return;
    }
    *space = '\0';
    c->version = strtoll(space + 1, NULL, 10);
    char *colon = strchr(text, ':');
    if (colon) *colon = '\0';
    c->domain = colon ? text : "";
    c->op = trim(colon ? colon + 1 : text);
}

/* ---- Symbolic cases ------------------------------------------------------------------------- */

static dim dim_of_text(dim_table *t, const char *text)
{
    if (strcmp(text, "?") == 0) return dim_unknown(t, "test");
    if (isdigit((unsigned char)*text) || *text == '-') return dim_const(strtoll(text, NULL, 10));
    return dim_symbol(t, text);
}

static bool dim_matches(dim d, const char *wanted)
{
    str text = {0};
    dim_print(&text, d);
    const bool same =
        strcmp(wanted, "?") == 0 ? dim_is_unknown(d) : strcmp(str_text(&text), wanted) == 0;
    str_deinit(&text);
    return same;
}

static const dim *dims_of(op_case *c, dim_table *t, char **texts, size_t count)
{
    dim *dims = need(arena_alloc_array(&c->memory, count, sizeof *dims));
    for (size_t i = 0; i < count; i++) dims[i] = dim_of_text(t, texts[i]);
    return dims;
}

static op_value known_value(op_case *c, dim_table *t, const case_value *v)
{
    op_value k = {.rank = -1, .dtype = v->dtype, .data = v->data};
    if (v->absent || v->unknown_rank) return k;
    k.rank = (int32_t)v->rank;
    k.dims = dims_of(c, t, v->dims, v->rank);
    if (v->elements) {
        k.elements = dims_of(c, t, v->elements, v->element_count);
        k.element_count = v->element_count;
    }
    return k;
}

static void compare_inferred(op_case *c, op_infer *infer, size_t i)
{
    const case_value *want = &c->out[i];
    const op_value *got = &infer->outputs[i];
    const dim *elements;
    str shape = {0};
    if (want->absent) return;
    if (got->dtype != want->dtype) problem(c, "output %zu is %s", i, pgy_dtype_name(got->dtype));
    bool same = want->unknown_rank ? got->rank < 0 : got->rank == (int32_t)want->rank;
    for (size_t d = 0; same && !want->unknown_rank && d < want->rank; d++)
        same = dim_matches(got->dims[d], want->dims[d]);
    op_print_shape(&shape, got->rank, got->dims);
    if (!same) problem(c, "output %zu has shape %s", i, str_text(&shape));
    str_clear(&shape);
    if (want->unknown_data) goto done;
    /* op_input_ints reads inputs only, so this passes the outputs as inputs. It also finds the
     * elements of constants. */
    op_infer view = *infer;
    const bool present = true;
    const op_node one = {.def = infer->node->def, .input_count = 1};
    view.node = &one;
    view.inputs = got;
    view.present = &present;
    size_t count;
    if (!op_input_ints(&view, 0, &elements, &count)) {
        problem(c, "elements of output %zu are not known", i);
        goto done;
    }
    op_print_shape(&shape, (int32_t)count, elements);
    for (size_t k = 0; same && k < count; k++) {
        char number[32];
        if (want->data) snprintf(number, sizeof number, "%" PRId64, op_i64(want->data)[k]);
        const size_t wanted = want->data ? pgy_tensor_count(want->data) : want->element_count;
        same = count == wanted && dim_matches(elements[k], want->data ? number : want->elements[k]);
    }
    if (!same) problem(c, "elements of output %zu are %s", i, str_text(&shape));
done:
    str_deinit(&shape);
}

static void run_symbolic(op_case *c, const op_node *n, const op_host *host)
{
    dim_table dims = {0};
    pgy_error err = {0};
    op_value in[MAX_VALUES], out[MAX_VALUES] = {{0}};
    bool present[MAX_VALUES], wanted[MAX_VALUES];
    for (size_t i = 0; i < c->in_count; i++) {
        in[i] = known_value(c, &dims, &c->in[i]);
        present[i] = !c->in[i].absent;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        out[i].rank = -1;
        wanted[i] = !c->out[i].absent;
    }
    op_infer infer = {.node = n,
                      .inputs = in,
                      .present = present,
                      .outputs = out,
                      .wanted = wanted,
                      .dims = &dims,
                      .memory = &c->memory,
                      .host = host};
    pgy_status st = op_check_inputs(&infer, &err);
    if (!st) st = n->def->infer(&infer, &err);
    if (c->error) {
        if (!st)
            problem(c, "inference succeeded, but should fail with: %s", c->error);
        else if (!strstr(err.text, c->error))
            problem(c, "message is: %s", err.text);
    } else if (st) {
        problem(c, "inference fails: %s", err.text);
    } else {
        for (size_t i = 0; i < c->out_count; i++) compare_inferred(c, &infer, i);
    }
    dim_table_deinit(&dims);
}

/* ---- Cases with values ---------------------------------------------------------------------- */

static double tolerance_of(const op_case *c, pgy_dtype dtype)
{
    if (c->tolerance >= 0) return c->tolerance;
    switch (dtype) {
    case PGY_F64:
    case PGY_C128: return 1e-12;
    case PGY_F32:
    case PGY_C64: return 1e-6;
    case PGY_F16: return 1e-3;
    case PGY_BF16: return 1e-2;
    default: return 0;
    }
}

static bool close_enough(double got, double want, double tolerance)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return want == got;
    return fabs(got - want) <= tolerance + tolerance * fabs(want);
}

static void compare_elements(op_case *c, size_t i, const pgy_tensor *got, const case_value *want)
{
    const pgy_dtype storage = pgy_tensor_dtype(got);
    const void *a = pgy_tensor_data(got), *b = pgy_tensor_data(want->data);
    const double tolerance = tolerance_of(c, want->dtype);
    const size_t parts = storage == PGY_C128 ? 2 : 1, count = pgy_tensor_count(got) * parts;
    for (size_t k = 0; k < count; k++) {
        if (storage == PGY_STRING) {
            const pgy_string x = ((const pgy_string *)a)[k], y = ((const pgy_string *)b)[k];
            if (x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0)) continue;
            problem(c, "output %zu, element %zu is \"%.*s\", should be \"%.*s\"", i, k, (int)x.size,
                    x.data, (int)y.size, y.data);
            return;
        }
        const pgy_dtype part = storage == PGY_C128 ? PGY_F64 : storage;
        const double x = element_as_f64(part, a, k), y = element_as_f64(part, b, k);
        const bool same = part == PGY_I64 || part == PGY_U64
                              ? ((const int64_t *)a)[k] == ((const int64_t *)b)[k] ||
                                    close_enough(x, y, tolerance)
                              : close_enough(x, y, tolerance);
        if (same && (tolerance > 0 || (part != PGY_I64 && part != PGY_U64) ||
                     ((const int64_t *)a)[k] == ((const int64_t *)b)[k]))
            continue;
        problem(c, "output %zu, element %zu is %.17g, should be %.17g", i, k, x, y);
        return;
    }
}

static void compare_output(op_case *c, size_t i, const op_tensor *got)
{
    const case_value *want = &c->out[i];
    if (want->absent) return;
    if (got->dtype != want->dtype) {
        problem(c, "output %zu is %s, should be %s", i, pgy_dtype_name(got->dtype),
                pgy_dtype_name(want->dtype));
        return;
    }
    bool same = got->value && pgy_tensor_rank(got->value) == want->rank;
    for (size_t d = 0; same && d < want->rank; d++)
        same = pgy_tensor_shape(got->value)[d] == strtoll(want->dims[d], NULL, 10);
    if (!same) {
        str shape = {0};
        for (size_t d = 0; got->value && d < pgy_tensor_rank(got->value); d++)
            str_printf(&shape, d ? ", %" PRId64 : "%" PRId64, pgy_tensor_shape(got->value)[d]);
        problem(c, "output %zu has shape [%s]", i, str_text(&shape));
        str_deinit(&shape);
        return;
    }
    if (want->data) compare_elements(c, i, got->value, want);
}

static void run_values(op_case *c, const op_node *n, const op_host *host)
{
    op_tensor in[MAX_VALUES] = {{0}}, out[MAX_VALUES] = {{0}};
    bool wanted[MAX_VALUES];
    pgy_error err = {0};
    for (size_t i = 0; i < c->in_count; i++)
        in[i] = (op_tensor){.dtype = c->in[i].dtype, .value = c->in[i].data};
    for (size_t i = 0; i < n->output_count; i++) wanted[i] = !c->out[i].absent;
    const pgy_status st = op_run(n, in, out, wanted, host, &err);
    if (c->error) {
        if (!st)
            problem(c, "it ran, but should fail with: %s", c->error);
        else if (!strstr(err.text, c->error))
            problem(c, "message is: %s", err.text);
    } else if (st) {
        problem(c, "it fails: %s", err.text);
    }
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!c->error) compare_output(c, i, &out[i]);
        op_tensor_release(&out[i]);
    }
}

static bool is_symbolic_case(const op_case *c)
{
    for (size_t i = 0; i < c->in_count; i++)
        if (!c->in[i].absent && !c->in[i].data) return true;
    return false;
}

static void visit_case(op_case *c, const op_node *n, const op_case_report *report)
{
    op_tensor in[MAX_VALUES] = {{0}};
    bool wanted[MAX_VALUES];
    for (size_t i = 0; i < c->in_count; i++)
        in[i] = (op_tensor){.dtype = c->in[i].dtype, .value = c->in[i].data};
    for (size_t i = 0; i < n->output_count; i++) wanted[i] = !c->out[i].absent;
    if (!c->error && !is_symbolic_case(c)) report->visit(n, in, wanted, report->user);
}

/* A case may need a library that is opened at run time. */
static bool lacks_library(const op_case *c)
{
    void *handle;
    if (!c->library) return false;
    const char *const name = c->library;
    const bool lacks = dl_open(&handle, &name, 1, NULL, NULL) != PGY_OK;
    if (lacks) print_message("case '%s' is skipped: it needs %s\n", c->name, name);
    return lacks;
}

static void run_case(op_case *c, const op_case_report *report)
{
    const op_def *def = c->op ? op_find(c->domain, c->op, c->version) : NULL;
    pgy_error err = {0};
    if (c->bad || lacks_library(c)) return;
    if (!def) {
        problem(c, "no operator %s in version %" PRId64, c->op ? c->op : "(op: line missing)",
                c->version);
        return;
    }
    const op_node n = {.def = def,
                       .name = c->name,
                       .opset = c->version,
                       .attrs = c->attrs,
                       .attr_count = c->attr_count,
                       .input_count = c->in_count,
                       .output_count = c->error ? c->error_outputs : c->out_count};
    if (report->visit) {
        visit_case(c, &n, report);
        return;
    }
    const op_host host = {.model_precision = c->model_precision, .seed = c->seed};
    const pgy_status st = op_check_node(&n, &err);
    if (st) {
        if (!c->error || !strstr(err.text, c->error)) problem(c, "check fails: %s", err.text);
    } else if (is_symbolic_case(c)) {
        run_symbolic(c, &n, &host);
    } else {
        run_values(c, &n, &host);
    }
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void free_case(op_case *c)
{
    for (size_t i = 0; i < c->in_count; i++) pgy_tensor_release(c->in[i].data);
    for (size_t i = 0; i < c->out_count; i++) pgy_tensor_release(c->out[i].data);
    for (size_t i = 0; i < c->attr_count; i++) pgy_tensor_release(c->attrs[i].tensor);
    arena_deinit(&c->memory);
}

static void finish_case(op_case *c, op_case_report *report, const char *path)
{
    if (c->name) {
        run_case(c, report);
        report->run++;
        if (c->bad) {
            report->failed++;
            str_printf(&report->text, "%s:%d: case '%s'\n%s", path, c->line, c->name,
                       str_text(c->problems));
        }
    }
    str_clear(c->problems);
    str *problems = c->problems;
    free_case(c);
    *c = (op_case){.tolerance = -1, .error_outputs = 1, .problems = problems};
}

static void read_line(op_case *c, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon) {
        problem(c, "not understood: %s", line);
        return;
    }
    *colon = '\0';
    char *key = trim(line), *value = trim(colon + 1);
    if (strcmp(key, "op") == 0)
        read_op(c, value);
    else if (strcmp(key, "attr") == 0)
        read_attr(c, value);
    else if (strcmp(key, "in") == 0 && c->in_count < MAX_VALUES)
        read_value(c, &c->in[c->in_count++], value, true);
    else if (strcmp(key, "out") == 0 && c->out_count < MAX_VALUES)
        read_value(c, &c->out[c->out_count++], value, false);
    else if (strcmp(key, "tolerance") == 0)
        c->tolerance = strtod(value, NULL);
    else if (strcmp(key, "mode") == 0)
        c->model_precision = strcmp(value, "model") == 0;
    else if (strcmp(key, "seed") == 0)
        c->seed = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "error") == 0)
        c->error = value;
    else if (strcmp(key, "library") == 0)
        c->library = value;
    else if (strcmp(key, "outputs") == 0)
        c->error_outputs = (size_t)strtoul(value, NULL, 10);
    else
        problem(c, "unknown line '%s'", key);
}

static void take_line(op_case *c, op_case_report *report, const char *path, const char *text,
                      int number)
{
    if (str_starts_with(text, "case:")) {
        finish_case(c, report, path);
        c->name = trim(need(arena_strdup(&c->memory, text + 5)));
        c->line = number;
    } else if (*text) {
        read_line(c, need(arena_strdup(&c->memory, text)));
    }
}

void op_cases_run(op_case_report *report, const char *path)
{
    str problems = {0}, pending = {0};
    char *line = NULL;
    size_t capacity = 0;
    int number = 0, first = 0;
    op_case *c = calloc(1, sizeof *c);
    FILE *file = fopen(path, "r");
    if (!c || !file) {
        str_printf(&report->text, "%s: cannot be read\n", path);
        report->failed++;
        goto done;
    }
    *c = (op_case){.tolerance = -1, .error_outputs = 1, .problems = &problems};
    while (getline(&line, &capacity, file) >= 0) {
        number++;
        const bool continues = isspace((unsigned char)*line);
        char *text = *line == '#' ? "" : trim(line);
        if (!continues) {
            take_line(c, report, path, str_text(&pending), first);
            str_clear(&pending);
            first = number;
        } else if (*text) {
            str_append(&pending, " ");
        }
        str_append(&pending, text);
    }
    take_line(c, report, path, str_text(&pending), first);
    finish_case(c, report, path);
done:
    if (file) fclose(file);
    free(c);
    free(line);
    str_deinit(&problems);
    str_deinit(&pending);
}
