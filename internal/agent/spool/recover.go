package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// recover reads the files of an earlier process and keeps the longest readable prefix. An incomplete last line was
// never sent, so it is cut off. After any other damage the numbers are unreliable, and the spool continues under a new
// ID.
func (s *Spool) recover() error {
	known, ok := readState(s.dir)
	segs, err := listSegments(s.dir)
	if err != nil {
		return err
	}
	s.state = known
	if err := s.scanAll(segs); err != nil {
		return err
	}
	s.settle(ok)
	if err := s.openFiles(); err != nil {
		return err
	}
	s.trim()
	return s.writeState()
}

// settle makes the numbers and the state consistent.
func (s *Spool) settle(known bool) {
	last := s.state.acked
	if len(s.segs) > 0 {
		last = max(last, s.segs[len(s.segs)-1].last)
		s.state.acked = max(s.state.acked, s.segs[0].first-1)
	}
	s.next, s.synced = last+1, 0
	if !known || s.state.volatile || s.damaged > 0 {
		s.rename()
		s.state.volatile = false
	}
}

func (s *Spool) openFiles() error {
	f, err := os.OpenFile(filepath.Join(s.dir, stateName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open spool state: %w", err)
	}
	s.stateF = f
	if len(s.segs) == 0 || s.segs[len(s.segs)-1].last+1 != s.next {
		return s.addSegment(s.next)
	}
	if s.w, err = os.OpenFile(s.segs[len(s.segs)-1].path, os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("open spool segment: %w", err)
	}
	return nil
}

func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list spool: %w", err)
	}
	var segs []segment
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".events")
		first, err := strconv.ParseInt(name, 10, 64)
		if ok && err == nil && first > 0 {
			segs = append(segs, segment{path: filepath.Join(dir, e.Name()), first: first, last: first - 1})
		}
	}
	slices.SortFunc(segs, func(a, b segment) int { return int(a.first - b.first) })
	return segs, nil
}

// scanAll keeps consecutive segments. A gap is valid only if all missing events were acknowledged.
func (s *Spool) scanAll(segs []segment) error {
	broken := false
	for i := range segs {
		seg := &segs[i]
		if !broken && len(s.segs) > 0 {
			before := s.segs[len(s.segs)-1].last
			broken = seg.first <= before || (seg.first > before+1 && seg.first-1 > s.state.acked)
		}
		if broken {
			s.damaged += countLines(seg.path)
			_ = os.Remove(seg.path)
			continue
		}
		bad, err := seg.scan(i == len(segs)-1)
		if err != nil {
			return err
		}
		s.damaged += bad
		broken = bad > 0
		s.segs = append(s.segs, *seg)
	}
	return nil
}

// scan finds the readable prefix of a segment and cuts off the rest. scan returns the number of unreadable lines,
// without an incomplete line at the end of the spool.
func (g *segment) scan(isLast bool) (bad int64, err error) {
	f, err := os.OpenFile(g.path, os.O_RDWR, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open spool segment: %w", err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 && !isLast {
				bad++
			}
			break
		}
		if err != nil {
			return bad, fmt.Errorf("read spool segment: %w", err)
		}
		r, ok := decode(line[:len(line)-1])
		if bad > 0 || !ok || r.N != g.last+1 {
			bad++
			continue
		}
		g.last = r.N
		g.size += int64(len(line))
	}
	if err := f.Truncate(g.size); err != nil {
		return bad, fmt.Errorf("cut spool segment: %w", err)
	}
	return bad, nil
}

func countLines(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 1
	}
	return max(int64(bytes.Count(b, []byte{'\n'})), 1)
}
