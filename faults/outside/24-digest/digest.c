#include <stdio.h>
#include <stdlib.h>
#include "work.h"
int main(void) { printf("%lu\n", work()); return 0; }
