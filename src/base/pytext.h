/* SPDX-License-Identifier: Apache-2.0 */
/* Text the way Python prints it: float repr, string repr, tuples and lists. */
#ifndef BASE_PYTEXT_H
#define BASE_PYTEXT_H

#include "base/str.h"

/* strtod in the C locale, whatever locale the program has chosen. */
double text_to_double(const char *text, char **end);
/* Writes the shortest digits that round-trip: "1.0", "1e-05", "inf", "nan". `out` must have room
 * for 32 bytes. Returns the length. */
size_t py_double_repr(char *out, double v);
/* Like py_double_repr, for float32: the shortest digits that round-trip as float32. */
size_t py_float_repr(char *out, float v);
/* Finds the shortest digits and the decimal exponent: value = 0.d1d2... * 10^exp10. `digits` must
 * have room for 20. `bits` (16, 32 or 64) is the type in which the digits must be unique. v must be
 * finite and > 0. Returns the number of digits. */
int py_shortest_digits(char *digits, int *exp10, double v, int bits);
void str_append_py_repr(str *s, const char *text);                       /* 'it' or "it's" */
void str_append_py_list(str *s, const char *const *items, size_t count); /* ['a', 'b'] */
void str_append_py_tuple(str *s, const int64_t *items, size_t count);    /* (2, 3), (5,), () */
void str_append_py_ints(str *s, const int64_t *items, size_t count);     /* [2, 3] */
/* "%.5g" with nan, inf and -inf as Python prints them. */
void str_append_g(str *s, int precision, double v);

#endif
