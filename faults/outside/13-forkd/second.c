#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CACHE (32UL << 20)

int main(int argc, char **argv)
{
    char *cache = mmap(0, CACHE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(cache, CACHE, MADV_NOHUGEPAGE);
    for (unsigned long i = 0; i < CACHE; i += 4096)
        cache[i] = (char)i + 1;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[2])) };
    inet_pton(AF_INET, argv[1], &a.sin_addr);
    if (bind(s, (void *)&a, sizeof a) || listen(s, 256))
        return 1;
    for (;;) {
        int c = accept(s, 0, 0);
        if (c < 0)
            continue;
        if (fork() == 0) {
            char b[4096];
            static const char out[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
            int n = 0;
            while (n < (int)sizeof b - 1) {
                int r = read(c, b + n, sizeof b - 1 - n);
                if (r <= 0)
                    _exit(0);
                n += r;
                b[n] = 0;
                if (strstr(b, "\r\n\r\n"))
                    break;
            }
            if (write(c, out, sizeof out - 1) < 0)
                _exit(1);
            _exit(0);
        }
        close(c);
    }
}
