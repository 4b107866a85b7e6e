/* SPDX-License-Identifier: GPL-2.0-or-later */

// Collections and other stops of all goroutines, with what the runtime says of them. Collects
// garbage until it is told to begin. A goroutine that calls nothing for a while, and cannot be
// interrupted, makes every stop long.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

const (
	cycles = 60
	stops  = 40
	span   = 4 * time.Millisecond
)

var (
	kept  [][]byte
	total int
)

func now() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

// The number of rounds of burn() that take that long.
func rounds() int {
	const some = 10000000
	since := time.Now()
	burn(some)
	return int(some * float64(span) / float64(time.Since(since)))
}

//go:noinline
func burn(rounds int) {
	for i := 0; i < rounds; i++ {
		total += i ^ total>>3
	}
}

func mark(begun chan bool) {
	for {
		select {
		case <-begun:
			return
		case <-time.After(50 * time.Millisecond):
			runtime.GC()
		}
	}
}

func stats() (int64, int64) {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	return stats.NumGC, int64(stats.PauseTotal)
}

func work() {
	var memory runtime.MemStats
	before, _ := stats()
	for at := before; at < before+cycles; at, _ = stats() {
		kept = append(kept[len(kept)/64:], make([]byte, 65536))
	}
	for i := 0; i < stops; i++ {
		runtime.ReadMemStats(&memory)
	}
	runtime.GC()
}

// The runtime reads this when it starts.
func forbidInterrupts() {
	if os.Getenv("GODEBUG") != "" {
		return
	}
	os.Setenv("GODEBUG", "asyncpreemptoff=1")
	if err := syscall.Exec("/proc/self/exe", os.Args, os.Environ()); err != nil {
		panic(err)
	}
}

func main() {
	forbidInterrupts()
	var told [1]byte
	begun := make(chan bool)
	ended := make(chan bool)
	once := rounds()
	go func() {
		os.Stdin.Read(told[:])
		begun <- true
	}()
	fmt.Println("ready")
	mark(begun)
	go func() {
		for {
			burn(once)
			runtime.Gosched()
		}
	}()
	go func() {
		begin := now()
		count, pause := stats()
		work()
		countThen, pauseThen := stats()
		end := now()
		row := `{"begin_ns": %d, "end_ns": %d, "place": "%s", "operation": "%s", "count": %d, "ns": %d}` + "\n"
		all := `{"begin_ns": %d, "end_ns": %d, "place": "%s", "count": %d, "ns": %d}` + "\n"
		fmt.Printf(row, begin, end, "gc", "cycle begins", countThen-count, 0)
		fmt.Printf(row, begin, end, "gc", "mark termination", countThen-count, 0)
		fmt.Printf(all, begin, end, "gc", 2*(countThen-count), pauseThen-pause)
		fmt.Printf(all, begin, end, "safepoint", stops, 0)
		ended <- true
	}()
	<-ended
}
