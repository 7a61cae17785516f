for side in one two; do gcc -O2 -g -pthread -o $side $side.c || exit 1; done
