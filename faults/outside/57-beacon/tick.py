# counts primes and tells its progress from a timer
import signal, sys
step=float(sys.argv[1]); msg=''; at=0
def tell(n,f):
    global msg
    msg=''.join('#' if at*600>i*67500 else '.' for i in range(800))+' %.1f %%'%(at/900)
signal.signal(signal.SIGALRM,tell)
signal.setitimer(signal.ITIMER_REAL,step,step)
def main():
    global at
    n=0
    for at in range(3,200000,2):
        d=3
        while d*d<=at:
            if at%d==0: break
            d+=2
        else: n+=1
    signal.setitimer(signal.ITIMER_REAL,0)
    print(n)
main()
