/* SPDX-License-Identifier: Apache-2.0 */
/* Equations that become products, and those that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/pass_case.h"

static void expect_einsum(const char *x, const char *w, size_t count, const char *equation,
                          const char *nodes)
{
    model_builder b = start(x);
    if (w) weights(&b, "w", w, count);
    builder_attr_string(&b, builder_node(&b, "Einsum", w ? "x w" : "x", "y"), "equation", equation);
    expect_y(&b, nodes);
}

static void test_lower_einsum__products(void **state)
{
    (void)state;
    expect_einsum("3, 4", "4, 5", 20, "ij,jk->ik", "MatMul");
    expect_einsum("2, 3, 4", "2, 5, 4", 40, "bid,bjd->bij", "MatMul");
    expect_einsum("2, 3, 4, 5", "2, 6, 4, 5", 240, "b i n d, b j n d -> b n i j",
                  "Transpose MatMul");
    expect_einsum("2, 3, 4", "4, 2, 5", 40, "ibh,hnd->ibnd", "Reshape MatMul Reshape");
    expect_einsum("3, 2, 2, 4", "5, 2, 2, 4", 80, "ibnd,jbnd->bnij", "Transpose MatMul");
    expect_einsum("2, 3, 4, 5", "4, 3", 12, "bchw,hc->bw", "Transpose Reshape MatMul Reshape");
    expect_einsum("2, 3, 4, 5", "5, 6", 30, "bhwc,cd->bhwd", "MatMul");
    expect_einsum("3", "4", 4, "i,d->id", "Reshape MatMul");
    expect_einsum("3", "3", 3, "i,i->", "Reshape MatMul Reshape");
    expect_einsum("2, 2, 3, 4", "2, 2, 5, 4", 80, "...qd,...kd->...qk", "MatMul");
}

static void test_lower_einsum__a_product_of_channels_is_a_convolution(void **state)
{
    (void)state;
    expect_einsum("2, 3, 4, 5", "3, 6", 18, "bchw,cd->bdhw", "Conv");
    expect_einsum("2, 3, 4, 5", "3, 6", 18, "bchw,cd->bhwd", "Transpose FusedMatMul");
}

static void test_lower_einsum__exchanged_axes_are_part_of_the_product(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 4");
    builder_node(&b, "Abs", "x", "a");
    builder_attr_string(&b, builder_node(&b, "Einsum", "x a", "y"), "equation", "bid,bjd->bij");
    expect_y(&b, "Abs FusedMatMul");
}

static void test_lower_einsum__moves(void **state)
{
    (void)state;
    expect_einsum("2, 3, 4, 5", NULL, 0, "ijbn->bnij", "Transpose");
}

/* Two unknown sizes that are summed may differ although their product is the same. */
static void test_lower_einsum__unknown_sizes(void **state)
{
    (void)state;
    expect_einsum("2, k, 4", "2, 4, 5", 40, "bkd,bde->bke", "MatMul");
    expect_einsum("3, k, 4", "2, 4", 8, "ikd,kd->i", "Reshape MatMul Reshape");
    expect_einsum("3, k, m", "2, 2", 4, "ikm,km->i", "Einsum");
}

static void test_lower_einsum__diagonals_and_sums(void **state)
{
    (void)state;
    expect_einsum("3, 3", NULL, 0, "ii->i", "Reshape Slice");
    expect_einsum("3, 3", NULL, 0, "ii", "Reshape Slice ReduceSum");
    expect_einsum("3, 4, 3", NULL, 0, "iji->ji", "Transpose Reshape Slice Transpose");
    expect_einsum("3, 3, 3", NULL, 0, "iii", "Reshape Slice Reshape Slice ReduceSum");
    expect_einsum("2, 3, 3", NULL, 0, "...ii->...i", "Reshape Slice");
    expect_einsum("3, 4", NULL, 0, "ij->i", "ReduceSum");
    expect_einsum("3, 4", NULL, 0, "ij->", "ReduceSum");
    expect_einsum("2, 3, 4", NULL, 0, "...j->...", "ReduceSum");
}

