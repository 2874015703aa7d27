/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a layer's unit tests. It runs those of one file: it is called
 * test.<layer>.<module>. TESTS names a file with a line TEST(module) for each. */
#include <stdio.h>
#include <string.h>

#define TEST(module) int main_##module(int argc, char **argv);
#include TESTS
#undef TEST

#define TEST(module) {#module, main_##module},
static const struct {
    const char *module;
    int (*run)(int argc, char **argv);
} MODULES[] = {
#include TESTS
};

int main(int argc, char **argv)
{
    const char *module = strrchr(argv[0], '.');
    for (size_t i = 0; module && i < sizeof MODULES / sizeof *MODULES; i++)
        if (strcmp(MODULES[i].module, module + 1) == 0) return MODULES[i].run(argc, argv);
    fprintf(stderr, "%s: the name does not end in one of these modules:\n", argv[0]);
    for (size_t i = 0; i < sizeof MODULES / sizeof *MODULES; i++)
        fprintf(stderr, "    .%s\n", MODULES[i].module);
    return 2;
}
