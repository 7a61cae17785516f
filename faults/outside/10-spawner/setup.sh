gcc -O2 -g -o spawner spawner.c
