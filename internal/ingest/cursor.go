package ingest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Cursor is a position in the stream of a task's events: after event Sequence of attempt Attempt, with the positions in
// the other attempts, since events of an attempt may arrive after its successor has started. The zero value is the
// beginning.
type Cursor struct {
	Attempt  int
	Sequence int64
	others   string // the other attempts in order, in text form, so that cursors are comparable
}

// maxCursorPlaces is the maximum number of attempts in a cursor, more than a task has.
const maxCursorPlaces = 100

// String returns the text form: <attempt>:<sequence> of the newest event, then the same of each other attempt from
// which the reader has events, for example 2:17,1:42.
func (c Cursor) String() string { return placeText(c.Attempt, c.Sequence) + c.others }

func placeText(attempt int, sequence int64) string {
	return strconv.Itoa(attempt) + ":" + strconv.FormatInt(sequence, 10)
}

// ParseCursor parses the text form; empty is the beginning. The error is [task.KindInvalidCursor] on the field.
func ParseCursor(field, s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	newest, places, ok := parsePlaces(s)
	if !ok || len(places) > maxCursorPlaces {
		return Cursor{}, task.InvalidCursor(field)
	}
	return cursorOf(newest, places), nil
}

// parsePlaces returns the sequence of each attempt, and the first attempt.
func parsePlaces(s string) (newest int, places map[int]int64, ok bool) {
	parts := strings.Split(s, ",")
	places = make(map[int]int64, len(parts))
	for n, part := range parts {
		left, right, _ := strings.Cut(part, ":")
		attempt, err1 := strconv.ParseUint(left, 10, 31)
		sequence, err2 := strconv.ParseUint(right, 10, 63)
		if err1 != nil || err2 != nil {
			return 0, nil, false
		}
		if n == 0 {
			newest = int(attempt)
		}
		places[int(attempt)] = int64(sequence)
	}
	return newest, places, len(places) == len(parts)
}

// cursorOf returns the cursor of positions with the given newest attempt.
func cursorOf(newest int, places map[int]int64) Cursor {
	var others strings.Builder
	for _, attempt := range slices.Sorted(maps.Keys(places)) {
		if attempt != newest {
			others.WriteString("," + placeText(attempt, places[attempt]))
		}
	}
	return Cursor{Attempt: newest, Sequence: places[newest], others: others.String()}
}

func (c Cursor) places() map[int]int64 {
	_, places, _ := parsePlaces(c.String()) // String returns valid text
	return places
}

// In returns the position in an attempt, and whether the cursor has one.
func (c Cursor) In(attempt int) (sequence int64, known bool) {
	sequence, known = c.places()[attempt]
	return sequence, known
}

// Within reports whether no position of the cursor is beyond the newest event of its attempt.
func (c Cursor) Within(heads map[int]int64) bool {
	for attempt, sequence := range c.places() {
		if sequence > heads[attempt] {
			return false
		}
	}
	return true
}

// Past returns the cursor after one more event.
func (c Cursor) Past(e StoredEvent) Cursor { return c.with(e.Attempt, e.Attempt, e.Sequence) }

// Known returns the cursor with a position in an attempt that is not the newest.
func (c Cursor) Known(attempt int, sequence int64) Cursor {
	return c.with(c.Attempt, attempt, sequence)
}

func (c Cursor) with(newest, attempt int, sequence int64) Cursor {
	switch {
	case c == Cursor{}:
		return Cursor{Attempt: attempt, Sequence: sequence}
	case c.Attempt == newest && newest == attempt:
		c.Sequence = sequence
		return c
	}
	places := c.places()
	places[attempt] = sequence
	return cursorOf(newest, places)
}

// TaskPage is a range of a task's events over all its attempts.
type TaskPage struct {
	Events []StoredEvent
	// From is the beginning of the page: the requested cursor, completed with a position in every attempt.
	From Cursor
	More bool // more events are stored
}

// Next returns the cursor after the page.
func (p TaskPage) Next() Cursor {
	next := p.From
	for _, e := range p.Events {
		next = next.Past(e)
	}
	return next
}
