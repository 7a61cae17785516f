"""Runs a command with a limit of memory, its output in files; prints its exit status, its kilobytes and its seconds.

usage: launch.py MEMORY HANGS_AFTER COMMAND...
"""
import resource, subprocess, sys

memory, hangs_after = int(sys.argv[1]), int(sys.argv[2])


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


with open("stdout", "w") as stdout, open("stderr", "w") as stderr:
    command = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, preexec_fn=limit)
    try:
        command.wait(hangs_after)
    except subprocess.TimeoutExpired:
        command.kill()
        command.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(command.returncode, used.ru_maxrss, used.ru_utime + used.ru_stime)
