import random
random.seed(11)
for k in range(5):
    o=['#include <stdio.h>','#include <stdlib.h>']
    for i in range(50):
        o.append(f"int f{k}_{i}(int a,int b){{ int s=0; for(int i=a;i<b;i++){{ s+=i*{i+3}; if(s>{i*77}) s-=b*{i+1}; }} return s; }}")
    open(f'src/m{k}.c','w').write('\n'.join(o)+'\n')
open('src/Makefile','w').write('OBJ=$(patsubst %.c,%.o,$(wildcard *.c))\nall.a: $(OBJ)\n\tar cr $@ $(OBJ)\n%.o: %.c\n\tgcc -O1 -c $< -o $@\nclean:\n\trm -f $(OBJ) all.a\n')
