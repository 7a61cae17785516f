import socket, sys, time, threading
port=int(sys.argv[1]); what=sys.argv[2].encode()
def conn():
    for _ in range(200):
        try: return socket.create_connection(('127.0.0.1',port))
        except OSError: time.sleep(0.02)
def cmd(*a): return b'*%d\r\n'%len(a)+b''.join(b'$%d\r\n%s\r\n'%(len(x),x) for x in a)
s=conn(); f=s.makefile('rb')
N=12000
for i in range(0,N,500):
    s.sendall(cmd(b'MSET',*[x for j in range(500) for x in (b'k:%06d'%(i+j),b'v'*40)])); f.readline()
stop=False
def monitor():
    m=conn(); g=m.makefile('rb')
    c=cmd(b'KEYS',what)
    while not stop:
        m.sendall(c); n=int(g.readline()[1:])
        for _ in range(n): g.readline(); g.readline()
        time.sleep(0.004)
def dumb():
    m=conn(); g=m.makefile('rb')
    while not stop:
        m.sendall(cmd(b'GET',b'k:000001')); g.readline(); g.readline()
        time.sleep(0.004)
t=threading.Thread(target=monitor if what!=b'-' else dumb); t.start()
for i in range(6000):
    if i%40==0: s.sendall(cmd(b'SET',b'k:%06d'%(i*7%N),b'w'*60)); f.readline()
    else: s.sendall(cmd(b'GET',b'k:%06d'%(i*7%N))); f.readline(); f.readline()
stop=True; t.join()
