#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  uint64_t x = 88172645463325252ull, sum = 0;
  for (int i = 0; i < n; i++) {
    x ^= x << 13; x ^= x >> 7; x ^= x << 17;
    size_t m = 150000 + x % 150000;
    uint64_t *a = malloc(m), *b = malloc(m / 2);
    size_t k = m / 8;
    for (size_t j = 0; j < k; j++) a[j] = x * (j + 1);
    for (size_t j = 0; j < k / 2; j++) { uint64_t v = a[j] ^ a[k - 1 - j]; b[j] = v ^ (v >> 29); }
    for (size_t j = 0; j < k / 2; j++) sum = (sum ^ b[j]) * 1099511628211ull;
    free(b); free(a);
  }
  printf("%llx\n", (unsigned long long)sum);
}
