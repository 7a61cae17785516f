import random, sys
r = random.Random(3)
w = sys.argv[1]
words = ["".join(r.choice("abcdefghijklmnop") for _ in range(r.randrange(2, 11))) for _ in range(6000)]
n = 0
out = open(w + "/whole", "w")
while n < 2600000:
    s = " ".join(words[min(int(r.expovariate(1 / 700)), 5999)] for _ in range(400)) + " %d\n" % r.getrandbits(40)
    out.write(s); n += len(s)
