import socket, threading, sys
addr, port = sys.argv[1], int(sys.argv[2])
BODY = b"status: fine\n" * 40
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(BODY)

def answer(c):
    c.sendall(HEAD + BODY)

def serve(c):
    buf = b""
    try:
        while True:
            while b"\r\n\r\n" not in buf:
                d = c.recv(65536)
                if not d:
                    return
                buf += d
            req, buf = buf.split(b"\r\n\r\n", 1)
            answer(c)
            if b"connection: close" in req.lower():
                return
    except OSError:
        pass
    finally:
        c.close()

s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((addr, port))
s.listen(128)
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
