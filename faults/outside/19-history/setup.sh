rm -rf loose packed
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.test GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.test GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git init -q -b main packed
python3 - <<'P' | git -C packed fast-import --quiet
import sys
o = sys.stdout
for c in range(4500):
    o.write(f"commit refs/heads/main\ncommitter a <a@b.test> {1700000000 + c} +0000\ndata 2\nc\n")
    for k in range(2):
        t = f"line {c} {k}\n" * 20
        o.write(f"M 100644 inline dir{(c * 7 + k) % 40}/sub{c % 9}/file{k}.txt\ndata {len(t)}\n{t}\n")
P
git -C packed repack -a -d -q; git -C packed config gc.auto 0
git init -q -b main loose; git -C loose config gc.auto 0
cat packed/.git/objects/pack/*.pack | git -C loose unpack-objects -q
cp packed/.git/packed-refs loose/.git/ 2>/dev/null; git -C loose update-ref refs/heads/main "$(git -C packed rev-parse main)"
