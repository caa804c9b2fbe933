// A disk that obeys a test, preloaded into a process: for the files under DISK_DIR
//  - only what was synced survives: at each sync a file is copied to DISK_SURVIVED, which is what a
//    machine would find after its power was cut (lost page cache; no torn sectors),
//  - while the file DISK_FAIL exists every sync fails with EIO.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static const char *watched(int fd, char *path, size_t size) {
  const char *dir = getenv("DISK_DIR");
  char link[64];
  struct stat st;
  if (!dir) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  size_t prefix = strlen(dir);
  if (strncmp(path, dir, prefix) || path[prefix] != '/') return NULL;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return NULL;
  return path + prefix + 1;
}

/* A deletion is on the disk with the next sync of anything, as on a journaled file system. */
static void forget_deleted(const char *survived) {
  const char *dir = getenv("DISK_DIR");
  char live[PATH_MAX], copy[PATH_MAX];
  struct dirent *entry;
  DIR *all = opendir(survived);
  while (all && (entry = readdir(all))) {
    if (entry->d_name[0] == '.') continue;
    snprintf(live, sizeof live, "%s/%s", dir, entry->d_name);
    snprintf(copy, sizeof copy, "%s/%s", survived, entry->d_name);
    if (access(live, F_OK)) unlink(copy);
  }
  if (all) closedir(all);
}

static void survive(const char *path, const char *name) {
  const char *to = getenv("DISK_SURVIVED");
  char whole[PATH_MAX], part[PATH_MAX];
  static char buffer[1 << 18];
  ssize_t got;
  if (!to) return;
  snprintf(whole, sizeof whole, "%s/%s", to, name);
  snprintf(part, sizeof part, "%s/.part", to);
  pthread_mutex_lock(&one_at_a_time);
  int in = open(path, O_RDONLY), out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in >= 0 && out >= 0)
    while ((got = read(in, buffer, sizeof buffer)) > 0)
      if (write(out, buffer, got) != got) break;
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  rename(part, whole);
  forget_deleted(to);
  pthread_mutex_unlock(&one_at_a_time);
}

static int synced(int fd, const char *symbol) {
  char path[PATH_MAX];
  const char *name = watched(fd, path, sizeof path);
  const char *fail = getenv("DISK_FAIL");
  if (name && fail && access(fail, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, symbol);
  int result = real(fd);
  if (result == 0 && name) survive(path, name);
  return result;
}

int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }
