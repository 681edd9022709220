package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// Probe is the state of a spool as another process sees it.
type Probe struct {
	Unsent      int64 `json:"unsent"`        // number of unacknowledged events
	NewestAgeMS int64 `json:"newest_age_ms"` // age of the newest event in ms; -1: unknown
	AgentAlive  bool  `json:"agent_alive"`   // a process holds the spool
	Ended       bool  `json:"ended"`         // the unacknowledged events include agent.shutdown, so no event follows
}

// Look reads the spool in dir, which another process may be writing. now is the time by [Clock]. Without a spool,
// Unsent is 0 and NewestAgeMS is -1.
func Look(dir string, now time.Duration) (Probe, error) {
	p := Probe{NewestAgeMS: -1, AgentAlive: held(filepath.Join(dir, "lock"))}
	segs, err := listSegments(dir)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	st, _ := readState(dir)
	var last Record
	for i := len(segs) - 1; i >= 0 && last.N == 0; i-- {
		last, p.Ended = newest(segs[i].path, st.acked)
	}
	if last.N > 0 {
		p.Unsent = max(last.N-st.acked, 0)
		p.NewestAgeMS = age(last, now)
	}
	return p, nil
}

// newest returns the last record of a segment, and reports whether a record after acked is agent.shutdown.
func newest(path string, acked int64) (last Record, ended bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Record{}, false
	}
	for line := range bytes.Lines(b) {
		if r, ok := decode(bytes.TrimSuffix(line, []byte{'\n'})); ok {
			last = r
			ended = ended || r.N > acked && lastWord(r.Body)
		}
	}
	return last, ended
}

func lastWord(body []byte) bool {
	var whole struct {
		Type string `json:"event_type"`
	}
	return bytes.Contains(body, []byte(event.AgentShutdown)) && json.Unmarshal(body, &whole) == nil && whole.Type == event.AgentShutdown
}

// age returns the age of a record in ms by [Clock], because the wall clock may have changed. The age is -1 for a record
// from before the start of the machine.
func age(r Record, now time.Duration) int64 {
	if r.at == 0 || now.Milliseconds() < r.at {
		return -1
	}
	return now.Milliseconds() - r.at
}

// held reports whether a process holds the lock, without locking it.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	taken, err := isLocked(f)
	return err == nil && taken
}