static void test_lower_einsum__two_operands_of_any_form(void **state)
{
    (void)state;
    expect_einsum("3, 4", "4", 4, "ij,j", "MatMul Reshape");
    expect_einsum("3, 4", "5", 5, "ij,k->ik", "ReduceSum Reshape Mul");
    expect_einsum("3, 4", "3, 4", 12, "ij,ij->i", "Reshape MatMul Reshape");
    expect_einsum("2, 3, 4", "1, 4, 5", 20, "...ij,...jk->...ik", "Reshape MatMul Reshape");
    expect_einsum("2, 2, 3", "3, 4", 12, "iij,jk->ik", "Reshape Slice MatMul");
    expect_einsum("3, 4", "5, 4", 20, "ij,kj->", "ReduceSum Reshape MatMul Reshape");
}

/* An axis of size 1 repeats: who has the letter in full must not keep it for the other. */
static void test_lower_einsum__axes_of_size_one(void **state)
{
    (void)state;
    expect_einsum("3, 4", "1", 1, "ij,j->i", "ReduceSum Mul");
    expect_einsum("3, 4", "1, 5", 5, "ij,jk->ik", "ReduceSum Reshape Mul");
    expect_einsum("3, 1", "4, 5", 20, "ij,jk->ik", "Mul");
    expect_einsum("2, 3, 4", "2, 1, 5", 10, "bij,bjk->bik", "ReduceSum Reshape Mul");
    expect_einsum("3, 4", "3, 1", 3, "ij,ij->i", "ReduceSum Mul");
    expect_einsum("3, N", "1, 5", 5, "ij,jk->ik", "Einsum"); /* N may be more than 1 */
}

/* Random equations of up to five operands: the nodes differ, the results must not. Some axes have
 * size 1 in one operand alone. */
static void test_lower_einsum__random_equations(void **state)
{
    (void)state;
    static const char *const SIZES[] = {"2", "3", "4", "1", "5"};
    static const size_t NUMBERS[] = {2, 3, 4, 1, 5};
    uint32_t random = 1;
    for (size_t round = 0; round < 240; round++) {
        char equation[128] = "", shapes[5][64], names[32] = "x";
        size_t count = 1 + round % 5, counts[5], at = 0;
        bool used[5] = {false};
        for (size_t k = 0; k < count; k++) {
            const size_t rank = 1 + (random = random * 1664525u + 1013904223u) / 65536 % 3;
            const uint32_t ones = (random = random * 1664525u + 1013904223u) / 65536;
            shapes[k][0] = 0;
            counts[k] = 1;
            if (k) equation[at++] = ',';
            for (size_t i = 0; i < rank; i++) {
                const size_t c = (random = random * 1664525u + 1013904223u) / 65536 % 5;
                equation[at++] = (char)('a' + c);
                used[c] = true;
                const bool one = round >= 60 && (ones >> 3 * c & 7) == 0;
                counts[k] *= one ? 1 : NUMBERS[c];
                if (i) strcat(shapes[k], ", ");
                strcat(shapes[k], one ? "1" : SIZES[c]);
            }
        }
        equation[at++] = '-';
        equation[at++] = '>';
        const uint32_t kept = (random = random * 1664525u + 1013904223u) / 65536;
        for (size_t c = 0; c < 5; c++) {
            const size_t turned = kept & 32 ? 4 - c : c;
            if (used[turned] && (kept >> turned & 1)) equation[at++] = (char)('a' + turned);
        }
        model_builder b = start(shapes[0]);
        for (size_t k = 1; k < count; k++) {
            char name[] = {'w', (char)('0' + k), 0};
            weights(&b, name, shapes[k], counts[k]);
            strcat(strcat(names, " "), name);
        }
        builder_attr_string(&b, builder_node(&b, "Einsum", names, "y"), "equation", equation);
        expect_y(&b, NULL);
    }
}

static void test_lower_einsum__three_operands(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 20");
    weights(&b, "w", "20, 25", 500);
    weights(&b, "v", "25, 4", 100);
    builder_attr_string(&b, builder_node(&b, "Einsum", "x w v", "y"), "equation", "abc,cd,de->abe");
    expect_y(&b, "Reshape MatMul Reshape"); /* both weights are multiplied first, once */
}

static void test_lower_einsum__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_einsum)) skip();
    test_lower_einsum__products(state);
    test_lower_einsum__moves(state);
    test_lower_einsum__diagonals_and_sums(state);
    test_lower_einsum__two_operands_of_any_form(state);
    refuse_allocations_of(NULL);
}
