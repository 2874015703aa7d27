/* SPDX-License-Identifier: Apache-2.0 */
/* Letters of pictures: which have outlines, and what stands for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/utf8.h"
#include "viewer/draw/glyphs.h"

static const uint32_t CHINESE = 0x6f22;

static void test_glyphs__names_and_symbols_of_our_texts_have_outlines(void **state)
{
    (void)state;
    static const char TEXT[] = "Größe façade ¿Ñandú? αβγ ΔΩ µs × → … ≥ ≤ ≠ ∞ √ – “x” 10⁻⁵ w₀ ⟨a⟩ ⚠";
    const char *const end = TEXT + sizeof TEXT - 1;
    for (int bold = 0; bold < 2; bold++) {
        const glyph_shape frame = glyph_of(CHINESE, bold);
        for (const char *at = TEXT; at < end;) {
            uint32_t c;
            at += utf8_read(at, end, &c);
            const glyph_shape g = glyph_of(c, bold);
            if (g.points == frame.points) fail_msg("U+%04X has no outline", c);
            assert_true(g.advance > 0);
            assert_true(c == ' ' || g.count > 0);
        }
    }
}

static void test_glyphs__others_are_frames_that_can_be_seen(void **state)
{
    (void)state;
    const glyph_shape frame = glyph_of(CHINESE, false);
    assert_true(frame.count > 4);
    assert_true(frame.advance > glyph_of('M', false).advance);
    assert_ptr_equal(glyph_of(0x1f600, true).points, frame.points);
    assert_true(glyph_text_width("漢", strlen("漢"), false) > 0.9);
}

static void test_glyphs__accents_lie_above_their_letters(void **state)
{
    (void)state;
    int top[2] = {0};
    static const uint32_t LETTERS[] = {'a', 0xe4};
    for (int i = 0; i < 2; i++) {
        const glyph_shape g = glyph_of(LETTERS[i], false);
        for (size_t k = 0; k < g.count; k++)
            if (g.points[k].y > top[i]) top[i] = g.points[k].y;
    }
    assert_true(top[1] > top[0] + 50);
    assert_int_equal(glyph_of(LETTERS[0], false).advance, glyph_of(LETTERS[1], false).advance);
}
