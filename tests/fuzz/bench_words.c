/* SPDX-License-Identifier: Apache-2.0 */
/* The words of bench: the first byte chooses a budget or, with NUL bytes between them, the axes of
 * a sweep. What is accepted is written out and read again, with the same meaning. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "perf/bench_budget.h"

enum { WORDS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_budget(const char *text)
{
    pgy_bench_budget *b = NULL, *again = NULL;
    char *same = NULL;
    pgy_error err = {0};
    if (pgy_bench_budget_parse(&b, text, &err)) return;
    if (pgy_bench_budget_text(&same, b, &err) || pgy_bench_budget_parse(&again, same, &err))
        abort();
    if (!b->count || b->count != again->count) abort();
    for (size_t i = 0; i < b->count; i++) {
        const bench_limit *l = &b->items[i], *k = &again->items[i];
        if (l->on != k->on || l->relation != k->relation || l->value != k->value) abort();
        if (!isfinite(l->value) || l->value < 0 || bench_limit_holds(l, NAN)) abort();
    }
    mem_free(same);
    pgy_bench_budget_destroy(again);
    pgy_bench_budget_destroy(b);
}

static char *write_axis(const pgy_bench_axes *a, size_t axis)
{
    str word = {0};
    str_printf(&word, "%s=", pgy_bench_axes_name(a, axis));
    for (size_t i = 0; i < pgy_bench_axes_size_count(a, axis); i++)
        str_printf(&word, "%s%" PRId64, i ? "," : "", pgy_bench_axes_size(a, axis, i));
    char *text = str_take(&word);
    if (!text) abort();
    return text;
}

static void try_axes(const char *const *words, size_t count)
{
    pgy_bench_axes *a = NULL, *again = NULL;
    pgy_error err = {0};
    char *same[WORDS];
    if (pgy_bench_axes_parse(&a, words, count, &err)) return;
    if (a->count != count || bench_axes_points(a) > BENCH_POINTS) abort();
    for (size_t i = 0; i < count; i++) same[i] = write_axis(a, i);
    if (pgy_bench_axes_parse(&again, (const char *const *)same, count, &err)) abort();
    for (size_t p = 0; p < bench_axes_points(a); p++)
        for (size_t i = 0; i < count; i++)
            if (bench_axes_at(a, p, i) < 1 || bench_axes_at(a, p, i) != bench_axes_at(again, p, i))
                abort();
    for (size_t i = 0; i < count; i++) mem_free(same[i]);
    pgy_bench_axes_destroy(again);
    pgy_bench_axes_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[WORDS];
    size_t count = 0;
    if (!size) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    for (size_t at = 0; at < size && count < WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    if (data[0] & 1)
        try_budget(text);
    else
        try_axes(words, count);
    free(text);
    return 0;
}
