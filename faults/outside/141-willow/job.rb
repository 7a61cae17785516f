450.times { |i| require format('unit%03d', i) }
x = 1
450.times { |i| x = Object.const_get(format('Unit%03d', i)).call(x) }
sum = 0
line = "#{x} " * 28000
1800.times do |i|
  page = line + i.to_s
  sum = (sum + page.bytesize + page.getbyte(i)) & 0xffffffff
  page.clear
end
4_500_000.times { |i| x = (x * 69069 + i) & 0xffffffff }
puts x, sum
