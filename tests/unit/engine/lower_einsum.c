/* SPDX-License-Identifier: Apache-2.0 */
/* Equations that become products, and those that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
    expect_einsum("3", "4", 4, "i,d->id", "Reshape MatMul");
    expect_einsum("3", "3", 3, "i,i->", "Reshape MatMul Reshape");
    expect_einsum("2, 2, 3, 4", "2, 2, 5, 4", 80, "...qd,...kd->...qk", "MatMul");
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

static void test_lower_einsum__others_stay(void **state)
{
    (void)state;
    expect_einsum("3, 3", NULL, 0, "ii->i", "Einsum");
    expect_einsum("3, 4", NULL, 0, "ij->i", "Einsum");
    expect_einsum("3, 4", "4", 4, "ij,j", "Einsum");
    expect_einsum("3, 4", "5", 5, "ij,k->ik", "Einsum");
}
