#!/bin/bash
set -e
D=/var/tmp/c133; mkdir -p $D/plain $D/other/lib; cd $D; : > pids
cat > plain/run.rb <<'X'
def gcd(a,b) while b!=0; a,b=b,a%b; end; a end
def words(n) r=[]; x=12345; n.times{ x=(x*1103515245+12345)&0x7fffffff; r << "w#{x%5000}" }; r end
def count(l) h=Hash.new(0); l.each{|w| h[w]+=1}; h end
def primes(n) s=Array.new(n+1,true); i=2; while i*i<=n; if s[i]; j=i*i; while j<=n; s[j]=false; j+=i; end; end; i+=1; end; s.count(true)-2 end
t=0
200000.times{|i| t+=gcd(i*7+1,i*3+2)}
h=count(words(800000))
puts t, h.size, h.values.max, primes(5000000)
X
cat > other/lib/d_number_tools.rb <<'X'
# greatest common divisor
def greatest_common_divisor_of_two(first_number,second_number)
  while second_number!=0
    first_number,second_number=second_number,first_number%second_number
  end
  first_number
end
X
cat > other/lib/c_word_source.rb <<'X'
def list_of_words(how_many)
  result=[]; state=12345
  how_many.times{ state=(state*1103515245+12345)&0x7fffffff; result << "w#{state%5000}" }
  result
end
X
cat > other/lib/b_counting.rb <<'X'
def count_of_each(list_of_things)
  table=Hash.new(0)
  list_of_things.each{|thing| table[thing]+=1}
  table
end
X
cat > other/lib/a_sieve.rb <<'X'
def number_of_primes(limit)
  sieve=Array.new(limit+1,true); candidate=2
  while candidate*candidate<=limit
    if sieve[candidate]
      multiple=candidate*candidate
      while multiple<=limit; sieve[multiple]=false; multiple+=candidate; end
    end
    candidate+=1
  end
  sieve.count(true)-2
end
X
cat > other/run.rb <<'X'
# the second edition, in several files
%w[a_sieve b_counting c_word_source d_number_tools].each{|f| require_relative "lib/#{f}"}
grand_total=0
200000.times{|i| grand_total+=greatest_common_divisor_of_two(i*7+1,i*3+2)}
table=count_of_each(list_of_words(800000))
puts grand_total, table.size, table.values.max, number_of_primes(5000000)
X
for i in $(seq 800); do echo "# unused $i" > other/lib/unused_$i.rb; done
test "$(ruby --disable=gems plain/run.rb)" = "$(ruby --disable=gems other/run.rb)"
