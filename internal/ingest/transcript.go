package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/token"
)

// SessionTranscript is the transcript that a legacy worker sends inside of agent.completed.
type SessionTranscript struct {
	SessionID string // empty: none
	Content   []byte
	Cut       int64 // bytes before Content that were cut off
	Metadata  json.RawMessage
}

const (
	// MaxTranscript is the maximum number of stored bytes of a transcript in an event: the newest lines.
	MaxTranscript = 8 << 20
	// TranscriptField is the field of an event that holds a transcript in base64.
	TranscriptField = "transcript_b64"
	cutField        = "transcript_cut_bytes" // number of transcript bytes that are not stored
)

// takeTranscript removes the transcript from the fields of an agent.completed and returns it. A transcript that cannot
// be decoded stays in the fields; the event is not rejected for it.
func takeTranscript(fields map[string]json.RawMessage, cut int64) *SessionTranscript {
	content, ok := readBase64(fields[TranscriptField])
	if !ok {
		return nil
	}
	session, ok := readSession(fields["session_id"])
	if !ok {
		return nil
	}
	delete(fields, TranscriptField)
	whole := wholeLines(content, cut)
	cut += int64(len(content) - len(whole))
	return &SessionTranscript{SessionID: session, Content: token.Hide(whole), Cut: cut, Metadata: transcriptMetadata(fields)}
}

// noteCut records in an event how many bytes of its transcript were cut off, if any.
func noteCut(fields map[string]json.RawMessage, e Event, taken *SessionTranscript) bool {
	cut := e.TranscriptCut
	if taken != nil {
		cut = taken.Cut
	}
	if cut > 0 {
		fields[cutField] = json.RawMessage(strconv.FormatInt(cut, 10))
	}
	return cut > 0
}

// wholeLines removes the incomplete first line of a text whose beginning was cut off.
func wholeLines(content []byte, cut int64) []byte {
	if cut == 0 {
		return content
	}
	_, whole, _ := bytes.Cut(content, []byte("\n"))
	return append([]byte{}, whole...)
}

func readBase64(raw json.RawMessage) ([]byte, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" {
		return nil, false
	}
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	return content, err == nil && len(content) > 0
}

// readSession returns the session ID, and false if the table could not store it.
func readSession(raw json.RawMessage) (string, bool) {
	var id string
	if len(raw) == 0 || string(raw) == "null" {
		return "", true
	}
	return id, json.Unmarshal(raw, &id) == nil && utf8.RuneCountInString(id) <= maxKey
}

// transcriptMetadata returns the metadata that the legacy API stores with a transcript.
func transcriptMetadata(fields map[string]json.RawMessage) json.RawMessage {
	const longest = 1 << 10
	var names []string
	for _, name := range []string{
		"turns", "cost_usd", "stop_reason", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
	} {
		if raw := fields[name]; len(raw) > 0 && len(raw) <= longest {
			names = append(names, name)
		}
	}
	return object(fields, names)
}

// isText reports whether a value is a string that is not empty.
func isText(raw json.RawMessage) bool { return len(raw) > len(`""`) && raw[0] == '"' }
