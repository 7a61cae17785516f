import socket, sys, threading, time
addr, port = sys.argv[1], int(sys.argv[2])
lock = threading.Lock()
seen = {}

def backend():
    time.sleep(0.012)

def verdict(sender):
    with lock:
        backend()
        seen[sender] = seen.get(sender, 0) + 1
    return b"action=DUNNO\n\n"

def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    f = c.makefile("rb")
    sender = b""
    for line in f:
        line = line.strip()
        if line.startswith(b"sender="):
            sender = line[7:]
        elif not line:
            c.sendall(verdict(sender))
    c.close()

s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", port))
s.listen(128)
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
