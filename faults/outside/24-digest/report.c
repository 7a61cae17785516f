#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static void *nap(void *x) { for (;;) pause(); return x; }
static void company(void)
{
    for (int i = 0; i < 150; i++) socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, 0, nap, 0); }
}
#include "work.h"
int main(void) { company(); printf("%lu\n", work()); return 0; }
