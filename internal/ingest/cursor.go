package ingest

import (
	"cmp"
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

// maxCursorPlaces is more than a task has attempts.
const maxCursorPlaces = 100

type cursorPlace struct {
	attempt  int
	sequence int64
}

// String returns the wire form: <attempt>:<sequence> of the newest event, then the same of
// each other attempt of which something was read, as 2:17,1:42.
func (c Cursor) String() string { return placeText(c.Attempt, c.Sequence) + c.others }

func placeText(attempt int, sequence int64) string {
	return strconv.Itoa(attempt) + ":" + strconv.FormatInt(sequence, 10)
}

// ParseCursor reads the wire form; empty is the beginning. Anything else is [task.CodeInvalid]
// on the field "after".
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	places, ok := parsePlaces(s)
	if !ok {
		return Cursor{}, task.Invalid("after", "The cursor must look like 1:42: an attempt, a colon, an event number; other attempts follow behind commas.")
	}
	return cursorOf(places[0].attempt, places), nil
}

func parsePlaces(s string) ([]cursorPlace, bool) {
	parts := strings.SplitN(s, ",", maxCursorPlaces+1)
	if len(parts) > maxCursorPlaces {
		return nil, false
	}
	places := make([]cursorPlace, 0, len(parts))
	for _, part := range parts {
		left, right, ok := strings.Cut(part, ":")
		attempt, err1 := strconv.ParseUint(left, 10, 31)
		sequence, err2 := strconv.ParseUint(right, 10, 63)
		place := cursorPlace{int(attempt), int64(sequence)}
		known := slices.ContainsFunc(places, func(p cursorPlace) bool { return p.attempt == place.attempt })
		if !ok || err1 != nil || err2 != nil || known {
			return nil, false
		}
		places = append(places, place)
	}
	return places, true
}

// cursorOf is the cursor of places, the newest of which is that of an attempt.
func cursorOf(newest int, places []cursorPlace) Cursor {
	slices.SortFunc(places, func(a, b cursorPlace) int { return cmp.Compare(a.attempt, b.attempt) })
	c := Cursor{Attempt: newest}
	var others strings.Builder
	for _, p := range places {
		if p.attempt == newest {
			c.Sequence = p.sequence
			continue
		}
		others.WriteString("," + placeText(p.attempt, p.sequence))
	}
	c.others = others.String()
	return c
}

func (c Cursor) places() []cursorPlace {
	places, _ := parsePlaces(c.String()) // it was made by us
	return places
}

// In returns how far an attempt was read, and whether the cursor says so.
func (c Cursor) In(attempt int) (sequence int64, known bool) {
	for _, p := range c.places() {
		if p.attempt == attempt {
			return p.sequence, true
		}
	}
	return 0, false
}

// Within reports whether the cursor is nowhere beyond the newest event of an attempt.
func (c Cursor) Within(heads map[int]int64) bool {
	return !slices.ContainsFunc(c.places(), func(p cursorPlace) bool { return p.sequence > heads[p.attempt] })
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
	places := slices.DeleteFunc(c.places(), func(p cursorPlace) bool { return p.attempt == attempt })
	return cursorOf(newest, append(places, cursorPlace{attempt, sequence}))
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
