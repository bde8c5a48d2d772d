// SPDX-License-Identifier: MIT

// smallweb as a co-process: one process that fetches whatever a program asks for while it runs.
//
// usage: go run client.go URL…
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// Smallweb is a running `smallweb get --json -`, for any number of goroutines.
type Smallweb struct {
	command *exec.Cmd
	lines   chan []byte
	ended   chan struct{}
	end     error // once ended is closed

	mutex   sync.Mutex
	count   int
	pending map[int]chan *Record
}

// Record is a record of type response or error, as far as this program reads it.
type Record struct {
	Type    string  `json:"type"`
	ID      int     `json:"id"`
	OK      bool    `json:"ok"`
	Outcome string  `json:"outcome"`
	URL     *string `json:"url"`
	Status  *int    `json:"status"`
	Body    *Body   `json:"body"`
}

// Body has one of these, or none: the page of a refusal, for example, is left out.
type Body struct {
	Text   *string `json:"text"`
	Base64 []byte  `json:"base64"`
	Path   string  `json:"path"`
}

// Start starts smallweb with further options.
func Start(options ...string) (*Smallweb, error) {
	arguments := append(append([]string{"get", "--json", "-s"}, options...), "-")
	web := &Smallweb{
		command: exec.Command("smallweb", arguments...),
		lines:   make(chan []byte),
		ended:   make(chan struct{}),
		pending: map[int]chan *Record{},
	}
	stdin, err := web.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := web.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := web.command.Start(); err != nil {
		return nil, err
	}
	// Reading and writing must not wait for each other: smallweb reads its next request when there
	// is room for the reply, so a program that only writes fills both pipes and hangs.
	go web.write(stdin)
	go web.read(stdout)
	return web, nil
}

// Fetch asks for a URL and waits for its record. It fails only when smallweb ends before.
func (web *Smallweb) Fetch(url string) (*Record, error) {
	reply := make(chan *Record, 1)
	web.mutex.Lock()
	web.count++ // from 1: a line that cannot be read is answered with the id null, here 0
	id := web.count
	web.pending[id] = reply
	web.mutex.Unlock()
	line, err := json.Marshal(map[string]any{"url": url, "id": id})
	if err != nil {
		return nil, err
	}
	select {
	case web.lines <- append(line, '\n'):
	case <-web.ended:
		return nil, web.end
	}
	select {
	case record := <-reply:
		return record, nil
	case <-web.ended:
	}
	select {
	case record := <-reply: // both were ready
		return record, nil
	default:
		return nil, web.end
	}
}

// Close waits for the end of the process. No Fetch may be under way.
func (web *Smallweb) Close() {
	close(web.lines)
	<-web.ended
}

func (web *Smallweb) write(stdin io.WriteCloser) {
	defer stdin.Close()
	for line := range web.lines {
		if _, err := stdin.Write(line); err != nil {
			return // It has ended: read says how.
		}
	}
}

func (web *Smallweb) read(stdout io.Reader) {
	// Unlike a bufio.Scanner it has no limit for a line, and a body of 8 MiB is one line.
	decoder := json.NewDecoder(stdout)
	for {
		var line json.RawMessage
		if decoder.Decode(&line) != nil {
			break
		}
		// The type first: in the summary, "ok" is a number.
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(line, &kind) != nil || kind.Type != "response" && kind.Type != "error" {
			continue
		}
		var record Record
		if json.Unmarshal(line, &record) != nil {
			continue
		}
		web.mutex.Lock()
		reply := web.pending[record.ID]
		delete(web.pending, record.ID)
		web.mutex.Unlock()
		if reply != nil {
			reply <- &record
		}
	}
	// The exit status of a run is that of its first failing URL, so it is an error only if
	// something is still pending.
	web.command.Wait()
	web.end = fmt.Errorf("smallweb ended with %v", web.command.ProcessState)
	close(web.ended)
}

// Content is the body, whatever form it has; nil without one.
func (record *Record) Content() ([]byte, error) {
	switch body := record.Body; {
	case body == nil:
		return nil, nil
	case body.Text != nil:
		return []byte(*body.Text), nil
	case body.Path != "":
		return os.ReadFile(body.Path)
	default:
		return body.Base64, nil
	}
}

func run(urls []string) error {
	directory, err := os.MkdirTemp("", "client-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	// Bodies beyond 64 KiB go into files.
	web, err := Start("-j", "8", "--inline-max", "64K", "--output-dir", directory)
	if err != nil {
		return err
	}
	records, errs := make([]*Record, len(urls)), make([]error, len(urls))
	var group sync.WaitGroup
	for i, url := range urls {
		group.Add(1)
		go func(i int, url string) {
			defer group.Done()
			records[i], errs[i] = web.Fetch(url)
		}(i, url)
	}
	group.Wait()
	web.Close()
	for i, record := range records {
		if errs[i] != nil {
			return errs[i]
		}
		content, err := record.Content()
		if err != nil {
			return err
		}
		size := "-"
		if content != nil {
			size = fmt.Sprint(len(content))
		}
		url := urls[i]
		if record.URL != nil {
			url = *record.URL
		}
		fmt.Printf("%s\t%s\t%s\n", record.Outcome, size, url)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client.go:", err)
		os.Exit(1)
	}
}
