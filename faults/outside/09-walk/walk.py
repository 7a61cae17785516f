import os
n = 0
for _ in range(100):
    for i in range(100):
        p = f"tree/f{i}"
        n += os.stat(p).st_size
        fd = os.open(p, os.O_RDONLY)
        n += len(os.read(fd, 64))
        os.close(fd)
x = 0
for i in range(2_500_000):
    x += i & 7
print(n, x)
