#define _GNU_SOURCE
#include <sys/fanotify.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
/* file watcher: looks into each file that is opened in the folder before letting it go */
int main(int c, char **v){
    int fd = fanotify_init(FAN_CLASS_CONTENT|FAN_CLOEXEC, O_RDONLY);
    if (fd < 0 || fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM|FAN_EVENT_ON_CHILD, AT_FDCWD, v[1])) { perror("fanotify"); return 1; }
    char buf[8192], data[65536]; unsigned long h = 0; ssize_t n;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        struct fanotify_event_metadata *m = (void *)buf;
        for (; FAN_EVENT_OK(m, n); m = FAN_EVENT_NEXT(m, n)) {
            ssize_t k = pread(m->fd, data, sizeof data, 0);
            for (int r = 0; r < 100; r++) for (ssize_t i = 0; i < k; i++) h = h * 31 + data[i];
            struct fanotify_response a = { m->fd, FAN_ALLOW };
            if (write(fd, &a, sizeof a) < 0) return 1;
            close(m->fd);
        }
    }
    return h == 1;
}
