/* SPDX-License-Identifier: Apache-2.0 */
/* A library that leaves the file RAN when it is opened, whoever opens it. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_mark(void)
{
    const int fd = open("RAN", O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) close(fd);
}
