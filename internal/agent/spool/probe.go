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

// Probe is what can be seen of a spool from outside, without changing it.
type Probe struct {
	Unsent      int64 `json:"unsent"`        // events that the API has not acknowledged
	NewestAgeMS int64 `json:"newest_age_ms"` // age of the newest event; -1 if none is kept
	AgentAlive  bool  `json:"agent_alive"`   // a process holds the spool
	Ended       bool  `json:"ended"`         // what is unsent tells that the work is over: nothing more will be spooled
}

// Look reads the spool in dir, which another process may be writing. now is the time by
// [Clock]. A folder without a spool answers zero events of no age.
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

// newest is the last record of a segment, and whether one after acked is the last word of an agent.
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

// age does not ask when the event says that it occurred: the wall clock may have been set since.
// Of a record from before the machine started, the age is not known.
func age(r Record, now time.Duration) int64 {
	if r.at == 0 || now.Milliseconds() < r.at {
		return -1
	}
	return now.Milliseconds() - r.at
}

// held asks whether a process has the lock, without taking it for a moment.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	taken, err := isLocked(f)
	return err == nil && taken
}
