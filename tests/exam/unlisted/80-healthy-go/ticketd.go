/* SPDX-License-Identifier: GPL-2.0-or-later */

// ticketd ADDRESS: an HTTP server that calculates a checksum for each request, about 1 ms, and counts requests under a
// lock that nobody ever has to wait for.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"sync"
)

var (
	mutex sync.Mutex
	count int
	data  [400000]byte
)

func ticket(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256(data[:])
	mutex.Lock()
	count++
	number := count
	mutex.Unlock()
	fmt.Fprintf(w, "%d %x\n", number, sum)
}

func main() {
	http.HandleFunc("/", ticket)
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], nil))
	os.Exit(1)
}
