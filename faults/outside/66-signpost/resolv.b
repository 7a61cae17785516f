nameserver 127.0.0.53
nameserver 127.0.0.1
options timeout:1 attempts:2
