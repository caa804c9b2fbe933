/*
 * A disk that can lose power and fail, for LD_PRELOAD: of the files under $DISK_LIVE only what was
 * there at their last sync survives, as a copy in $DISK_KEPT; while the file $DISK_FAILS exists
 * every sync of them answers EIO; each sync takes $DISK_DELAY microseconds more. Files that were removed are gone with the next sync, as on a
 * journalling file system. It models the loss of cached writes, not torn sectors.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_live(int fd, char *name, size_t size) {
  const char *live = getenv("DISK_LIVE");
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (!live || length <= 0) return 0;
  path[length] = 0;
  size_t prefix = strlen(live);
  if (strncmp(path, live, prefix) || path[prefix] != '/' || strchr(path + prefix + 1, '/')) return 0;
  snprintf(name, size, "%s", path + prefix + 1);
  return 1;
}

static void forget_removed(const char *live, const char *kept) {
  DIR *folder = opendir(kept);
  struct dirent *entry;
  while (folder && (entry = readdir(folder))) {
    char there[PATH_MAX], copy[PATH_MAX];
    if (entry->d_name[0] == '.') continue;
    snprintf(there, sizeof there, "%s/%s", live, entry->d_name);
    snprintf(copy, sizeof copy, "%s/%s", kept, entry->d_name);
    if (access(there, F_OK)) unlink(copy);
  }
  if (folder) closedir(folder);
}

static void keep(int fd, const char *name) {
  const char *live = getenv("DISK_LIVE"), *kept = getenv("DISK_KEPT");
  if (!kept) return;
  char block[1 << 14];
  char draft[PATH_MAX], to[PATH_MAX];
  snprintf(draft, sizeof draft, "%s/.%s-%ld", kept, name, (long)syscall(SYS_gettid));
  snprintf(to, sizeof to, "%s/%s", kept, name);
  int out = open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  off_t at = 0;
  ssize_t got;
  while (out >= 0 && (got = pread(fd, block, sizeof block, at)) > 0) {
    if (write(out, block, (size_t)got) != got) break;
    at += got;
  }
  if (out >= 0) close(out);
  rename(draft, to);
  forget_removed(live, kept);
}

static int synced(int fd, const char *function) {
  char name[NAME_MAX + 1];
  int ours = is_live(fd, name, sizeof name);
  const char *fails = getenv("DISK_FAILS");
  if (ours && fails && !access(fails, F_OK)) {
    errno = EIO;
    return -1;
  }
  const char *delay = getenv("DISK_DELAY");
  if (ours && delay) usleep((useconds_t)atoi(delay));
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, function);
  int result = real(fd);
  if (ours && result == 0) keep(fd, name);
  return result;
}

int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }
