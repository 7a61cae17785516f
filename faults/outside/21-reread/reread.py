import os, sys
name, group, limit = sys.argv[1:4]
g = "/sys/fs/cgroup/memory/" + group
os.makedirs(g, exist_ok=True)
open(g + "/memory.limit_in_bytes", "w").write(limit)
open(g + "/cgroup.procs", "w").write(str(os.getpid()))
fd = os.open(name, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
n = 0
buf = bytearray(1 << 18)
for _ in range(8):
    os.lseek(fd, 0, 0)
    while True:
        r = os.readv(fd, [buf])
        if not r:
            break
        n += buf[0]
print(n)
