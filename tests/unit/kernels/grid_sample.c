/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

static void run_case(const char *x, const char *grid, const char *mode, const char *padding,
                     int align, int64_t opset)
{
    reference_case c;
    reference_start(&c, "", "GridSample", opset);
    reference_attr_text(&c, "mode", mode);
    reference_attr_text(&c, "padding_mode", padding);
    reference_attr_int(&c, "align_corners", align);
    reference_input(&c, PGY_F32, x);
    float *at = reference_input(&c, PGY_F32, grid);
    const size_t count = pgy_tensor_count(c.inputs[1]);
    for (size_t i = 0; i < count; i++) at[i] *= 0.45f; /* from -1.8 to 1.8 */
    at[0] = -1;
    at[count - 1] = 1;
    if (count > 8) {
        at[3] = NAN;
        at[4] = INFINITY;
        at[5] = -1e30f;
    }
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

/* More positions than a stretch, and channels in several blocks. */
static void test_grid_sample__blocked_channels(void **state)
{
    (void)state;
    static const kernel_layout LAYOUTS[] = {KERNEL_LINEAR, KERNEL_BLOCKED_8, KERNEL_BLOCKED_16};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            reference_case c;
            reference_start(&c, "", "GridSample", 20);
            reference_attr_text(&c, "mode", k < 2 ? "linear" : k == 2 ? "nearest" : "cubic");
            reference_attr_text(&c, "padding_mode", k == 1 ? "border" : "zeros");
            reference_input(&c, PGY_F32, "2 21 6 5");
            float *at = reference_input(&c, PGY_F32, "2 9 15 2");
            for (size_t e = 0; e < 2 * 9 * 15 * 2; e++) at[e] *= 0.4f;
            at[7] = NAN;
            at[100] = -INFINITY;
            assert_true(reference_run_layout(&c, 1, LAYOUTS[i], TOLERANCE) > 0);
        }
}

static void test_grid_sample__modes_and_paddings(void **state)
{
    (void)state;
    static const char *const MODES[] = {"nearest", "linear", "cubic"};
    static const char *const PADDINGS[] = {"zeros", "border", "reflection"};
    for (int mode = 0; mode < 3; mode++)
        for (int padding = 0; padding < 3; padding++)
            for (int align = 0; align < 2; align++) {
                run_case("2 3 5 7", "2 4 20 2", MODES[mode], PADDINGS[padding], align, 20);
                run_case("1 2 9", "1 6 1", MODES[mode], PADDINGS[padding], align, 22);
                run_case("1 3 1 1", "1 3 3 2", MODES[mode], PADDINGS[padding], align, 20);
                run_case("1 2 4 5 6", "1 2 3 4 3", MODES[mode], PADDINGS[padding], align, 20);
            }
    run_case("1 2 5 7", "1 9 9 2", "bilinear", "zeros", 0, 16);
    run_case("1 2 5 7", "1 9 9 2", "bicubic", "border", 1, 16);
}
