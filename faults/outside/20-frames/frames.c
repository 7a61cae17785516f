#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < 2500; i++) {
        size_t n = 200000 + (size_t)(i % 50) * 4000;
        unsigned char *p = malloc(n);
        memset(p, i, n);
        for (size_t k = 0; k < n; k++)
            sum = sum * 31 + p[k];
        free(p);
    }
    printf("%lu\n", sum);
    return 0;
}
