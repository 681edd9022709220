package command

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"

	"github.com/omoi-dev/omoi/internal/event"
)

// maxLine bounds a line that may be an event; a longer one is output.
const maxLine = 8 << 20

// eventLine is what a line says: {"omoi": "event", "event_type": ..., "event_data": {...}}.
type eventLine struct {
	Omoi string         `json:"omoi"`
	Type string         `json:"event_type"`
	Data map[string]any `json:"event_data"`
}

// typeForm is that of the catalogue, and of types that omoi does not know yet.
var typeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}(\.[a-z0-9_]{1,50}){1,2}$`)

// parse reads a line; nil: it is no event that a program may send, and so it is output.
func parse(line []byte) *eventLine {
	e := &eventLine{}
	lines := json.NewDecoder(bytes.NewReader(line))
	lines.UseNumber()
	if lines.Decode(e) != nil || e.Omoi != "event" || !typeForm.MatchString(e.Type) || !event.Is(e.Type, event.ByProgram) {
		return nil
	}
	if _, err := lines.Token(); err != io.EOF {
		return nil
	}
	if e.Data == nil {
		e.Data = map[string]any{}
	}
	return e
}

// sieve takes the event lines out of what a program prints. It holds back only what may become one.
type sieve struct {
	rest io.Writer
	take func(*eventLine)

	held  []byte // the beginning of a line that may be an event
	plain bool   // what is left of this line is output
}

// Write never fails.
func (s *sieve) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, full := rest, false
		if at := bytes.IndexByte(rest, '\n'); at >= 0 {
			part, full = rest[:at+1], true
		}
		rest = rest[len(part):]
		s.add(part, full)
	}
	return len(p), nil
}

func (s *sieve) add(part []byte, full bool) {
	if s.plain || (len(s.held) == 0 && part[0] != '{') {
		_, _ = s.rest.Write(part)
		s.plain = !full
		return
	}
	s.held = append(s.held, part...)
	switch {
	case len(s.held) > maxLine:
		_, _ = s.rest.Write(s.held)
		s.held, s.plain = nil, !full
	case full:
		s.end()
	}
}

// end judges the line that is held: also the last one, which nothing ends.
func (s *sieve) end() {
	line := s.held
	s.held = nil
	if len(line) == 0 {
		return
	}
	if e := parse(line); e != nil {
		s.take(e)
		return
	}
	_, _ = s.rest.Write(line)
}
