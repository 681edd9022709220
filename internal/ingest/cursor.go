package ingest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Cursor is a place in the stream of a task's events: after event Sequence of attempt
// Attempt, and where the reader stands in the other attempts, since events of an attempt may
// come when its successor has begun. The zero value is the beginning.
type Cursor struct {
	Attempt  int
	Sequence int64
	others   string // the other attempts in order, as in the wire form; text, so that cursors compare
}

// maxCursorPlaces is how many attempts a reader may name, more than a task has.
const maxCursorPlaces = 100

// String returns the wire form: <attempt>:<sequence> of the newest event, then the same of
// each other attempt of which something was read, as 2:17,1:42.
func (c Cursor) String() string { return placeText(c.Attempt, c.Sequence) + c.others }

func placeText(attempt int, sequence int64) string {
	return strconv.Itoa(attempt) + ":" + strconv.FormatInt(sequence, 10)
}

// ParseCursor reads the wire form; empty is the beginning. Anything else is [task.KindInvalidCursor] on the field.
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

// parsePlaces returns the sequence of each attempt, and the attempt that stands first.
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

// cursorOf is the cursor of places, the newest of which is that of an attempt.
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
	_, places, _ := parsePlaces(c.String()) // it was made by us
	return places
}

// In returns how far an attempt was read, and whether the cursor says so.
func (c Cursor) In(attempt int) (sequence int64, known bool) {
	sequence, known = c.places()[attempt]
	return sequence, known
}

// Within reports whether the cursor is nowhere beyond the newest event of an attempt.
func (c Cursor) Within(heads map[int]int64) bool {
	for attempt, sequence := range c.places() {
		if sequence > heads[attempt] {
			return false
		}
	}
	return true
}

// Past is the cursor of a reader who has got one more event.
func (c Cursor) Past(e StoredEvent) Cursor { return c.with(e.Attempt, e.Attempt, e.Sequence) }

// Known is the cursor with a place in an attempt that is not the newest.
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

// TaskPage is a stretch of a task's events over all its attempts.
type TaskPage struct {
	Events []StoredEvent
	// From is where the page begins: the cursor that was asked for, which by now says of every
	// attempt how far it was read.
	From Cursor
	More bool // events that are stored already
}

// Next is the cursor behind the page.
func (p TaskPage) Next() Cursor {
	next := p.From
	for _, e := range p.Events {
		next = next.Past(e)
	}
	return next
}
