#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* sieves blocks: each round takes a fresh block and marks and sums it at random places */
int main(int c, char **v){
    unsigned long x = 88172645463325252ul, s = 0;
    for (int r = 0; r < 5; r++) {
        size_t n = 96u << 20; unsigned *p = malloc(n); size_t m = n / sizeof *p;
        for (long i = 0; i < 200000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; s += p[(x + (s & 1)) % m]++; }
        free(p);
    }
    printf("%lu\n", s); return 0;
}
