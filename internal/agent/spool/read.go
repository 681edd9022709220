package spool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/omoi-dev/omoi/internal/event"
)

// cursor is the position of the next record of a sequential read.
type cursor struct {
	file *os.File
	path string
	n    int64
	off  int64
}

// Read returns records from number n in order: at most events of them and about bytes of text, but at least one if
// there is one.
func (s *Spool) Read(n int64, events, bytes int) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	size := 0
	for n < s.next && len(out) < events && (size < bytes || len(out) == 0) {
		batch, err := s.readFrom(n, events-len(out), bytes-size)
		if err != nil {
			return out, err
		}
		for _, r := range batch {
			size += len(r.Body)
		}
		out = append(out, batch...)
		n += int64(len(batch))
	}
	return out, nil
}

// readFrom reads from one segment, or from memory.
func (s *Spool) readFrom(n int64, events, bytes int) ([]Record, error) {
	for _, seg := range slices.Backward(s.segs) {
		if seg.first <= n && n <= seg.last {
			return s.readSegment(seg, n, events, bytes)
		}
	}
	if len(s.mem) > 0 && n >= s.mem[0].N {
		i := int(n - s.mem[0].N)
		return s.mem[i : i+1 : i+1], nil
	}
	return []Record{lost(n)}, nil
}

func (s *Spool) readSegment(seg segment, n int64, events, bytes int) ([]Record, error) {
	if err := s.seek(seg, n); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(s.cur.file, s.cur.off, seg.size-s.cur.off), 64<<10)
	var out []Record
	for size := 0; n <= seg.last && len(out) < events && (size < bytes || len(out) == 0); n++ {
		line, err := in.ReadBytes('\n')
		if err != nil { // cut off by another process: the number must not be missing
			return append(out, lost(n)), nil //nolint:nilerr // the record reports the loss
		}
		r, ok := decode(line[:len(line)-1])
		if !ok || r.N != n {
			r = lost(n)
		}
		out = append(out, r)
		size += len(line)
		s.cur.off += int64(len(line))
		s.cur.n = n + 1
	}
	return out, nil
}

// seek moves the cursor to record n of the segment.
func (s *Spool) seek(seg segment, n int64) error {
	if s.cur.file != nil && s.cur.path == seg.path && s.cur.n == n {
		return nil
	}
	if s.cur.file != nil {
		_ = s.cur.file.Close()
	}
	f, err := os.Open(seg.path)
	if err != nil {
		s.cur = cursor{}
		return fmt.Errorf("read spool: %w", err)
	}
	s.cur = cursor{file: f, path: seg.path, n: seg.first}
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, seg.size), 64<<10)
	for ; s.cur.n < n; s.cur.n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // the next read finds the end of the file
		}
		if err != nil {
			return fmt.Errorf("read spool: %w", err)
		}
		s.cur.off += int64(len(line))
	}
	return nil
}

// lost returns a replacement for an unreadable record, so that the sequence has no gap.
func lost(n int64) Record {
	body := `{"event_type":"` + event.AgentEventsDropped + `","source":"worker","event_data":{"count":1,"reason":"spool_damaged"}}`
	return Record{N: n, Body: json.RawMessage(body)}
}
