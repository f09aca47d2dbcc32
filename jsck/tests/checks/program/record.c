/* Loaded into the program under test: notes writes, syncs, and whether the undo file has its name.
   A line is `write PATH`, `sync PATH`, each followed by ` named` once the file NAMED exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static void note(const char *what, int fd) {
  static ssize_t (*plain_write)(int, const void *, size_t);
  char link[64], path[4096], line[5000];
  const char *log = getenv("RECORD_TO"), *named = getenv("RECORD_NAMED");
  if (!log || !named) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t len = readlink(link, path, sizeof path - 1);
  if (len < 0) return;
  path[len] = 0;
  int size = snprintf(line, sizeof line, "%s %s%s\n", what, path, access(named, F_OK) ? "" : " named");
  if (!plain_write) plain_write = dlsym(RTLD_NEXT, "write");
  int out = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (out < 0) return;
  if (plain_write(out, line, size) != size) abort();
  close(out);
}

#define RECORDED(what, type, name, parameters, arguments)        \
  type name parameters {                                         \
    static type(*next) parameters;                               \
    if (!next) next = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    note(what, fd);                                              \
    return next arguments;                                       \
  }

RECORDED("write", ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
RECORDED("write", ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
RECORDED("write", ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
RECORDED("write", ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
RECORDED("write", ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t o), (fd, v, n, o))
RECORDED("write", ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t o), (fd, v, n, o))
RECORDED("sync", int, fsync, (int fd), (fd))
RECORDED("sync", int, fdatasync, (int fd), (fd))
