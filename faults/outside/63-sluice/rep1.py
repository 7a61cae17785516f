import sys
def score(n):
    a=[0]*(n+1); t=0
    for i in range(2,n+1):
        if a[i]==0:
            for j in range(i,n+1,i): a[j]+=1
        t+=a[i]*i
    return t
d={}
for w in range(200000):
    k='key%d'%(w%3001)
    d[k]=d.get(k,0)+w
print(score(700000), sum(d.values()))
