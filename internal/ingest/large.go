package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/internal/event"
)

const (
	// LargeField is the maximum length of a field of event data in the event's row, and so in lists and streams.
	// Payloads of 10 KB, on which legacy clients rely, are returned unchanged; a diff or the content of a whole file is
	// not.
	LargeField = 16 << 10
	// LargeRow bounds the total, so that many fields of medium size do not exceed it: a page of 100 rows has 6 MiB at
	// most.
	LargeRow = 64 << 10

	mostOmitted      = 64      // names; beyond that all fields are omitted
	mostOmittedBytes = 4 << 10 // bytes of all names together
)

// Everything in [Large.Names] means all fields.
const Everything = "*"

// Large is the data that is stored outside of an event's row.
type Large struct {
	Names      []string        // fields that the row lacks, sorted, or [Everything]
	Fields     json.RawMessage // these fields as an object, without a transcript
	Transcript *SessionTranscript
}

// Parts returns the data as it is stored: in the event's row, and outside of it.
func (e Event) Parts() []json.RawMessage {
	if e.Large == nil {
		return []json.RawMessage{e.Data}
	}
	return []json.RawMessage{e.Data, e.Large.Fields}
}

// Size returns the approximate number of bytes of stored data.
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

// mayBeLarge is a cheap check, since every event passes here. Only the data of events for which it is true is decoded.
func mayBeLarge(e Event) bool { return len(e.Data) > LargeField || e.Type == event.AgentCompleted }

// split moves data out of an event's row: a transcript, each field over [LargeField], then the longest fields until the
// rest is short enough.
func split(e Event) Event {
	fields := map[string]json.RawMessage{}
	if jsonv2.Unmarshal(e.Data, &fields, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return e // the database will reject it
	}
	whole, large := e.Data, &Large{}
	if e.Type == event.AgentCompleted {
		large.Transcript = takeTranscript(fields, e.TranscriptCut)
		if noteCut(fields, e, large.Transcript) || large.Transcript != nil {
			whole = object(fields, slices.Sorted(maps.Keys(fields)))
		}
	}
	out := longest(fields)
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

// longest returns the sorted names of the fields to remove so that the rest has at most [LargeRow] bytes.
func longest(fields map[string]json.RawMessage) []string {
	const around = len(`"":,`)
	size, lengths := 0, make(map[string]int, len(fields))
	for name, value := range fields {
		lengths[name] = nameLen(name) + plainLen(value)
		size += lengths[name] + around
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
		out = append(out, TranscriptField) // a transcript that could not be decoded is not stored in the row either
	}
	return slices.Sorted(slices.Values(out))
}

// unnamed reports whether names are too many, or too long, to be in every response.
func unnamed(names []string) bool {
	return len(names) > mostOmitted || len(strings.Join(names, "")) > mostOmittedBytes
}

// object returns a JSON object of the named fields.
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

// plainLen returns the length of JSON without needless escapes, as the store keeps it: a sender that writes \u6f22 has
// written one character.
func plainLen(raw []byte) int {
	plain, _ := jsontext.AppendFormat(nil, raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return len(plain)
}

// nameLen returns the length of a field's name between its quotes, as the store prints it: a control character has up to six bytes.
func nameLen(name string) int {
	quoted, _ := jsontext.AppendQuote(nil, name)
	return len(quoted) - len(`""`)
}
