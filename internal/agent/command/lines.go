package command

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"

	"github.com/omoi-dev/omoi/internal/event"
)

// maxLine is the maximum length of an event line. A longer line is output.
const maxLine = 8 << 20

// eventLine is an event line: {"omoi": "event", "event_type": ..., "event_data": {...}}.
type eventLine struct {
	Omoi string         `json:"omoi"`
	Type string         `json:"event_type"`
	Data map[string]any `json:"event_data"`
}

// typeForm is the format of event types, including types that omoi does not know yet.
var typeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}(\.[a-z0-9_]{1,50}){1,2}$`)

// parse parses a line; nil: it is not an event that a program may send, and so it is output.
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

// sieve splits the output of a program into event lines and other output. sieve holds back only the start of a possible
// event line.
type sieve struct {
	rest io.Writer
	take func(*eventLine)

	held  []byte // start of a line that may be an event
	plain bool   // the rest of this line is output
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

// end handles the line in held. end is also called for a last line without a newline.
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
