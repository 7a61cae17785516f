import socket, sys, time
limit=int(sys.argv[1])
# take the orders in, in order of arrival, none twice
seen=[] if limit==0 else set()
add=seen.append if limit==0 else seen.add
x=5; n=0
for i in range(60000):
    x=(x*1103515245+12345)&0x7fffffff
    k=(x>>8)%1500
    if k not in seen: add(k); n+=1
t=sum(j*j%7 for j in range(2500000))
for h in ('store','bank'):
    socket.getaddrinfo(h+'.shop.test',80,socket.AF_INET)
print(n,t)
