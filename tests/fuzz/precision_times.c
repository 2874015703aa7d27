/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the times of layers. What is accepted has times that are numbers of at least 0, is
 * written again, and read back with the same times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "precision/precision.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_precision_layer layers[] = {{.name = "a"}, {.name = "b\"\n"}};
    pgy_precision p = {.options = pgy_precision_options_default(), .layers = layers},
                  again = {.options = p.options, .layers = layers};
    char *text = NULL;
    pgy_error err = {0};
    p.summary.layers = again.summary.layers = 2;
    if (times_create(&p, &err) || times_create(&again, &err)) abort();
    if (!times_parse(&p, (span){(const char *)data, size}, "input", &err)) {
        for (size_t i = 0; i < 2; i++)
            if (!(p.times.wide[i] >= 0) || !(p.times.narrow[i] >= 0)) abort();
        if (json_to_text(&text, times_write, &p, &err)) abort();
        if (times_parse(&again, (span){text, strlen(text)}, "output", &err)) abort();
        if (memcmp(p.times.wide, again.times.wide, 2 * sizeof(double)) != 0) abort();
        mem_free(text);
    }
    times_deinit(&p.times);
    times_deinit(&again.times);
    return 0;
}
