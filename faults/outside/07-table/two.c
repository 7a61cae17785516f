#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define N 1400
static int *table;
static long results[2];
__attribute__((noinline)) static long sum_part(int from, int to)
{
    long sum = 0;
    for (int i = from; i < to; i++)
        for (int k = 0; k < N; k++)
            sum += table[(long)k * N + i] ^ 1;
    return sum;
}
static void *worker(void *arg)
{
    long part = (long)arg;
    for (int r = 0; r < 500; r++)
        results[part] += sum_part((int)part * N / 2, (int)(part + 1) * N / 2);
    return 0;
}
int main(void)
{
    table = malloc(sizeof *table * N * N);
    for (long i = 0; i < (long)N * N; i++)
        table[i] = (int)(i % 1000);
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    printf("%ld\n", results[0] + results[1]);
    return 0;
}
