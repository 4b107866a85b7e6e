/* SPDX-License-Identifier: GPL-2.0-or-later */

// Goroutines that wait all the time, each for a known reason, some that change between two, and one
// that runs. When told to go, some change as often as is known: 100 that begin then, and one.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

var (
	lock sync.Mutex
	held = make(chan bool)
	done = make(chan bool, 100)
)

//go:noinline
func sleep() {
	time.Sleep(time.Hour)
}

//go:noinline
func receive() {
	<-make(chan int)
}

//go:noinline
func choose() {
	select {
	case <-make(chan int):
	case <-make(chan string):
	}
}

//go:noinline
func hold() {
	lock.Lock()
	held <- true
	sleep()
}

//go:noinline
func want() {
	lock.Lock()
}

//go:noinline
func change() {
	for {
		time.Sleep(30 * time.Millisecond)
		<-time.After(90 * time.Millisecond)
	}
}

//go:noinline
func burn() {
	for sum := 0; ; sum++ {
	}
}

// Sleeps for 50 of 51 ms.
//
//go:noinline
func nap() {
	for {
		time.Sleep(50 * time.Millisecond)
		for woken := time.Now(); time.Since(woken) < time.Millisecond; {
		}
	}
}

//go:noinline
func brief() {
	time.Sleep(time.Millisecond)
	done <- true
}

//go:noinline
func count() {
	os.Stdin.Read(make([]byte, 1))
	for i := 0; i < 200; i++ {
		time.Sleep(time.Millisecond)
	}
	for i := 0; i < 100; i++ {
		go brief()
	}
	for i := 0; i < 100; i++ {
		<-done
	}
	fmt.Println("ready again")
	time.Sleep(time.Hour)
}

func main() {
	go count()
	go nap()
	go hold()
	<-held
	for i := 0; i < 3; i++ {
		go sleep()
		go receive()
		go choose()
		go want()
	}
	for i := 0; i < 8; i++ {
		go change()
	}
	go burn()
	time.Sleep(200 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
