/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the times of layers, and of a mix if a '!' comes first. What is accepted has times that
 * are numbers of at least 0, is written again, and read back with the same times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "precision/quant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_precision_layer layers[] = {{.name = "a"}, {.name = "b\"\n"}};
    pgy_precision p = {.options = pgy_precision_options_default(), .layers = layers},
                  again = {.options = p.options, .layers = layers};
    char *text = NULL;
    pgy_error err = {0};
    bool can_rest[] = {true, true};
    size_t site_of[] = {1, 0}, nodes[] = {0, 1};
    struct quantizer q = {.site_of = site_of};
    p.summary.layers = again.summary.layers = 2;
    if (size && data[0] == '!') {
        p.options.type = PGY_I8;
        p.options.rest_type = PGY_F16;
        p.nodes = nodes;
        p.quantizer = &q;
        p.can_rest = can_rest;
        again.options = p.options;
        again.nodes = nodes;
        again.quantizer = &q;
        again.can_rest = can_rest;
        data++;
        size--;
    }
    if (times_create(&p, &err) || times_create(&again, &err)) abort();
    if (!times_parse(&p, (span){(const char *)data, size}, "input", &err)) {
        for (level of = LEVEL_WIDE; of < LEVELS; of++)
            for (size_t i = 0; i < 2; i++)
                if (!(p.times.ms[of][i] >= 0)) abort();
        if (json_to_text(&text, times_write, &p, &err)) abort();
        if (times_parse(&again, (span){text, strlen(text)}, "output", &err)) abort();
        for (level of = LEVEL_WIDE; of < LEVELS; of++)
            if (memcmp(p.times.ms[of], again.times.ms[of], 2 * sizeof(double)) != 0) abort();
        mem_free(text);
    }
    times_deinit(&p.times);
    times_deinit(&again.times);
    return 0;
}
