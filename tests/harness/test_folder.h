/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for the temporary files of a test program. TMPDIR names it, so the library's files are
 * there, too. It is removed when the program ends. If the program is killed, the next test program
 * removes it: each holds a lock on its own folder.
 *
 *     char path[TEST_PATH_SIZE];
 *     test_path(path, "model_XXXXXX");
 *     assert_non_null(mkdtemp(path)); */
#ifndef HARNESS_TEST_FOLDER_H
#define HARNESS_TEST_FOLDER_H

enum { TEST_PATH_SIZE = 200 };

/* Makes the folder; the main function of every test program calls it first. */
void test_folder_start(void);
/* Writes the path of a file of this name in the folder. */
void test_path(char path[TEST_PATH_SIZE], const char *name);
/* Ends a child that a test forked: where an assertion fails in it, cmocka goes on with the list of
 * tests there, too, and each test that forks would double the processes. Runs before each test. */
void test_folder_end_child(void);

#endif
