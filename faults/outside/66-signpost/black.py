# holds the old resolver's address; answers nothing
import socket
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('127.0.0.53',53))
while 1: s.recv(512)
