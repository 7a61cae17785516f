head -c 100663296 /dev/urandom > data.one; cp data.one data.two; sync
