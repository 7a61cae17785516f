import socket, sys, time
port=int(sys.argv[1])
for _ in range(200):
    try: s=socket.create_connection(('127.0.0.1',port)); break
    except OSError: time.sleep(0.02)
f=s.makefile('rb')
def cmd(*a): return b'*%d\r\n'%len(a)+b''.join(b'$%d\r\n%s\r\n'%(len(x),x) for x in a)
def rd(k):
    for _ in range(k):
        l=f.readline()
        if l[:1]==b'$' and l!=b'$-1\r\n': f.readline()
N=3000
for i in range(0,N,200):
    s.sendall(b''.join(cmd(b'HSET',b'stock',b'item:%06d'%(i+j),b'%d'%(i+j)) for j in range(200))); rd(200)
x=7
for r in range(200):
    q=[]
    for j in range(200):
        x=(x*1103515245+12345)&0x7fffffff
        q.append(cmd(b'HGET',b'stock',b'item:%06d'%(x%N)))
    s.sendall(b''.join(q)); rd(200)
