package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// The longest texts that the columns take, in characters.
const (
	maxID   = 100
	maxType = 100
	maxKey  = 200
)

// checkName refuses names that no column or log should carry.
func checkName(field, value string, longest int) error {
	switch {
	case value == "":
		return task.Invalid(field, "The field %s must not be empty.", field)
	case !utf8.ValidString(value):
		return task.Invalid(field, "The field %s is not valid UTF-8.", field)
	case utf8.RuneCountInString(value) > longest:
		return task.Invalid(field, "The field %s must have at most %d characters.", field, longest)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return task.Invalid(field, "The field %s must not contain control characters.", field)
	case token.Holds(value):
		return task.Invalid(field, "The field %s must not hold a token.", field)
	}
	return nil
}

// ownKeys begin the keys of events that omoi writes itself.
const ownKeys = "omoi:"

// keyOf is by what a repeat of an event is noticed; empty: by nothing.
func keyOf(e Event) (string, error) {
	const field = "client_event_id"
	switch {
	case e.ClientEventID == "":
		return repeatKey(e), nil
	case strings.HasPrefix(e.ClientEventID, ownKeys):
		return "", task.Invalid(field, "The field %s must not begin with %s.", field, ownKeys)
	}
	return e.ClientEventID, checkName(field, e.ClientEventID, maxKey)
}

// checkEvent returns e in the form in which it is stored. prefix stands before the names
// of its fields in errors.
func checkEvent(prefix string, e Event) (Event, error) {
	if err := checkName(prefix+"event_type", e.Type, maxType); err != nil {
		return e, err
	}
	switch e.Source {
	case "":
		e.Source = SourceAgent
	case SourceAgent, SourceWorker, SourceSystem:
	default:
		field := prefix + "source"
		return e, task.Invalid(field, "The field %s must be agent, worker or system.", field)
	}
	data, err := checkData(prefix+"event_data", e.Data)
	e.Data = data
	if err == nil && mayBeLarge(e) {
		e = split(e)
	}
	return e, err
}

// checkData refuses or mends well-formed JSON that jsonb would refuse, so that one bad event
// does not fail the transaction of strangers. Programs that report by themselves print the URL that
// holds their token: tokens are not stored.
func checkData(field string, data json.RawMessage) (json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0, bytes.Equal(data, []byte("null")):
		return json.RawMessage("{}"), nil
	case data[0] != '{':
		return nil, task.Invalid(field, "The field %s must be a JSON object.", field)
	case !utf8.Valid(data):
		return nil, task.Invalid(field, "The field %s is not valid UTF-8.", field)
	case HasHugeNumber(data):
		return nil, task.Invalid(field, "The field %s must not contain a number beyond 1e%d or below 1e-%d.", field, mostExponent, mostExponent)
	}
	return token.Hide(keepable(data)), nil
}

// keepable is a JSON text with U+FFFD for each escape that no database column takes: U+0000,
// and half of a surrogate pair. It copies only what it changes: every event passes here.
func keepable(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u`)) {
		return data
	}
	out := data
	for at := 0; ; {
		next := bytes.IndexByte(data[at:], '\\')
		if next < 0 {
			return out
		}
		at += next
		length, good := escapeAt(data[at:])
		if !good {
			if &out[0] == &data[0] {
				out = bytes.Clone(data)
			}
			copy(out[at:], `\ufffd`)
		}
		at += length
	}
}

// escapeAt is how long the escape is with which a part of a JSON text begins, a surrogate pair
// counted as one; good is false if it is of U+0000 or of half a pair.
func escapeAt(text []byte) (length int, good bool) {
	const short, long = 2, 6
	r := unicodeAt(text)
	switch {
	case r < 0:
		return min(short, len(text)), true
	case !utf16.IsSurrogate(r):
		return long, r != 0
	case utf16.DecodeRune(r, unicodeAt(text[long:])) != utf8.RuneError:
		return long + long, true
	}
	return long, false
}

// unicodeAt is the number of the escape \uXXXX with which a text begins; -1 if it does not.
func unicodeAt(text []byte) rune {
	const long = 6
	if len(text) < long || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, c := range text[2:long] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20) //nolint:mnd // lower case; digits have the bit
		if digit < 0 {
			return -1
		}
		r = r<<4 | rune(digit) //nolint:gosec,mnd // G115: a hexadecimal digit
	}
	return r
}

func checkBatch(events []Event, most int) ([]Event, error) {
	if len(events) > most {
		return nil, task.Invalid("events", "A batch must have at most %d events.", most)
	}
	checked := make([]Event, len(events))
	for n, e := range events {
		good, err := checkEvent("", e)
		if err != nil {
			_, err = checkEvent(fmt.Sprintf("events[%d].", n), e) // to name the place costs more than the check
			return nil, err
		}
		checked[n] = good
	}
	return checked, nil
}
