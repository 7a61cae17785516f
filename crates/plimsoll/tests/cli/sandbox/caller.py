"""Becomes a caller with much to lose, then runs a command: a session key, an open descriptor, files and sockets.

usage: caller.py TOKEN COMMAND...
"""
import ctypes, os, platform, socket, subprocess, sys

token, command = sys.argv[1], sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
keyctl, add_key = (219, 217) if platform.machine() == "aarch64" else (250, 248)
libc.syscall(keyctl, 1, None)
libc.syscall(add_key, b"user", token.encode(), b"key", 3, -3)
with open("secret", "w") as secret:
    os.fchmod(secret.fileno(), 0o600)
with open("/tmp/" + token, "w"):
    pass
if not os.path.exists("fifo"):
    os.mkfifo("fifo")
os.chmod("fifo", 0o666)
held = [os.open("fifo", os.O_RDWR), os.open("secret", os.O_RDWR)]
for name in ("socket", "\0" + token):
    listener = socket.socket(socket.AF_UNIX)
    if name == "socket" and os.path.exists(name):
        os.unlink(name)
    listener.bind(name)
    listener.listen()
    held.append(listener)
os.chmod("socket", 0o777)
os.set_inheritable(held[1], True)
status = subprocess.call(command, close_fds=False)
os.unlink("/tmp/" + token)
sys.exit(status)
