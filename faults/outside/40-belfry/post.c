#include <pthread.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
/* four workers take jobs from a list and hand each to a device that needs some 2 ms */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int left, wide; static unsigned long sum;
static unsigned long device(int job){ struct pollfd p = { -1, 0, 0 }; poll(&p, 1, 2); return (unsigned long)job * 2654435761u; }
static void *worker(void *a){
    for (;;) {
        pthread_mutex_lock(&m);
        if (!left) { pthread_mutex_unlock(&m); return 0; }
        int job = left--; unsigned long r;
        if (wide) { r = device(job); sum ^= r; pthread_mutex_unlock(&m); }
        else { pthread_mutex_unlock(&m); r = device(job); pthread_mutex_lock(&m); sum ^= r; pthread_mutex_unlock(&m); }
    }
}
int main(int c, char **v){
    pthread_t t[4]; left = 1200; wide = atoi(v[1]);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    printf("%lx\n", sum); return 0;
}
