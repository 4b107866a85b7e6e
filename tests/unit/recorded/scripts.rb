# SPDX-License-Identifier: GPL-2.0-or-later
# Prints for methods and blocks of many shapes which line each of their instructions has, as Ruby
# itself says, and waits. record_scripts.c records what gapless reads of it. There is no `rescue`: its
# code has instructions without a line, which Ruby leaves out of what it prints.
require "objspace"

LONG_NAME = "a_name_that_does_not_fit_into_the_object_of_its_string"
SOURCES = [
  ["/srv/plain.rb", "def plain(x)\n  x\nend\n"],
  ["/srv/far.rb", "def far(x)\n  x += 1\n" + "\n" * 300 + "  x -= 1\n  x\nend\n"],
  ["/srv/blocks.rb", "def blocks(x)\n  x.each { |y|\n    y.map do |z|\n      z +\n        1\n" \
   "    end\n  }\nend\n"],
  ["/srv/long.rb", "def long(x)\n  x = [\n" + "    x + 1,\n" * 300 + "  ]\nend\n"],
  ["/srv/wide.rb", "def wide(x)\n  x = [" + "x + 1, " * 100 + "]\nend\n"],
  ["/srv/late.rb", "\n" * 70000 + "def late\n  1\nend\n"],
  ["/srv/" + LONG_NAME + ".rb", "def " + LONG_NAME + "\n  1\nend\n"],
  ["/srv/größe.rb", "def größe\n  1\nend\n"],
  ["/srv/class.rb", "class Shop\n  def sell\n    -> { 1 }\n  end\nend\n"],
]

def address_of(code)
  ObjectSpace.dump(code)[/"references":\["0x(\h+)"/, 1]
end

# [number of the instruction, its line], and at the end the number behind the last one.
def instructions_of(code)
  line = 0
  found = []
  code.disasm.each_line.with_index do |text, i|
    break if text.start_with?("== disasm") && i > 0
    next unless text =~ /\A(\d{4,}) /

    number = $1.to_i
    line = $1.to_i if text =~ /\(\s*(\d+)\)(\[\w+\])?$/
    found << [number, line]
  end
  found
end

def print_code(code)
  found = instructions_of(code)
  ends = found.drop(1).map(&:first)
  # The position of an instruction that has begun is that of the next one.
  places = [[0, found[0][1]]] + ends.zip(found.map(&:last))
  step = [places.size / 24, 1].max
  places.each_slice(step).map(&:first).push(places.last).uniq.each do |position, line|
    puts "frame #{address_of(code)} #{position} #{line} #{[code.first_lineno, 1].max} " \
         "#{code.path}|#{code.label}"
  end
  code.each_child { |child| print_code(child) }
end

$kept = SOURCES.map { |path, source| RubyVM::InstructionSequence.compile(source, path, path) }
$kept << RubyVM::InstructionSequence.compile("1\n2\n", "relative.rb", "/srv/relative.rb")
$kept.each { |code| print_code(code) }
puts "end"
$stdout.flush
sleep 600
