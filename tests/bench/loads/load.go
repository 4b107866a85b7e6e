/* SPDX-License-Identifier: GPL-2.0-or-later */
// Goroutines that run and wait; frame pointers, and stacks that move.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"time"
)

func work(words []string) {
	for {
		bytes, _ := json.Marshal(words)
		var copied []string
		_ = json.Unmarshal(bytes, &copied)
		sort.Strings(copied)
		sha256.Sum256(bytes)
		time.Sleep(2 * time.Millisecond)
	}
}

func main() {
	var words []string
	for i := 0; i < 2000; i++ {
		words = append(words, fmt.Sprintf("word%d", i*7919%1000))
	}
	go work(words)
	work(words)
}
