import random, sys
w = sys.argv[1]
def cmd(*p):
    b = b"*%d\r\n" % len(p)
    for x in p:
        x = x.encode()
        b += b"$%d\r\n%s\r\n" % (len(x), x)
    return b
N = 200
fill = [cmd("HSET", "stock", f"item:{i:05d}", str(i * 7 % 97)) for i in range(N)]
s1 = ("local v = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') "
      "local n = tonumber(ARGV[2]) if v >= n then return v - n end return -1")
s2 = ("local v = tonumber(redis.call('HGET', 'stock', 'item:%05d') or '0') "
      "local n = tonumber('%d') if v >= n then return v - n end return -1")
for k in (1, 2):
    r = random.Random(5)
    with open(f"{w}/{k}/fill", "wb") as f:
        f.write(b"".join(fill))
    with open(f"{w}/{k}/feed", "wb") as f:
        for j in range(int(sys.argv[2])):
            for _ in range(11):
                f.write(cmd("HGET", "stock", f"item:{r.randrange(N):05d}"))
            for m in range(7):
                f.write(cmd("LPUSH", "log", f"order {j} step {m} done"))
            if j % 2:
                continue
            i, n = r.randrange(N), r.randrange(1, 100000)
            f.write(cmd("EVAL", s1, "1", "stock", f"item:{i:05d}", str(n)) if k == 1 else cmd("EVAL", s2 % (i, n), "0"))
        f.write(cmd("DEL", "log"))
        f.write(cmd("SCRIPT", "FLUSH"))
