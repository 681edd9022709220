package spool

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

const stateName = "state"

// state is stored in one short file that is overwritten in place, which works on a full disk too.
type state struct {
	id    string // ID of the spool in requests
	base  int64  // numbers up to base belong to earlier IDs: sequence = number - base
	acked int64
	// volatile reports that some numbers are in no file. After a crash they could be reused, so the next start takes a
	// new ID.
	volatile bool
	// dropped is the number of dropped events that are not reported yet, and since the time of the first one in ms.
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
