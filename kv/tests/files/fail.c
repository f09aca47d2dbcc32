/* Makes every third flush fail while the file $FAIL_WHILE exists, and appends a byte to it for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int flushes;

static int flush(const char *name, int file) {
    const char *path = getenv("FAIL_WHILE");
    int told = path ? open(path, O_WRONLY | O_APPEND) : -1;
    if (told >= 0) {
        int fails = atomic_fetch_add(&flushes, 1) % 3 == 2;
        if (fails && write(told, "x", 1) != 1)
            abort();
        close(told);
        if (fails) {
            errno = EIO;
            return -1;
        }
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(file);
}

int fsync(int file) { return flush("fsync", file); }
int fdatasync(int file) { return flush("fdatasync", file); }
