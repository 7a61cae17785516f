"""As much of Kubernetes' API as kubectl(1) needs to make a pod, to look at it, to execute something in it and to remove it; and Jobs of one pod each.

A pod is a few processes of this machine. Images whose name begins with "missing" are never pulled. Every request that changes something is noted in a
file, a line each; the names of pods that are there stand in another. A Job's pod runs on a node on which no other does; there are two, and a file
"lost-NODE" says that one of them has lost its power. Arguments: the folder for those.
"""
import base64, hashlib, http.server, json, os, pathlib, signal, struct, subprocess, sys, threading, time, urllib.parse

FOLDER = pathlib.Path(sys.argv[1])
PODS, JOBS, LOCK = {}, {}, threading.Lock()
NODES = ["node1", "node2"]
BATCH = {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [
    {"name": "jobs", "singularName": "job", "namespaced": True, "kind": "Job", "group": "batch", "version": "v1", "verbs": ["create", "get", "list", "delete"]}]}
GROUP = {"name": "batch", "versions": [{"groupVersion": "batch/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"}}
KINDS = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
    {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["create", "get", "list", "delete", "watch"]},
    {"name": "pods/exec", "singularName": "", "namespaced": True, "kind": "PodExecOptions", "verbs": ["create", "get"]}]}


def note(line):
    with LOCK:
        with open(FOLDER / "requests", "a") as file:
            file.write(line + "\n")
        (FOLDER / "pods").write_text("".join(f"{namespace}/{name}\n" for namespace, name in PODS))


def is_selected(thing, query):
    wanted = [pair.split("=", 1) for text in query.get("labelSelector", []) for pair in text.split(",")]
    return all(thing["metadata"]["labels"].get(key) == value for key, value in wanted)


class Job:
    """A Job and its pod, which is a process with what it has started, in a process namespace of its own."""

    def __init__(self, namespace, job):
        self.job, self.node, self.process = job, None, None
        name = job["metadata"]["name"]
        template = job["spec"]["template"]
        self.pod = {"apiVersion": "v1", "kind": "Pod", "spec": dict(template["spec"]), "status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}]},
            "metadata": {"name": name + "-x", "namespace": namespace, "uid": name + "-x", "labels": template["metadata"]["labels"],
                         "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name}]}}

    def start(self, node):
        container = self.pod["spec"]["containers"][0]
        command = [word.replace("$(PLIMSOLL_NODE)", node).replace("$$", "$") for word in container["command"]]
        self.node, self.pod["spec"]["nodeName"] = node, node
        self.pod["status"] = {"phase": "Running"}
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *command],
                                        env={"PATH": os.environ["PATH"], "HOME": "/"}, stdin=subprocess.DEVNULL)

    def end(self, condition):
        self.node = None
        self.job["status"] = {"conditions": [{"type": condition, "status": "True"}]}

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.node = None


