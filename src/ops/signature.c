/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of ONNX's operators: the generated table, found by binary search. One bit test per
 * parameter checks a node's types; messages are formatted only on failure. Signatures written as
 * texts are in signature_text.c. */
#include "ops/signature.h"

#include <string.h>

static const op_type_set SETS[] = {
#define SET(tensors, sequences, optionals, optional_sequences) \
    {tensors, sequences, optionals, optional_sequences},
#include "ops/signatures.inc"
#undef SET
};

static const op_parameter PARAMETERS[] = {
#define P(name, type, variable, set, flags) \
    {                                       \
        name, type, variable, set, flags    \
    }
#define LIST(...) __VA_ARGS__,
#include "ops/signatures.inc"
#undef LIST
#undef P
};

static const op_signature ROWS[] = {
#define ROW(name, since, first, inputs, outputs) \
    {name, since, first, inputs, outputs, &PARAMETERS[first], SETS},
#include "ops/signatures.inc"
#undef ROW
};
enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0] };

size_t op_signature_count(void)
{
    return ROW_COUNT;
}

const op_signature *op_signature_at(size_t i)
{
    return i < ROW_COUNT ? &ROWS[i] : NULL;
}

int op_newest_opset(void)
{
    int newest = 0;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (ROWS[i].since > newest) newest = ROWS[i].since;
    return newest;
}

static const op_signature *find_row(const char *name, int64_t version)
{
    size_t low = 0, high = ROW_COUNT;
    while (low < high) { /* ends as the first row that is greater than (name, version) */
        const size_t middle = (low + high) / 2;
        const int order = strcmp(ROWS[middle].name, name);
        if (order > 0 || (order == 0 && ROWS[middle].since > version))
            high = middle;
        else
            low = middle + 1;
    }
    return low && strcmp(ROWS[low - 1].name, name) == 0 ? &ROWS[low - 1] : NULL;
}

