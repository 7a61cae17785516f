#!/bin/bash
set -e
D=/var/tmp/c104; mkdir -p $D/a/www $D/b/srv/vhosts/main $D/a/tmp $D/b/tmp; cd $D; : > pids
chmod 755 $D
/usr/bin/python3 -c "
import random
random.seed(2)
print('\n'.join('%d;%d;item %d;%x'%(i,random.randrange(10**6),i%97,random.randrange(2**32)) for i in range(130000)))" > a/www/list.csv
cp a/www/list.csv b/srv/vhosts/main/list.csv
conf() { # dir workers root port extra
cat <<X
user root; worker_processes $2; daemon off; pid $D/$1/pid; error_log $D/$1/error.log;
events { worker_connections 256; }
http {
 client_body_temp_path $D/$1/tmp; proxy_temp_path $D/$1/tmp; fastcgi_temp_path $D/$1/tmp; uwsgi_temp_path $D/$1/tmp; scgi_temp_path $D/$1/tmp;
 log_format wide '\$remote_addr - \$remote_user [\$time_local] "\$request" \$status \$body_bytes_sent "\$http_referer" "\$http_user_agent" \$request_time \$connection \$host';
 access_log $D/$1/access.log $5;
 gzip on; gzip_comp_level 6; gzip_types text/csv; types { text/csv csv; }
 server { listen 127.0.0.1:$4; server_name main; root $3; }
$(cat $1/extra)
}
X
}
: > a/extra
for i in $(seq 20); do echo " server { listen 127.0.0.1:$((21460+i)); server_name v$i; root $D/b/srv; }"; done > b/extra
echo " access_log $D/b/all.log wide;" >> b/extra
conf a 1 $D/a/www 21440 combined > a/nginx.conf
conf b 3 $D/b/srv/vhosts/main 21450 wide > b/nginx.conf
for n in a b; do setsid nginx -e $D/$n/error.log -c $D/$n/nginx.conf </dev/null >/dev/null 2>&1 & echo $! >> pids; done
for p in 21440 21450; do until curl -s -o /dev/null http://127.0.0.1:$p/; do sleep 0.1; done; done
