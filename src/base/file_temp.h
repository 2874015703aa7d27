/* SPDX-License-Identifier: Apache-2.0 */
/* The list of temporary files, which must not outlive the process. */
#ifndef BASE_FILE_TEMP_H
#define BASE_FILE_TEMP_H

/* From now on exit or a signal removes the file. If memory is short, the file is not registered. */
void temp_register(const char *path);
void temp_forget(const char *path); /* undoes temp_register; the file stays */

#endif
