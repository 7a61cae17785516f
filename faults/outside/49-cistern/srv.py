import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        s=sum(i*i for i in range(4000))
        b=b'%d\n'%s
        self.send_response(200); self.send_header('Content-Length',str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self,*a): pass
class S(http.server.HTTPServer): request_queue_size=256
S(('127.0.0.1',7084),H).serve_forever()
