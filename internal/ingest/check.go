package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Maximum lengths of texts in the columns, in characters.
const (
	maxID   = 100
	maxType = 100
	maxKey  = 200
)

// checkName rejects names that must not be in a column or a log.
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
		return task.Invalid(field, "The field %s must not contain a sandbox token.", field)
	}
	return nil
}

// ownKeys is the prefix of the keys of events that omoi writes itself.
const ownKeys = "omoi:"

// keyOf returns the key that deduplicates an event; empty: none.
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

// RepeatWindow is how long a legacy worker may resend the same event: three requests of 30 s each, and the waits
// between them.
const RepeatWindow = 2 * time.Minute

const repeatKeys = ownKeys + "repeat:"

// repeatKey returns a key for an event that its sender would resend without a key, after a lost response, or a 503 for
// a commit with unknown outcome. Legacy workers resend only agent.completed, which has no ID, so its content is the
// key. Empty: none.
func repeatKey(e Event) string {
	if e.Type != event.AgentCompleted {
		return ""
	}
	sum := sha256.New()
	_, _ = io.WriteString(sum, e.Source+"\x00") // a hash never returns an error
	_, _ = sum.Write(e.Data)
	return repeatKeys + hex.EncodeToString(sum.Sum(nil))
}

// Repeats reports whether an event with a key is a duplicate of one that was stored since ago. A key of omoi
// deduplicates for a limited time only, since the same content may be sent again later.
func Repeats(key string, since time.Duration) bool {
	return since <= RepeatWindow || !strings.HasPrefix(key, repeatKeys)
}

// Stored returns an event in its stored form, or why it cannot be stored.
func Stored(e Event) (Event, error) { return checkEvent("", e) }

// checkEvent returns e in its stored form. prefix precedes the names of its fields in errors.
func checkEvent(prefix string, e Event) (Event, error) {
	if err := checkName(prefix+"event_type", e.Type, maxType); err != nil {
		return e, err
	}
	e.Source = cmp.Or(e.Source, SourceAgent)
	if e.Source != SourceAgent && e.Source != SourceWorker && e.Source != SourceSystem {
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

// checkData rejects or repairs well-formed JSON that jsonb would reject, so that one bad event does not fail a shared
// transaction. It also hides tokens, since programs print the URL that holds their token.
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
	return token.Hide(Storable(data)), nil
}

// escapes matches the escapes in a JSON text, a surrogate pair as one. A match of six bytes is U+0000 or half a pair.
var escapes = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u0000|u[dD][89a-fA-F]..|.)`)

// Storable returns a JSON text with U+FFFD for each escape that no database column can store. It copies only changed
// texts, since every event passes here.
func Storable(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u`)) {
		return data
	}
	return escapes.ReplaceAllFunc(data, func(escape []byte) []byte {
		if len(escape) == len(`\u0000`) {
			return []byte(`\ufffd`)
		}
		return escape
	})
}

func checkBatch(events []Event, most int) ([]Event, error) {
	if len(events) > most {
		return nil, task.Invalid("events", "A batch must have at most %d events.", most)
	}
	checked := make([]Event, len(events))
	for n, e := range events {
		good, err := checkEvent("", e)
		if err != nil {
			_, err = checkEvent(fmt.Sprintf("events[%d].", n), e) // formatting the path costs more than the check
			return nil, err
		}
		checked[n] = good
	}
	return checked, nil
}