const op_signature *op_signature_find(const char *domain, const char *name, int64_t version)
{
    const op_def *def = op_find(domain, name, version);
    if (def && def->signature) return op_signature_of_text(def);
    if (domain && *domain && strcmp(domain, "ai.onnx") != 0) return NULL;
    return find_row(name, version);
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static const op_parameter *parameter(const op_parameter *list, size_t count, size_t i)
{
    if (i < count) return &list[i];
    return count && (list[count - 1].flags & OP_PARAM_VARIADIC) ? &list[count - 1] : NULL;
}

const op_parameter *op_signature_input(const op_signature *s, size_t i)
{
    return parameter(s->parameters, s->input_count, i);
}

const op_parameter *op_signature_output(const op_signature *s, size_t i)
{
    return parameter(s->parameters + s->input_count, s->output_count, i);
}

const op_type_set *op_parameter_set(const op_signature *s, const op_parameter *p)
{
    return &s->sets[p->set];
}

/* ---- Checks --------------------------------------------------------------------------------- */

static uint32_t type_bit(pgy_dtype dtype)
{
    return dtype ? UINT32_C(1) << pgy_dtype_describe(dtype)->onnx : 0;
}

/* A tensor is accepted for an optional, because at run time an optional with an element is that
 * element. */
static bool holds(const op_type_set *set, const op_value *v)
{
    const op_value *element = v->sequence;
    if (!element) {
        const uint32_t bit = type_bit(v->dtype);
        return !bit || ((set->tensors | set->optionals) & bit);
    }
    if (element->map_key) return true; /* sets have no maps: operators check them */
    const bool nested = v->optional && element->sequence;
    const uint32_t bit = type_bit(nested ? element->sequence->dtype : element->dtype);
    const uint32_t allowed = nested        ? set->optional_sequences
                             : v->optional ? set->optionals | set->optional_sequences
                                           : set->sequences | set->optional_sequences;
    return bit ? (allowed & bit) != 0 : allowed != 0;
}

static void print_names(str *out, uint32_t bits, const char *before, const char *after)
{
    const pgy_dtype_info *types;
    const size_t count = pgy_dtype_list(&types);
    for (size_t i = 0; i < count; i++)
        if (bits >> types[i].onnx & 1)
            str_printf(out, "%s%s%s%s", out->size ? ", " : "", before, types[i].name, after);
}

void op_type_set_print(str *out, const op_type_set *set)
{
    const uint32_t any = UINT32_C(0x3ffe);
    str_clear(out);
    if ((set->tensors & any) == any) {
        str missing = {0};
        print_names(&missing, ~set->tensors, "", "");
        str_append(out, "any tensor");
        if (missing.size) str_printf(out, " but %s", str_text(&missing));
        str_deinit(&missing);
    } else {
        print_names(out, set->tensors, "", "");
    }
    if ((set->sequences & any) == any)
        str_append(out, out->size ? ", any sequence" : "any sequence");
    else
        print_names(out, set->sequences, "sequence of ", "");
    if (set->optionals | set->optional_sequences)
        str_append(out, out->size ? ", optionals of these" : "an optional");
}

static void print_type(str *out, const op_value *v)
{
    if (!v->sequence) {
        str_append(out, pgy_dtype_name(v->dtype));
        return;
    }
    str_append(out, v->optional ? "an optional of " : "a sequence of ");
    if (v->sequence->sequence)
        print_type(out, v->sequence);
    else
        str_append(out, v->sequence->dtype ? pgy_dtype_name(v->sequence->dtype) : "tensors");
}

typedef struct side {
    const op_signature *signature;
    const char *what; /* "input" or "output" */
    const op_value *values;
    const op_parameter *(*parameter)(const op_signature *s, size_t i);
} side;

static pgy_status refuse(const op_node *n, const side *of, size_t i, pgy_error *err)
{
    const op_parameter *p = of->parameter(of->signature, i);
    str type = {0}, allowed = {0};
    print_type(&type, &of->values[i]);
    op_type_set_print(&allowed, op_parameter_set(of->signature, p));
    const pgy_status st =
        op_error(n, err, PGY_E_TYPE, "%s %zu '%s' is %s, but opset %lld allows %s", of->what, i,
                 p->name, str_text(&type), (long long)n->opset, str_text(&allowed));
    str_deinit(&type);
    str_deinit(&allowed);
    return st;
}

/* The type that a type variable (such as T) stands for, and the input that decided it. */
typedef struct binding {
    pgy_dtype dtype;
    size_t input;
} binding;

static pgy_status differ(const op_node *n, const side *of, size_t i, const binding *b,
                         pgy_error *err)
{
    const op_parameter *p = of->parameter(of->signature, i);
    const op_parameter *first = op_signature_input(of->signature, b->input);
    return op_error(n, err, PGY_E_TYPE,
                    "%s %zu '%s' is %s, but input %zu '%s' is %s; both must have the "
                    "same type (%s) in opset %lld",
                    of->what, i, p->name, pgy_dtype_name(of->values[i].dtype), b->input,
                    first->name, pgy_dtype_name(b->dtype), p->type, (long long)n->opset);
}

static pgy_status check_one(const op_node *n, const side *of, size_t i, binding *bound,
                            pgy_error *err)
{
    const op_value *v = &of->values[i];
    const op_parameter *p = of->parameter(of->signature, i);
    if (!p) return PGY_OK;
    if (!holds(op_parameter_set(of->signature, p), v)) return refuse(n, of, i, err);
    if (!p->variable || p->variable > OP_MAX_VARIABLES || !v->dtype) return PGY_OK;
    binding *b = &bound[p->variable - 1];
    if (b->dtype && b->dtype != v->dtype) return differ(n, of, i, b, err);
    if (!b->dtype) *b = (binding){v->dtype, i};
    return PGY_OK;
}

pgy_status op_signature_check(const op_infer *c, const op_signature *s, pgy_error *err)
{
    binding bound[OP_MAX_VARIABLES] = {{0}};
    const side inputs = {s, "input", c->inputs, op_signature_input};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->node->input_count; i++)
        if (c->present[i]) st = check_one(c->node, &inputs, i, bound, err);
    return st;
}

/* Gives the type of the first input that has this type variable and whose type is known. */
static binding bound_by_input(const op_infer *c, const op_signature *s, unsigned variable)
{
    for (size_t i = 0; i < c->node->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (p && p->variable == variable && c->present[i] && c->inputs[i].dtype)
            return (binding){c->inputs[i].dtype, i};
    }
    return (binding){0};
}

pgy_status op_signature_check_outputs(const op_infer *c, const op_signature *s, pgy_error *err)
{
    const side outputs = {s, "output", c->outputs, op_signature_output};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        const op_parameter *p = op_signature_output(s, i);
        const op_value *v = &c->outputs[i];
        if (!c->wanted[i] || !p) continue;
        if (!holds(op_parameter_set(s, p), v)) return refuse(c->node, &outputs, i, err);
        const binding b =
            p->variable && v->dtype ? bound_by_input(c, s, p->variable) : (binding){0};
        if (b.dtype && b.dtype != v->dtype) st = differ(c->node, &outputs, i, &b, err);
    }
    return st;
}
