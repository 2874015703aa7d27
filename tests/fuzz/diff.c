/* SPDX-License-Identifier: Apache-2.0 */
/* Two models: the first byte pair is the size of the first one. They are compared in both
 * directions and with themselves, and the first one's memory is measured. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <polygraphy/diff.h>
#include <polygraphy/memory.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(pgy_model *a, pgy_model *b, pgy_diff_options options)
{
    pgy_diff *d = NULL;
    pgy_error err = {0};
    options.size = sizeof options;
    if (pgy_diff_create(&d, a, b, &options, &err)) return;
    const pgy_diff_summary *s = pgy_diff_summarize(d);
    if (a == b && s->differences != s->counts[PGY_DIFF_WEIGHT][PGY_DIFF_UNREAD]) abort();
    pgy_diff_destroy(d);
}

static void measure(pgy_model *model, bool in_place)
{
    pgy_graph *g = NULL;
    pgy_memory *m = NULL;
    pgy_error err = {0};
    const pgy_memory_options options = {.size = sizeof options, .in_place = in_place};
    pgy_status st = pgy_graph_import(&g, model, &err);
    if (!st) st = pgy_memory_create(&m, g, &options, &err);
    pgy_memory_destroy(m);
    pgy_graph_destroy(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *a = NULL, *b = NULL;
    pgy_error err = {0};
    if (size < 2) return 0;
    size_t first = data[0] | (size_t)data[1] << 8;
    if (first > size - 2) first = size - 2;
    if (pgy_model_parse(&a, data + 2, first, true, NULL, &err)) return 0;
    if (pgy_model_parse(&b, data + 2 + first, size - 2 - first, true, NULL, &err) == PGY_OK) {
        compare(a, b, (pgy_diff_options){.order = true});
        compare(b, a, (pgy_diff_options){.atol = 0.5, .ignore_names = true});
    }
    compare(a, a, (pgy_diff_options){.order = true});
    measure(a, false);
    measure(a, true);
    pgy_model_destroy(a);
    pgy_model_destroy(b);
    return 0;
}
