import subprocess, os, random
random.seed(2)
e=dict(os.environ, GIT_CONFIG_NOSYSTEM='1', HOME='/nonexistent')
g=['git','-C','b.git','-c','gc.auto=0','-c','fastimport.unpackLimit=0']
subprocess.run(['git','init','-q','--bare','b.git'],check=True,env=e)
for k in range(700):
    s=[]
    for j in range(4):
        t=''.join(random.choice('abcdefgh\n ') for _ in range(300))
        s.append(f"commit refs/heads/main\ncommitter A <a@b> {1700000000+k*4+j} +0000\ndata 2\nc\n"+("from refs/heads/main^0\n" if k and not j else "")+f"M 100644 inline d{k%20}/f{j}\ndata {len(t)}\n{t}\n")
    subprocess.run(g+['fast-import','--quiet','--force'],input=''.join(s).encode(),check=True,env=e)
subprocess.run(['git','clone','-q','--mirror','--no-local','b.git','a.git'],check=True,env=e)
subprocess.run(['git','-C','a.git','repack','-adq'],check=True,env=e)
ids=subprocess.run(['git','-C','a.git','cat-file','--batch-all-objects','--batch-check=%(objectname)'],check=True,env=e,stdout=subprocess.PIPE).stdout.split()
ids=ids*8
random.shuffle(ids)
open('ids.tmp','wb').write(b'\n'.join(ids)+b'\n')
os.rename('ids.tmp','ids')
