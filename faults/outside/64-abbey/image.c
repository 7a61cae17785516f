#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
/* brightens an image held as floats and writes the histogram of each row */
#define W 2064
#define H 2048
static float img[H][W];
int main(int c, char **v){
    int out = open("/dev/null", O_WRONLY); double s = 0;
    FILE *f = fdopen(out, "w");
    if (BUF == 0) setvbuf(f, 0, _IONBF, 0);
    for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) img[y][x] = (x * 31 + y * 17) % 255;
    for (int r = 0; r < 80; r++) {
        if (ROWS) { for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) img[y][x] = img[y][x] * 0.99f + 1; }
        else      { for (int x = 0; x < W; x++) for (int y = 0; y < H; y++) img[y][x] = img[y][x] * 0.99f + 1; }
        s += img[r][r];
    }
    for (int r = 0; r < 5; r++) for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) s += img[y][x] / (1.5f + r);
    for (int y = 0; y < H; y++) {
        int h[1024] = {0};
        for (int x = 0; x < W; x++) h[(int)img[y][x] & 1023]++;
        for (int i = 0; i < 160; i++) { putc(h[i] & 255, f); putc(h[i] >> 8, f); }
    }
    fclose(f); printf("%f\n", s); return 0;
}
