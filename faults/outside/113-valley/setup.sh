#!/bin/bash
set -e
D=/var/tmp/c113; mkdir -p $D/app1 $D/app2 $D/sess $D/tmp; cd $D; : > pids
chmod 755 $D
page() { cat <<X
<?php
$1
\$user = \$_SESSION['user'] ?? 'guest';
\$s = stream_socket_client('unix://$D/backend', \$e, \$m, 5);
fwrite(\$s, "report \$user {\$_GET['w']}\n");
\$r = fgets(\$s);
header('Content-Type: text/plain');
echo "\$user \$r";
X
}
page "session_start();" > app2/widget.php
page "session_start(['read_and_close' => true]);" > app1/widget.php
echo 'user|s:5:"maria";' > sess/sess_aq3v9d0b2c4e6f8g; printf 'user|s:5:"maria";' > sess/sess_aq3v9d0b2c4e6f8g
cat > backend.py <<'X'
import socket, threading, time, os
s = socket.socket(socket.AF_UNIX); s.bind('/var/tmp/c113/backend'); s.listen(50)
def one(c):
    q = c.recv(200); time.sleep(0.33); c.sendall(b'ok ' + q); c.close()
while True:
    c, _ = s.accept(); threading.Thread(target=one, args=(c,), daemon=True).start()
X
cat > fpm.conf <<X
[global]
pid = $D/fpm.pid
error_log = $D/fpm.log
daemonize = no
[www]
user = root
group = root
listen = $D/fpm.sock
pm = static
pm.max_children = 8
php_admin_value[session.save_path] = $D/sess
php_admin_value[session.gc_probability] = 0
X
cat > nginx.conf <<X
user root; worker_processes 1; daemon off; pid $D/nginx.pid; error_log $D/nginx-error.log;
events { worker_connections 256; }
http {
 client_body_temp_path $D/tmp; proxy_temp_path $D/tmp; fastcgi_temp_path $D/tmp; uwsgi_temp_path $D/tmp; scgi_temp_path $D/tmp;
 access_log $D/access.log;
 server { listen 127.0.0.1:21131; root $D/app1; location ~ \.php\$ { include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name; fastcgi_pass unix:$D/fpm.sock; } }
 server { listen 127.0.0.1:21132; root $D/app2; location ~ \.php\$ { include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name; fastcgi_pass unix:$D/fpm.sock; } }
}
X
setsid /usr/bin/python3 backend.py </dev/null >/dev/null 2>&1 & echo $! >> pids
setsid php-fpm8.2 -R -n -y $D/fpm.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
setsid nginx -e $D/nginx-error.log -c $D/nginx.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
until curl -s -f -o /dev/null http://127.0.0.1:21131/widget.php?w=0; do sleep 0.2; done
