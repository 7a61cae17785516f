#!/bin/bash
set -e
D=/var/tmp/c94; mkdir -p $D/w; cd $D; : > pids
export HOME=$D
git init -q -b main w
/usr/bin/python3 - > stream <<'X'
import random
random.seed(4)
out=[]
files={f'dir{i%9}/file{i}.txt':[f'line {j} of {i} {random.randrange(99999)}' for j in range(300)] for i in range(40)}
names=sorted(files)
for c in range(1500):
    print(f"commit refs/heads/main\ncommitter A U Thor <a@example.org> {1700000000+c*600} +0000\ndata 12\ncommit {c:05d}")
    for n in (names if c==0 else random.sample(names,4)):
        f=files[n]
        for k in range(12): f[random.randrange(len(f))]=f'changed {c} {random.randrange(99999)}'
        d='\n'.join(f)+'\n'
        print(f"M 100644 inline {n}\ndata {len(d)}\n{d}",end='')
    print()
X
git -C w fast-import --quiet < stream; rm stream
git -C w repack -q -adf --depth=20 >/dev/null 2>&1
mkdir -p "projects/team/release train/2026"
cp -a w "projects/team/release train/2026/product"
B="projects/team/release train/2026/product"
for i in $(seq 150); do echo "create refs/heads/topic/t$i main"; echo "create refs/tags/v1.$i main"; done | git -C "$B" update-ref --stdin
git -C "$B" pack-refs --all
for r in origin backup mirror; do git -C "$B" remote add $r https://$r.example.org/product.git; done
git -C "$B" config user.name Someone; git -C "$B" config user.email someone@example.org
for h in pre-commit post-checkout; do printf '#!/bin/sh\nexit 0\n' > "$B/.git/hooks/$h"; chmod +x "$B/.git/hooks/$h"; done
cp -L "$(command -v git)" gitx