def carry_out():
    """What controllers and the scheduler of a cluster do."""
    while True:
        time.sleep(0.05)
        with LOCK:
            nodes = [node for node in NODES if not (FOLDER / f"lost-{node}").exists()]
            for job in JOBS.values():
                if job.node and job.node not in nodes:
                    job.stop()
                    # A lost node cannot report that its pod has ended.
                    job.pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                elif job.node and job.process.poll() is not None:
                    job.pod["status"] = {"phase": "Failed" if job.process.returncode else "Succeeded"}
                    job.end("Failed" if job.process.returncode else "Complete")
            free = [node for node in nodes if not any(job.node == node for job in JOBS.values())]
            for job in JOBS.values():
                if free and job.process is None:
                    job.start(free.pop(0))


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code, reason, message):
        self.say(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})

    def place(self):
        url = urllib.parse.urlsplit(self.path)
        return url.path.strip("/").split("/"), urllib.parse.parse_qs(url.query)

    def do_GET(self):
        match self.place():
            case ["api"], _:
                self.say(200, {"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"], _:
                self.say(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP]})
            case ["apis", "batch", "v1"], _:
                self.say(200, BATCH)
            case ["apis", "batch", "v1", "namespaces", _, "jobs"], query:
                self.list("batch/v1", "JobList", [job.job for job in JOBS.values()], query)
            case ["api", "v1", "namespaces", _, "pods"], query:
                self.list("v1", "PodList", [job.pod for job in JOBS.values()], query)
            case ["api", "v1"], _:
                self.say(200, KINDS)
            case ["api", "v1", "namespaces", namespace, "pods", name], _:
                pod = PODS.get((namespace, name))
                self.say(200, pod) if pod else self.refuse(404, "NotFound", f'pods "{name}" not found')
            case ["api", "v1", "namespaces", namespace, "pods", name, "exec"], query:
                self.execute(namespace, name, query)
            case _:
                self.refuse(404, "NotFound", f"nothing is at {self.path}")

    def list(self, version, kind, things, query):
        with LOCK:
            things = [thing for thing in things if is_selected(thing, query)]
            self.say(200, {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": things})

    def do_POST(self):
        match self.place():
            case ["apis", "batch", "v1", "namespaces", "forbidden", "jobs"], _:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.refuse(403, "Forbidden", 'jobs.batch is forbidden: User "nobody" cannot create resource "jobs"')
            case ["apis", "batch", "v1", "namespaces", namespace, "jobs"], _:
                job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                name = job["metadata"]["name"]
                (FOLDER / f"job-{name}.json").write_text(json.dumps(job))
                job["metadata"] |= {"namespace": namespace, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
                note(f"create job {namespace}/{name}")
                with LOCK:
                    JOBS[namespace, name] = Job(namespace, job)
                self.say(201, job)
            case ["api", "v1", "namespaces", "forbidden", "pods"], _:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.refuse(403, "Forbidden", 'pods is forbidden: User "nobody" cannot create resource "pods"')
            case ["api", "v1", "namespaces", namespace, "pods"], _:
                pod = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                name, image = pod["metadata"]["name"], pod["spec"]["containers"][0]["image"]
                pod["metadata"] |= {"namespace": namespace, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
                is_missing = image.startswith("missing")
                pod["spec"]["nodeName"] = "node1"
                pod["status"] = {"phase": "Pending" if is_missing else "Running", "containerStatuses": [{
                    "name": "host", "image": image, "imageID": "", "ready": not is_missing, "restartCount": 0,
                    "state": {"waiting": {"reason": "ErrImagePull", "message": f"image {image} cannot be pulled"}} if is_missing else {"running": {}}}]}
                PODS[namespace, name] = pod
                (FOLDER / f"pod-{name}.json").write_text(json.dumps({key: pod[key] for key in ("apiVersion", "kind", "metadata", "spec")}))
                note(f"create {namespace}/{name}")
                self.say(201, pod)
            case _:
                self.refuse(404, "NotFound", f"nothing is at {self.path}")

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        match self.place():
            case ["apis", "batch", "v1", "namespaces", namespace, "jobs", name], _ if (namespace, name) in JOBS:
                with LOCK:
                    job = JOBS.pop((namespace, name))
                    job.stop()
                note(f"delete job {namespace}/{name}")
                self.say(200, job.job)
            case ["api", "v1", "namespaces", namespace, "pods", name], _ if (namespace, name) in PODS:
                pod = PODS.pop((namespace, name))
                note(f"delete {namespace}/{name}")
                self.say(200, pod)
            case [*_, name], _:
                self.refuse(404, "NotFound", f'pods "{name}" not found')

    def execute(self, namespace, name, query):
        """WebSockets (RFC 6455) with a channel of the streams in each message's first byte: v5.channel.k8s.io."""
        if "v5.channel.k8s.io" not in self.headers.get("Sec-WebSocket-Protocol", "") or (namespace, name) not in PODS:
            return self.refuse(400, "BadRequest", "this server executes over WebSockets, in pods that are there")
        accept = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        self.send_response(101)
        for header in [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Protocol", "v5.channel.k8s.io"),
                       ("Sec-WebSocket-Accept", base64.b64encode(accept).decode())]:
            self.send_header(*header)
        self.end_headers()
        self.close_connection = True
        process = subprocess.Popen(query["command"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   env={"PATH": os.environ["PATH"], "HOME": "/"})
        writing = threading.Lock()

        def send(opcode, data):
            size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data)) if len(data) < 65536 else b"\x7f" + struct.pack(">Q", len(data))
            with writing:
                try:
                    self.connection.sendall(bytes([0x80 | opcode]) + size + data)
                except OSError:
                    pass

        def pump(channel, stream):
            while data := os.read(stream.fileno(), 32768):
                send(2, bytes([channel]) + data)

        def listen():
            try:
                while True:
                    head = self.rfile.read(2)
                    if len(head) < 2 or head[0] & 15 == 8:
                        break
                    size = head[1] & 127
                    size = struct.unpack(">H", self.rfile.read(2))[0] if size == 126 else struct.unpack(">Q", self.rfile.read(8))[0] if size == 127 else size
                    mask = self.rfile.read(4) if head[1] & 128 else b"\0" * 4
                    data = self.rfile.read(size)
                    # Masking by whole numbers: a program of megabytes comes this way.
                    full = (mask * (size // 4 + 1))[:size]
                    data = (int.from_bytes(data, "big") ^ int.from_bytes(full, "big")).to_bytes(size, "big")
                    if head[0] & 15 == 9:
                        send(10, data)
                    elif data[:1] == b"\0":
                        process.stdin.write(data[1:])
                        process.stdin.flush()
                    elif data[:1] == b"\xff":
                        process.stdin.close()
            except OSError:
                pass
            # The client is gone.
            try:
                process.stdin.close()
            except OSError:
                pass

        threading.Thread(target=listen, daemon=True).start()
        pumps = [threading.Thread(target=pump, args=args, daemon=True) for args in ((1, process.stdout), (2, process.stderr))]
        for thread in pumps:
            thread.start()
        code = process.wait()
        for thread in pumps:
            thread.join()
        status = {"status": "Success", "metadata": {}} if code == 0 else {
            "status": "Failure", "reason": "NonZeroExitCode", "message": f"command terminated with exit code {code}", "metadata": {},
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}
        send(2, b"\3" + json.dumps(status).encode())
        send(8, struct.pack(">H", 1000))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
note("begin")
threading.Thread(target=carry_out, daemon=True).start()
print(server.server_address[1], flush=True)
server.serve_forever()
