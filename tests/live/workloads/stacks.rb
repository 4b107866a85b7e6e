# SPDX-License-Identifier: GPL-2.0-or-later
# As stacks.py: every tenth call goes through Enumerable#sort_by, and another tenth through Enumerable#each_slice. Runs until
# it is killed.
require "socket"

DEPTH = 60
HERE, THERE = UNIXSocket.pair
TAKEN = Mutex.new
NEVER = ConditionVariable.new

def echo
  loop { THERE.write(THERE.readpartial(1)) }
end

def burn
  from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  total = 0
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < from + 0.004
    100.times { |i| total += i ^ (total & 7) }
  end
end

def nap
  sleep 0.001
end

def want
  TAKEN.synchronize { NEVER.wait(TAKEN, 0.001) }
end

def ask
  HERE.write("x")
  HERE.readpartial(1)
end

def down(depth, bottom)
  if depth == 0
    send(bottom)
  elsif depth % 10 == 0
    [depth - 1].sort_by do |below|
      down(below, bottom)
    end
  elsif depth % 10 == 5
    [depth - 1].each_slice(1) do |below|
      down(below[0], bottom)
    end
  else
    down(depth - 1, bottom)
  end
end

def top
  loop do
    %i[burn nap want ask].each do |bottom|
      down(DEPTH, bottom)
    end
  end
end

Thread.new { echo }
puts "ready"
$stdout.flush
top
