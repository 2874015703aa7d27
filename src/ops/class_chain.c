/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints the programs of class_chain.h: words are separated by spaces, steps by
 * semicolons. */
#include "ops/class_chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t operands, args;
} OPS[CHAIN_OPS] = {
    [CHAIN_ADD] = {"Add", 2, 0},
    [CHAIN_SUB] = {"Sub", 2, 0},
    [CHAIN_MUL] = {"Mul", 2, 0},
    [CHAIN_DIV] = {"Div", 2, 0},
    [CHAIN_MIN] = {"Min", 2, 0},
    [CHAIN_MAX] = {"Max", 2, 0},
    [CHAIN_RELU] = {"Relu", 1, 0},
    [CHAIN_LEAKY_RELU] = {"LeakyRelu", 1, 1},
    [CHAIN_CLIP] = {"Clip", 1, 2},
    [CHAIN_HARD_SIGMOID] = {"HardSigmoid", 1, 2},
    [CHAIN_HARD_SWISH] = {"HardSwish", 1, 0},
    [CHAIN_ABS] = {"Abs", 1, 0},
    [CHAIN_NEG] = {"Neg", 1, 0},
    [CHAIN_SQRT] = {"Sqrt", 1, 0},
    [CHAIN_RECIPROCAL] = {"Reciprocal", 1, 0},
    [CHAIN_EXP] = {"Exp", 1, 0},
    [CHAIN_LOG] = {"Log", 1, 0},
    [CHAIN_TANH] = {"Tanh", 1, 0},
    [CHAIN_SIGMOID] = {"Sigmoid", 1, 0},
    [CHAIN_ERF] = {"Erf", 1, 0},
    [CHAIN_GELU] = {"Gelu", 1, 0},
    [CHAIN_FAST_GELU] = {"FastGelu", 1, 0},
    [CHAIN_SWISH] = {"Swish", 1, 1},
    [CHAIN_SOFTPLUS] = {"Softplus", 1, 0},
    [CHAIN_MISH] = {"Mish", 1, 0},
    [CHAIN_SIN] = {"Sin", 1, 0},
    [CHAIN_COS] = {"Cos", 1, 0},
    [CHAIN_TAN] = {"Tan", 1, 0},
    [CHAIN_ASIN] = {"Asin", 1, 0},
    [CHAIN_ACOS] = {"Acos", 1, 0},
    [CHAIN_ATAN] = {"Atan", 1, 0},
    [CHAIN_SINH] = {"Sinh", 1, 0},
    [CHAIN_COSH] = {"Cosh", 1, 0},
    [CHAIN_ASINH] = {"Asinh", 1, 0},
    [CHAIN_ACOSH] = {"Acosh", 1, 0},
    [CHAIN_ATANH] = {"Atanh", 1, 0},
    [CHAIN_FLOOR] = {"Floor", 1, 0},
    [CHAIN_CEIL] = {"Ceil", 1, 0},
    [CHAIN_ROUND] = {"Round", 1, 0},
    [CHAIN_SIGN] = {"Sign", 1, 0},
};

const char *chain_op_name(uint32_t op)
{
    return op < CHAIN_OPS ? OPS[op].name : NULL;
}

size_t chain_op_operands(uint32_t op)
{
    return op < CHAIN_OPS ? OPS[op].operands : 0;
}

size_t chain_op_args(uint32_t op)
{
    return op < CHAIN_OPS ? OPS[op].args : 0;
}

/* ---- Reading -------------------------------------------------------------------------------- */

enum { WORD = 32 };

typedef struct reader {
    const char *at, *end;
    char word[WORD]; /* the last word read, null-terminated */
} reader;

/* Reads the next word of this step; false: the step has ended or the word is too long. */
static bool next_word(reader *r)
{
    size_t n = 0;
    while (r->at < r->end && *r->at == ' ') r->at++;
    while (r->at < r->end && *r->at != ' ' && *r->at != ';') {
        if (n + 1 >= WORD) return false;
        r->word[n++] = *r->at++;
    }
    r->word[n] = 0;
    return n > 0;
}

static bool read_operand(uint32_t *at, const chain *c, reader *r)
{
    uint32_t number = 0;
    if (!next_word(r) || (r->word[0] != 'x' && r->word[0] != 't') || !r->word[1]) return false;
    for (const char *s = r->word + 1; *s; s++) {
        if (*s < '0' || *s > '9' || number > 10000) return false;
        number = number * 10 + (uint32_t)(*s - '0');
    }
    if (number >= (r->word[0] == 'x' ? c->inputs : c->count)) return false;
    *at = r->word[0] == 'x' ? number : c->inputs + number;
    return true;
}

static bool read_number(float *out, reader *r)
{
    char *end;
    if (!next_word(r)) return false;
    *out = strtof(r->word, &end);
    return !*end && !isnan(*out);
}

static bool read_step(chain *c, reader *r)
{
    chain_step *s = &c->steps[c->count];
    *s = (chain_step){0};
    if (!next_word(r)) return false;
    while (s->op < CHAIN_OPS && strcmp(r->word, OPS[s->op].name)) s->op++;
    if (s->op == CHAIN_OPS) return false;
    for (size_t i = 0; i < OPS[s->op].operands; i++)
        if (!read_operand(&s->at[i], c, r)) return false;
    for (size_t i = 0; i < OPS[s->op].args; i++)
        if (!read_number(&s->args[i], r)) return false;
    while (r->at < r->end && *r->at == ' ') r->at++;
    c->count++;
    return r->at == r->end || *r->at++ == ';';
}

bool chain_parse(chain *c, const char *text, size_t size, size_t inputs)
{
    reader r = {.at = text, .end = text + size};
    *c = (chain){.inputs = (uint32_t)inputs};
    while (r.at < r.end)
        if (c->count == CHAIN_STEPS || !read_step(c, &r)) return false;
    return c->count > 0;
}

bool chain_read(chain *c, const op_node *n, size_t inputs)
{
    const op_attr *a = op_attr_find(n, "program");
    return a && a->kind == OP_ATTR_STRING && chain_parse(c, a->s.data, a->s.size, inputs);
}

void chain_print(str *out, const chain *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const chain_step *s = &c->steps[i];
        str_printf(out, "%s%s", i ? "; " : "", OPS[s->op].name);
        for (size_t k = 0; k < OPS[s->op].operands; k++) {
            const bool input = s->at[k] < c->inputs;
            str_printf(out, " %c%u", input ? 'x' : 't',
                       (unsigned)(input ? s->at[k] : s->at[k] - c->inputs));
        }
        for (size_t k = 0; k < OPS[s->op].args; k++) str_printf(out, " %.9g", (double)s->args[k]);
    }
}
