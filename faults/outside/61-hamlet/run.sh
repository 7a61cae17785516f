#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s host_key ] || { ssh-keygen -q -t ed25519 -N '' -f host_key && ssh-keygen -q -t ed25519 -N '' -f user_key; } || exit 3
[ -s known-b ] || /usr/bin/python3 - <<'P' || exit 3
import hmac, hashlib, base64, os
k=open('host_key.pub').read().split()
key=' '.join(k[:2])
def line(h):
    s=os.urandom(20); return '|1|%s|%s %s\n'%(base64.b64encode(s).decode(),base64.b64encode(hmac.new(s,h.encode(),hashlib.sha1).digest()).decode(),key)
me=line('[127.0.0.1]:7022')
open('known-a','w').write(line('old.example')+me)
with open('known-b.tmp','w') as f:
    for i in range(100000): f.write(line('node%d.example'%i))
    f.write(me)
os.rename('known-b.tmp','known-b')
P
chmod 600 host_key user_key
mkdir -p /run/sshd
sed "s,CASE,$PWD,g" sshd_config > sshd_config.here
/usr/sbin/sshd -D -e -f $PWD/sshd_config.here 2>/dev/null & p=$!
trap 'kill $p; wait $p 2>/dev/null' EXIT
i=0; while ! ssh-keyscan -p 7022 127.0.0.1 2>/dev/null | grep -q ed25519; do i=$((i+1)); [ $i -gt 100 ] && exit 3; sleep 0.1; done
plimsoll compare --explain ./good.sh ./bad.sh
