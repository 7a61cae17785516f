/* relief CONF: smooths a height map from north to south and prints a check number */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define REACH 12
int main(int argc, char **argv) {
    int cols, rows, pitch, rounds;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : 0;
    if (!f || fscanf(f, "columns %d rows %d pitch %d rounds %d", &cols, &rows, &pitch, &rounds) != 4) return 1;
    float *a = aligned_alloc(4096, ((size_t)pitch * rows * sizeof(float) + 4095) & ~4095ul);
    float *line = malloc(cols * sizeof(float)), w[2 * REACH + 1];
    if (!a || !line) return 2;
    memset(a, 0, (size_t)pitch * rows * sizeof(float));
    for (int k = 0; k <= 2 * REACH; k++) w[k] = (1 + (k < REACH ? k : 2 * REACH - k)) / (float)((REACH + 1) * (REACH + 1));
    unsigned s = 1;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < cols; x++) a[(size_t)y * pitch + x] = (s = s * 1664525u + 1013904223u) >> 20;
    double sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int y = REACH; y < rows - REACH; y += 3) {
            for (int x = 0; x < cols; x++) {
                const float *p = a + (size_t)(y - REACH) * pitch + x;
                float t = 0;
                for (int k = 0; k <= 2 * REACH; k++, p += pitch) t += w[k] * *p;
                line[x] = t;
            }
            memcpy(a + (size_t)y * pitch, line, cols * sizeof(float));
            sum += line[(y * 7 + r) % cols];
        }
    printf("%.0f\n", sum);
    return 0;
}
