package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/internal/event"
)

const (
	// LargeField is how long a field of an event's data may be that stays in the event's row,
	// and so in every list and stream. Payloads of 10 KB, on which clients of the replaced
	// system rely, stay as they came; a diff or a result of a whole file does not.
	LargeField = 16 << 10
	// LargeRow bounds what stays together, so that many fields of middle size are no way
	// around: a page of 100 rows has 6 MiB at most.
	LargeRow = 64 << 10

	mostOmitted      = 64      // names; beyond that all fields are left out
	mostOmittedBytes = 4 << 10 // of all names together
)

// Everything stands in [Large.Names] for all fields.
const Everything = "*"

// Large is what is stored beside an event's row.
type Large struct {
	Names      []string        // of the fields that the row lacks, sorted, or [Everything]
	Fields     json.RawMessage // the object of them, but for a transcript
	Transcript *SessionTranscript
}

// Parts returns the data as it is stored: in the event's row, and beside it.
func (e Event) Parts() []json.RawMessage {
	if e.Large == nil {
		return []json.RawMessage{e.Data}
	}
	return []json.RawMessage{e.Data, e.Large.Fields}
}

// Size is about how many bytes of data are to be stored, wherever.
func (e Event) Size() int {
	size := len(e.Data)
	if e.Large != nil {
		size += len(e.Large.Fields)
		if e.Large.Transcript != nil {
			size += len(e.Large.Transcript.Content)
		}
	}
	return size
}

// mayBeLarge is cheap, since every event passes here: only of the few that it names is the
// data taken apart.
func mayBeLarge(e Event) bool { return len(e.Data) > LargeField || e.Type == event.AgentCompleted }

// split takes out of an event what does not belong into its row: a transcript, each field
// over [LargeField], then the longest fields until the rest is short enough.
func split(e Event) Event {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(e.Data, &fields) != nil {
		return e // the database will say what is wrong with it
	}
	whole, large := e.Data, &Large{}
	if e.Type == event.AgentCompleted {
		large.Transcript = takeTranscript(fields, e.TranscriptCut)
		if noteCut(fields, e, large.Transcript) || large.Transcript != nil {
			whole = object(fields, slices.Sorted(maps.Keys(fields)))
		}
	}
	out := longest(fields, plainLen(whole))
	switch {
	case len(out) > 0 && unnamed(out):
		e.Data, large.Fields, large.Names = json.RawMessage("{}"), whole, []string{Everything}
	case len(out) > 0:
		large.Fields, large.Names = object(fields, out), out
		maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
			_, taken := slices.BinarySearch(out, name)
			return taken
		})
		e.Data = object(fields, slices.Sorted(maps.Keys(fields)))
	case large.Transcript != nil:
		e.Data, large.Fields = whole, json.RawMessage("{}")
	default:
		return e
	}
	if large.Transcript != nil {
		large.Names = append(large.Names, TranscriptField)
		slices.Sort(large.Names)
	}
	e.Large = large
	return e
}

// longest answers, sorted, the names of the fields that are to leave a text of so many bytes.
func longest(fields map[string]json.RawMessage, size int) []string {
	lengths := make(map[string]int, len(fields))
	for name, value := range fields {
		lengths[name] = len(name) + plainLen(value)
	}
	length := func(name string) int { return lengths[name] }
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(length(b), length(a)), strings.Compare(a, b))
	})
	n := 0
	for ; n < len(names) && (length(names[n]) > LargeField || size > LargeRow); n++ {
		size -= length(names[n])
	}
	out := names[:n:n]
	if isText(fields[TranscriptField]) && !slices.Contains(out, TranscriptField) {
		out = append(out, TranscriptField) // one that could not be read is still none of a row's
	}
	return slices.Sorted(slices.Values(out))
}

// unnamed reports whether names are too many, or too long, to stand in every answer.
func unnamed(names []string) bool {
	return len(names) > mostOmitted || len(strings.Join(names, "")) > mostOmittedBytes
}

// object is the JSON object of the named fields.
func object(fields map[string]json.RawMessage, names []string) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for n, name := range names {
		if n > 0 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(name) //nolint:errchkjson // a string
		out.Write(key)
		out.WriteByte(':')
		out.Write(fields[name])
	}
	out.WriteByte('}')
	return out.Bytes()
}

// plainLen returns how long JSON is without needless escapes, as the store keeps it: a sender that writes \u6f22 has written one
// character, as one that writes it as it is.
func plainLen(raw []byte) int {
	plain, _ := jsontext.AppendFormat(nil, raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // raw, if that is no JSON
	return len(plain)
}
