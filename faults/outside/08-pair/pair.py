import os, socket, sys, time, selectors
backlog = int(sys.argv[1])
N = 16
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(backlog)
port = s.getsockname()[1]
pid = os.fork()
if pid == 0:
    t = time.monotonic()
    while time.monotonic() - t < 0.15:        # warming up
        sum(range(1000))
    for _ in range(N):
        c, _ = s.accept()
        c.recv(64)
        c.sendall(b"x" * 2000)
        c.close()
    os._exit(0)
s.close()
sel = selectors.DefaultSelector()
for _ in range(N):
    c = socket.socket()
    c.setblocking(False)
    c.connect_ex(("127.0.0.1", port))
    sel.register(c, selectors.EVENT_WRITE)
left, got = N, 0
while left:
    for key, mask in sel.select():
        c = key.fileobj
        if mask & selectors.EVENT_WRITE:
            c.send(b"hello")
            sel.modify(c, selectors.EVENT_READ)
        else:
            d = c.recv(4096)
            got += len(d)
            if not d:
                sel.unregister(c); c.close(); left -= 1
os.waitpid(pid, 0)
print(got)
