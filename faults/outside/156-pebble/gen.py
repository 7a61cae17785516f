import random, sys
r = random.Random(11)
lines = ["row %d %x %x" % (i, r.getrandbits(64), r.getrandbits(64)) for i in range(3000)]
o = sys.stdout
n = int(sys.argv[1])
for c in range(1, n + 1):
    for k in range(6):
        i = r.randrange(len(lines))
        lines[i] = "row %d %x %x" % (i, r.getrandbits(64), r.getrandbits(64))
    data = "\n".join(lines) + "\n"
    o.write("commit refs/heads/main\ncommitter A <a@example.test> %d +0000\ndata 8\nchange\n\n" % (1600000000 + c * 60))
    o.write("M 100644 inline table.txt\ndata %d\n%s\n" % (len(data), data))
