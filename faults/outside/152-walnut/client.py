import socket, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def ask(b, end):
    s.sendall(b)
    d = b""
    while not d.endswith(end):
        d += s.recv(65536)
    return d
for i in range(200):
    ask(b"set k%d 0 0 500\r\n" % i + b"v" * 500 + b"\r\n", b"STORED\r\n")
n, t = 0, time.perf_counter()
end = t + float(sys.argv[3])
while time.perf_counter() < end:
    for i in range(50):
        ask(b"get k%d k%d\r\n" % (i, i + 90), b"END\r\n")
    n += 50
print("rate %.1f per second" % (n / (time.perf_counter() - t)))
