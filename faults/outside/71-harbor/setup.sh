#!/bin/bash
set -e
D=/var/tmp/c71; rm -rf $D; mkdir -p $D; cd $D
cat > app.py <<'P'
import asyncio
body=b'{"quote": 41.7}'*20
resp=b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n'%len(body)+body
async def h(r,w):
    try:
        while True:
            await r.readuntil(b'\r\n\r\n')
            await asyncio.sleep(0.02)
            w.write(resp)
    except Exception: pass
    w.close()
async def main():
    s=await asyncio.start_server(h,'127.0.0.1',7171)
    await s.serve_forever()
asyncio.run(main())
P
cat > h.cfg <<C
global
  maxconn 500
  stats socket /var/tmp/c71/adm.sock mode 600
defaults
  mode http
  timeout connect 3s
  timeout client 10s
  timeout server 10s
  http-reuse always
frontend f1
  bind 127.0.0.1:7172
  default_backend b1
frontend f2
  bind 127.0.0.1:7173
  default_backend b2
backend b1
  server s1 127.0.0.1:7171 maxconn 60
backend b2
  server s1 127.0.0.1:7171 maxconn 6
C
/usr/bin/python3 app.py </dev/null >/dev/null 2>&1 & echo $! > pids
haproxy -f h.cfg -db </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 1
