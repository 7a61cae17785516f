import os, random, sys
w, files, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(3)
vocab = ["".join(r.choice("abcdefghijklmnoprstuvw") for _ in range(r.randrange(2, 10))) for _ in range(3000)]
for k in (1, 2):
    os.makedirs(f"{w}/{k}", exist_ok=True)
for j in range(files):
    out, size = [], 0
    while size < n:
        x = r.choice(vocab)
        if r.random() < .03: x = "(" + x + ")"
        out.append(x); size += len(x) + 1
    text = " ".join(out) + "\n"
    for k, last in ((1, "by Andre Noel"), (2, "by Andr\u00e9 No\u00ebl")):
        open(f"{w}/{k}/{j:03d}.txt", "w", encoding="utf-8").write(text + last + "\n")
