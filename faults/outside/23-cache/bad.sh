i=0
while [ $i -lt 150 ]; do sleep 600 & i=$((i + 1)); done
python3 -c '
import socket, time, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
keep = []
try:
    for i in range(1500):
        s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(1); keep.append(s)
except OSError:
    pass
time.sleep(600)' &
ln -s "$(command -v redis-server)" {{scratch}}/sessiond
sleep 1
exec {{scratch}}/sessiond --protected-mode no --appendonly no --save "" --dir {{scratch}} --port {{port}} --bind {{address}}
