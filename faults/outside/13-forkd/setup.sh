for side in first second; do gcc -O2 -g -o $side $side.c || exit 1; done
