/* SPDX-License-Identifier: GPL-2.0-or-later */

// statsd ADDRESS: a web server whose handlers need the same mutex for 3 ms of work each.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	statsLock sync.Mutex
	stats     float64
	waiting   atomic.Int32
)

//go:noinline
func recount() {
	for end := time.Now().Add(3 * time.Millisecond); time.Now().Before(end); {
		for i := 0; i < 1000; i++ {
			stats = stats*0.999 + float64(i)
		}
	}
}

//go:noinline
func updateStats() {
	waiting.Add(1)
	statsLock.Lock()
	waiting.Add(-1)
	defer statsLock.Unlock()
	recount()
}

func main() {
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		updateStats()
		fmt.Fprintln(answer, "ok")
	})
	go func() {
		for range time.Tick(time.Second) {
			fmt.Println(waiting.Load(), "goroutines wait")
		}
	}()
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		panic(err)
	}
}
