exec redis-server --bind {{address}} --port {{port}} --dir {{scratch}} --save "" --appendonly no --protected-mode no
