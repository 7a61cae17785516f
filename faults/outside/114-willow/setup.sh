#!/bin/bash
set -e
D=/var/tmp/c114; mkdir -p $D/in; cd $D; : > pids
chmod 755 $D
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f hostkey; ssh-keygen -q -t ed25519 -N '' -f id; cp id.pub auth
cat > sshd_config <<X
Port 21140
ListenAddress 127.0.0.1
HostKey $D/hostkey
AuthorizedKeysFile $D/auth
PidFile $D/sshd.pid
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
Compression yes
Subsystem sftp internal-sftp
X
/usr/bin/python3 - <<'X'
import os, base64, hmac, hashlib
D = '/var/tmp/c114'
key = ' '.join(open(D + '/hostkey.pub').read().split()[:2])
def line(host, k):
    s = os.urandom(20); h = hmac.new(s, host.encode(), hashlib.sha1).digest()
    return '|1|%s|%s %s\n' % (base64.b64encode(s).decode(), base64.b64encode(h).decode(), k)
me = line('[127.0.0.1]:21140', key)
def other(i): return line('host%d.fleet.test' % i, 'ssh-ed25519 ' + base64.b64encode(b'\0\0\0\x0bssh-ed25519\0\0\0 ' + os.urandom(32)).decode())
open(D + '/known_a', 'w').write(''.join(other(i) for i in range(40)) + me)
open(D + '/known_b', 'w').write(''.join(other(i) for i in range(165000)) + me)
import random
random.seed(1)
open(D + '/data', 'wb').write(b''.join(b'%d:' % random.getrandbits(40) + random.randbytes(6) for i in range(550000)))
X
for n in a b; do cat > ssh_$n <<X
Host *
  Port 21140
  User root
  IdentityFile $D/id
  IdentitiesOnly yes
  UserKnownHostsFile $D/known_$n
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  UpdateHostKeys no
  HostKeyAlgorithms ssh-ed25519
X
done
echo '  Compression no' >> ssh_a; echo '  Compression yes' >> ssh_b
setsid /usr/sbin/sshd -D -f $D/sshd_config -E $D/sshd.log </dev/null >/dev/null 2>&1 & echo $! >> pids
until (exec 3<>/dev/tcp/127.0.0.1/21140) 2>/dev/null; do sleep 0.1; done
