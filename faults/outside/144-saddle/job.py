import socket, threading, sys
n = int(sys.argv[1])
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 7144)); s.listen(64)
def serve():
    for _ in range(n):
        c, _a = s.accept()
        while True:
            d = c.recv(65536)
            if not d:
                break
            c.sendall(d[::-1])
        c.close()
t = threading.Thread(target=serve); t.start()
total = 0
for i in range(n):
    c = socket.create_connection(("127.0.0.1", 7144))
    for j in range(10):
        c.sendall(b"%08d" % (i * 10 + j) * 16)
        total += len(c.recv(65536))
    c.close()
t.join()
print(total)
