import os, socket, sys, time
scratch, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(150):
    if os.fork() == 0:
        time.sleep(3600)
        os._exit(0)
keep = [open(f"{scratch}/f{i}", "w") for i in range(300)]
while len(keep) < 700:
    try:
        keep.append(socket.create_connection((address, port)))
    except OSError:
        time.sleep(0.05)
time.sleep(3600)
