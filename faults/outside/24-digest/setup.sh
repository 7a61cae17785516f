gcc -O2 -g -o digest digest.c || exit 1
gcc -O2 -pthread -s -o report report.c
