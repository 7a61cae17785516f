#!/usr/bin/ruby
# work.rb ROUNDS HELPERS FILES
rounds, helpers, files = ARGV.map(&:to_i)
opened = (1..files).map { |i| File.open(i.odd? ? __FILE__ : '/dev/null') }
inbox = Thread::Queue.new
crew = (1..helpers).map { |i| Thread.new { Thread.current.name = "helper-#{i}"; inbox.pop } }
words = Hash.new(0)
x = 12345
text = (1..4000).map { x = (x * 1103515245 + 12345) & 0x7fffffff; (x >> 8).to_s(36) }
sum = 0
rounds.times do |r|
  text.each { |w| words[w] += w.length }
  sum = (sum * 31 + text.sort_by { |w| w.reverse }.first.hash % 7 * 0 + words.size) & 0xffffff
end
helpers.times { inbox.push(nil) }
crew.each(&:join)
opened.each(&:close)
puts "#{sum} #{words.size}"
