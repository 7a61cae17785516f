use strict; use IO::Socket::INET; use Socket qw(IPPROTO_TCP TCP_NODELAY);
my ($nodelay) = @ARGV;
my $l = IO::Socket::INET->new(Listen=>5, LocalAddr=>'127.0.0.1', Proto=>'tcp') or die;
my $port = $l->sockport;
my $pid = fork;
if (!$pid) {
    my $c = $l->accept; my $buf = '';
    while (1) {
        my $n = sysread($c, $buf, 4096, length $buf); last unless $n;
        while (length $buf >= 4) {
            my $len = unpack 'N', $buf; last if length $buf < 4+$len;
            my $msg = substr($buf, 4, $len); substr($buf, 0, 4+$len) = '';
            my $sum = 0; $sum += $_ for unpack 'C*', $msg;
            for my $j (1..15) { $sum = ($sum*31 + $_) % 1000003 for 1..40 }
            syswrite $c, pack 'NN', 4, $sum;
        }
    }
    exit 0;
}
my $s = IO::Socket::INET->new(PeerAddr=>'127.0.0.1', PeerPort=>$port, Proto=>'tcp') or die;
setsockopt($s, IPPROTO_TCP, TCP_NODELAY, 1) if $nodelay;
for my $i (1..9000) {
    my $msg = 'x' x (20 + $i % 50);
    if ($i % 360 == 0) { syswrite $s, pack 'N', length $msg; syswrite $s, $msg }
    else { syswrite $s, pack('N', length $msg).$msg }
    my $r = ''; while (length $r < 8) { sysread($s, $r, 8 - length $r, length $r) or die }
}
close $s; waitpid $pid, 0;
