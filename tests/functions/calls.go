/* SPDX-License-Identifier: GPL-2.0-or-later */

// calls SECONDS: goroutines call work() and, on stacks that grow and are moved, descend(). Prints how often.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var worked, descended int64

//go:noinline
func work(number int64) int64 {
	atomic.AddInt64(&worked, 1)
	return number * 2
}

//go:noinline
func descend(depth int) int {
	var room [512]byte
	atomic.AddInt64(&descended, 1)
	room[depth%512] = byte(depth)
	if depth == 0 {
		return int(room[0])
	}
	return descend(depth-1) + int(room[depth%512])
}

// Each goroutine begins with a small stack, which grows.
func turn(done *sync.WaitGroup) {
	defer done.Done()
	for i := int64(0); i < 10; i++ {
		work(i)
	}
	descend(40)
}

func main() {
	seconds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for time.Now().Before(end) {
		var done sync.WaitGroup
		for i := 0; i < 8; i++ {
			done.Add(1)
			go turn(&done)
		}
		done.Wait()
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Println(atomic.LoadInt64(&worked), atomic.LoadInt64(&descended))
}
