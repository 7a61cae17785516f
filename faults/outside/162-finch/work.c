#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <unistd.h>
#include <fcntl.h>
#define SIZE 256
#define SLOTS 40000
static int fd;
static void mark(int type, long slot) {
  struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = slot * SIZE, .l_len = SIZE - 1 };
  if (fcntl(fd, F_SETLK, &l)) { perror("fcntl"); exit(1); }
}
int main(int argc, char **argv) {
  fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  int group = atoi(argv[2]), total = 80000;
  static uint64_t rec[SIZE / 8];
  uint64_t sum = 0;
  for (int i = 0; i < total; i += group) {
    for (int j = i; j < i + group; j++) {
      long slot = (long)j * 7919 % SLOTS;
      mark(F_WRLCK, slot);
      if (pread(fd, rec, SIZE, slot * SIZE) != SIZE) return 1;
      for (int r = 0; r < 100; r++) for (int k = 0; k < SIZE / 8; k++) { rec[k] = rec[k] * 6364136223846793005ull + r; sum ^= rec[k] >> 7; }
      rec[0]++;
      if (pwrite(fd, rec, SIZE, slot * SIZE) != SIZE) return 1;
    }
    for (int j = i; j < i + group; j++) mark(F_UNLCK, (long)j * 7919 % SLOTS);
  }
  printf("%d\n", sum != 1);
}
