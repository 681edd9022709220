package api

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
)

// errBehind is of bytes that follow a whole gzip and begin no other.
var errBehind = errors.New("more than a gzip")

// members unpacks a body of one gzip, or of several, one behind the other.
type members struct {
	packed *bufio.Reader
	one    *gzip.Reader
}

func newMembers(src io.Reader) (*members, error) {
	packed := bufio.NewReader(src)
	one, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	one.Multistream(false)
	return &members{packed, one}, nil
}

func (m *members) Read(b []byte) (int, error) {
	n, err := m.one.Read(b)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, m.next()
}

// next goes on with the gzip behind the one that has ended; [io.EOF] if there is none.
func (m *members) next() error {
	magic, err := m.packed.Peek(2)
	switch {
	case len(magic) == 0, err != nil && !errors.Is(err, io.EOF):
		return err // the end, or why it was not reached
	case string(magic) != "\x1f\x8b":
		return errBehind
	}
	if err := m.one.Reset(m.packed); err != nil {
		return err
	}
	m.one.Multistream(false)
	return nil
}
