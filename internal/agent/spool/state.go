package spool

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

const stateName = "state"

// state is kept in one short file that is overwritten in place, so that it can still be
// written when the disk is full.
type state struct {
	id    string // the spool's name on the wire
	base  int64  // numbers up to this one belong to earlier ids: wire number = number - base
	acked int64
	// volatile says that numbers were given out that stand in no file: after a crash
	// they could be given out again, so the next start takes a new id.
	volatile bool
	// dropped is how many events were left out and not told of yet, since is when the first
	// was, in milliseconds.
	dropped, since int64
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (s state) encode() []byte {
	flag := 0
	if s.volatile {
		flag = 1
	}
	text := fmt.Sprintf("omoi-spool 1 %s %020d %020d %d %020d %020d", s.id, s.base, s.acked, flag, s.dropped, s.since)
	return []byte(text + " " + sumOf([]byte(text)) + "\n")
}

func readState(dir string) (s state, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return state{}, false
	}
	var flag int
	var sum string
	n, err := fmt.Sscanf(string(b), "omoi-spool 1 %32s %020d %020d %d %020d %020d %8s\n",
		&s.id, &s.base, &s.acked, &flag, &s.dropped, &s.since, &sum)
	if err != nil || n != 7 {
		return state{}, false
	}
	s.volatile = flag == 1
	if string(s.encode()) != string(b) {
		return state{}, false
	}
	return s, true
}
