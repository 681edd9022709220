package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
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

func checkKey(key string) error {
	if strings.HasPrefix(key, ownKeys) {
		return task.Invalid("client_event_id", "The field client_event_id must not begin with %s.", ownKeys)
	}
	return checkName("client_event_id", key, maxKey)
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

// checkData refuses well-formed JSON that jsonb would refuse, so that one bad event does not
// fail the transaction of strangers. Programs that report by themselves print the URL that
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
	case hasNUL(data):
		return nil, task.Invalid(field, "The field %s must not contain the character \\u0000.", field)
	case HasHugeNumber(data):
		return nil, task.Invalid(field, "The field %s must not contain a number beyond 1e%d or below 1e-%d.", field, mostExponent, mostExponent)
	}
	return token.Hide(data), nil
}

// hasNUL reports whether a JSON text holds the escape of U+0000: a "\u0000" whose backslash
// is not escaped itself.
func hasNUL(data []byte) bool {
	for rest := data; ; {
		at := bytes.Index(rest, []byte(`\u0000`))
		if at < 0 {
			return false
		}
		before := len(rest[:at]) - len(bytes.TrimRight(rest[:at], `\`))
		if before%2 == 0 {
			return true
		}
		rest = rest[at+1:]
	}
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
