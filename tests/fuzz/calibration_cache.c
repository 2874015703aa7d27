/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration caches: any bytes give scales or an error. */
#include "engine/precision/calibrate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_error err = {0};
    scale_table scales = {0};
    pgy_calibrator kind = PGY_CALIBRATOR_ENTROPY_2;
    if (calibration_cache_parse(&scales, &kind, (const char *)data, size, "cache", &err) == PGY_OK)
        (void)scales_find(&scales, "x");
    scales_deinit(&scales);
    return 0;
}
