import socket
n = 0
for r in range(2):
    for i in range(30):
        n += len(socket.getaddrinfo(f"node{i}.cluster.test", 80, socket.AF_INET, socket.SOCK_STREAM))
x = 0
for i in range(2_500_000):
    x += i & 7
print(n, x)
