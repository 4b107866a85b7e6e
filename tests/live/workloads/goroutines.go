/* SPDX-License-Identifier: GPL-2.0-or-later */

// Goroutines that wait all the time, each for a known reason, some that change between two, and one
// that runs.
package main

import (
	"fmt"
	"sync"
	"time"
)

var (
	lock sync.Mutex
	held = make(chan bool)
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

func main() {
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
