import random
random.seed(7)
for k in range(3):
    o=['#include <stdio.h>','#include <stdlib.h>','#include <string.h>','#include <time.h>','#include <sys/socket.h>','#include <netinet/in.h>','#include "local.h"']
    for i in range(90):
        o.append(f"int f{k}_{i}(int a,int b){{ int s=0; for(int i=a;i<b;i++){{ s+=i*{i+3}; if(s>{i*77}) s-=b*{i+1}; }} return s+LOCAL; }}")
    open(f'm{k}.c','w').write('\n'.join(o)+'\n')
open('local.h','w').write('#define LOCAL 3\n')
