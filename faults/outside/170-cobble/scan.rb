# scan.rb FOLDER: counts the tokens of the texts in a folder
count = Hash.new(0)
depth = 0
Dir.glob("#{ARGV[0]}/*.txt").sort.each do |name|
  text = File.read(name, encoding: "UTF-8")
  i = 0
  n = text.length
  word = +""
  while i < n
    c = text[i]
    if c >= "a" && c <= "z" || c >= "A" && c <= "Z"
      word << c
    else
      unless word.empty?
        count[word.downcase] += 1
        word = +""
      end
      depth += 1 if c == "("
      depth -= 1 if c == ")"
    end
    i += 1
  end
end
best = count.max_by { |k, v| [v, k] }
puts "#{count.size} #{best[0]} #{best[1]} #{depth}"
