/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises Einsums that compute a product of attention. The equation is normalised, with the dots
 * as capital letters, and compared with templates of the last axes of both factors and of the
 * result; all axes before them must be equal. */
#include <ctype.h>
#include <string.h>

#include "transform/fuse/attention.h"

enum { TERMS = 3, MAX_RANK = 5 };

typedef struct equation {
    char terms[TERMS][MAX_RANK];
} equation;

static const char *const TEMPLATES[][TERMS] = {
    [ATTENTION_MATRICES] = {"id", "dj", "ij"},
    [ATTENTION_ROWS] = {"id", "jd", "ij"},
    [ATTENTION_SCORES] = {"ihd", "jhd", "hij"},
    [ATTENTION_VALUES] = {"hij", "jhd", "ihd"},
    [ATTENTION_LEADING_SCORES] = {"ibhd", "jbhd", "bhij"},
    [ATTENTION_LEADING_VALUES] = {"bhij", "jbhd", "ibhd"},
};

/* Normalises one term of the equation, of `size` characters, without blanks. If the term uses
 * capitals itself, they may clash with those for the dots; then a product is only not recognised.
 */
static bool read_term(char *out, const char *text, size_t size, size_t rank)
{
    const char *dots = memchr(text, '.', size);
    const size_t before = dots ? (size_t)(dots - text) : size;
    size_t count = 0;
    if (dots && (size - before < 3 || memcmp(dots, "...", 3) != 0 || size - 3 > rank)) return false;
    if (!dots && size != rank) return false;
    for (size_t i = 0; i < before; i++) out[count++] = text[i];
    for (size_t i = 0; dots && i < rank + 3 - size; i++) out[count++] = (char)('A' + i);
    for (size_t i = dots ? before + 3 : size; i < size; i++) out[count++] = text[i];
    for (size_t i = 0; i < count; i++)
        if (!isalpha((unsigned char)out[i])) return false;
    return count == rank;
}

static bool read_equation(equation *out, const pgy_node *n, size_t rank)
{
    const pgy_onnx_attribute *a = node_attribute(n, "equation");
    const char *letters = a ? (const char *)a->s.data : NULL;
    char text[48] = {0};
    size_t size = 0;
    for (size_t i = 0; letters && i < a->s.size && size + 1 < sizeof text; i++)
        if (letters[i] != ' ') text[size++] = letters[i];
    const char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    return comma && arrow && comma < arrow &&
           read_term(out->terms[0], text, (size_t)(comma - text), rank) &&
           read_term(out->terms[1], comma + 1, (size_t)(arrow - comma - 1), rank) &&
           read_term(out->terms[2], arrow + 2, strlen(arrow + 2), rank);
}

/* True if the equation is the template with other letters: axes of the template and letters map one
 * to one. */
static bool matches(const equation *e, size_t rank, const char *const *template)
{
    char letter_of[128] = {0}, axis_of[128] = {0};
    const size_t own = strlen(template[0]), before = rank - own;
    for (size_t t = 0; t < TERMS; t++) {
        if (memcmp(e->terms[t], e->terms[0], before) != 0) return false;
        for (size_t i = 0; i < rank; i++) {
            const char axis = (char)(i < before ? (char)i + 1 : template[t][i - before]);
            const char letter = e->terms[t][i];
            if ((letter_of[(int)axis] && letter_of[(int)axis] != letter) ||
                (axis_of[(int)letter] && axis_of[(int)letter] != axis))
                return false;
            letter_of[(int)axis] = letter;
            axis_of[(int)letter] = axis;
        }
    }
    return true;
}

attention_product attention_einsum(const pgy_node *n, size_t rank)
{
    equation e = {0};
    if (rank < 3 || rank > MAX_RANK || !read_equation(&e, n, rank)) return ATTENTION_NO_PRODUCT;
    for (size_t kind = ATTENTION_MATRICES; kind <= ATTENTION_LEADING_VALUES; kind++) {
        const size_t most = kind < ATTENTION_LEADING_SCORES ? MAX_RANK : 4;
        if (rank <= most && (rank > 3 || kind < ATTENTION_SCORES) &&
            matches(&e, rank, TEMPLATES[kind]))
            return (attention_product)kind;
    }
    return ATTENTION_NO_PRODUCT;
}
