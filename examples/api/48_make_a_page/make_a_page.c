/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a model, and what is known about it, as a page.
 *
 *     make_a_page page.html model.onnx [results.json ...] [other.onnx b=results.json ...]
 *
 * A second model is compared with the first; results of it begin with "b=". The name of the page
 * may also end in .svg or .png. */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static pgy_status add(pgy_page *page, const char *file, pgy_error *err)
{
    if (strncmp(file, "b=", 2) != 0) return pgy_page_add(page, file, err);
    return pgy_page_add_results(page, file + 2, PGY_PAGE_B, 0, err);
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_page *page = NULL;
    char *text = NULL;
    const pgy_page_options options = {.size = sizeof options, .title = "A page of my own"};
    if (argc < 3) return 2;
    pgy_status st = pgy_page_create(&page, &options, &err);
    for (int i = 2; i < argc && !st; i++) st = add(page, argv[i], &err);
    if (!st) st = pgy_page_save(page, argv[1], &err);
    for (size_t i = 0; page && i < pgy_page_warning_count(page); i++)
        printf("warning: %s\n", pgy_page_warning(page, i));
    if (!st) printf("page saved to %s\n", argv[1]);
    if (!st) st = pgy_page_text(&text, page, &err);
    if (!st) printf("%s", text);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_text_free(text);
    pgy_page_destroy(page);
    return st != PGY_OK;
}
