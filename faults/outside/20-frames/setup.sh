gcc -O2 -g -fno-builtin-malloc -o frames frames.c
