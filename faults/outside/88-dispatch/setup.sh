#!/bin/bash
set -e
D=/var/tmp/c88; rm -rf $D; mkdir -p $D; cd $D; : > pids
cat > logd.py <<'P'
import socket,os,sys,time
name,conf=sys.argv[1:]
c=dict(l.strip().split('=') for l in open(conf) if '=' in l)
s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.bind(name+'.sock')
slow=int(c.get('queue.dequeueSlowdown','0'))
f=os.open(name+'.log',os.O_WRONLY|os.O_CREAT|os.O_TRUNC,0o600); n=0
while True:
    m=s.recv(8192); os.write(f,m+b'\n'); n+=len(m)
    if slow: time.sleep(slow/1e6)
    if n>1<<20: os.ftruncate(f,0); os.lseek(f,0,0); n=0
P
cat > route.py <<'P'
import socket,sys,json,hashlib
s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.connect(sys.argv[1]); t=0
for r in range(int(sys.argv[2])):
    trips=[{'id':r*1000+i,'stops':['s%d'%(i*j%97) for j in range(8)],'km':i*1.5} for i in range(110)]
    by={}
    for x in trips:
        for q in x['stops']: by.setdefault(q,[]).append(x['id'])
    t+=sum(len(v) for v in by.values())+len(json.dumps(trips[:30]))
for h in range(150): s.send(b'<14>route: hub %d has %d stops planned'%(h,t//(h+1)))
print(t,hashlib.pbkdf2_hmac('sha256',b'plan',b'%d'%t,700000).hex())
P
printf 'Facility=local1\nqueue.dequeueSlowdown=2800\n' > ash.conf
printf 'Facility=local1\nqueue.dequeueSlowdown=0\n' > elm.conf
printf 'export ROUTE_TEAM=day\n' > elm.env
printf 'export ROUTE_TEAM=day PYTHONTRACEMALLOC=1\n' > ash.env
for n in elm ash; do /usr/bin/python3 logd.py $n $n.conf </dev/null >/dev/null 2>&1 & echo $! >> pids; done
sleep 0.5
