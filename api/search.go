package api

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	searchWindow = 5000 // events that one request searches
	searchText   = "Events whose texts contain q, oldest first, each with its first match. One request searches at most 5,000 events: " +
		"repeat it with after=next_after, also if items is empty. Fields in omitted are not searched."
	snippetRunes = 200
	// maxQuery is the maximum number of characters that the database searches.
	maxQuery = 200
)

type searchIn struct {
	SandboxPath
	Text  string   `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"Text to find. Capital and small letters A to Z are equal."`
	Types []string `query:"event_type,explode" maxItems:"50" doc:"Only events of one of these types; default: all."`
	After int64    `query:"after" default:"0" minimum:"0" doc:"Only events after this sequence: next_after of the response before."`
	Limit int      `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of events."`
}

// searched is what callers can ask for at the same time.
type searched struct {
	place

	text, types string
	until       int64
	limit       int
}

func (a *API) searchEvents(ctx context.Context, in *searchIn) (*bodyOut[client.EventSearch], error) {
	if strings.TrimSpace(in.Text) == "" || utf8.RuneCountInString(in.Text) > maxQuery || strings.ContainsRune(in.Text, 0) || !utf8.ValidString(in.Text) {
		return nil, task.Invalid("q", "Invalid q: expected 1 to %d characters.", maxQuery)
	}
	head, err := a.deps.EventLog.SandboxHead(ctx, in.SandboxID)
	if err != nil {
		return nil, err
	}
	out := client.EventSearch{SandboxID: in.SandboxID, Text: in.Text, LastSequence: head, Items: []client.EventMatch{}}
	out.SearchedTo = max(in.After, min(head, in.After+searchWindow))
	key := searched{place{in.SandboxID, in.After}, in.Text, strings.Join(in.Types, "\n"), out.SearchedTo, in.Limit}
	found, err := a.searches.ask(ctx, key, func(ctx context.Context, s searched) ([]ingest.StoredEvent, error) {
		return a.deps.Outlines.SearchEvents(ctx, ingest.EventSearch{
			SandboxID: s.id, Text: s.text, Types: in.Types, After: s.after, Until: s.until, Limit: s.limit,
		})
	})
	if err != nil {
		return nil, err
	}
	if len(found) == in.Limit {
		out.SearchedTo = found[len(found)-1].Sequence
	}
	if out.SearchedTo < head {
		out.NextAfter = &out.SearchedTo
	}
	out.Items = matches(in.Text, found)
	return body(out, nil)
}

// matches returns the events that contain text in a string, with its first place.
func matches(text string, events []ingest.StoredEvent) []client.EventMatch {
	find := regexp.MustCompile("(?i)" + regexp.QuoteMeta(text))
	out := []client.EventMatch{}
	for _, e := range events {
		if m, found := matchIn(find, e.Data); found {
			m.Sequence, m.Type, m.CreatedAt = e.Sequence, e.Type, e.CreatedAt
			out = append(out, m)
		}
	}
	return out
}

// matchIn returns the first match in the strings of event data; none if only a name of a field matches.
func matchIn(find *regexp.Regexp, data json.RawMessage) (client.EventMatch, bool) {
	d := jsontext.NewDecoder(strings.NewReader(string(data)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil { // the end: the database stores valid JSON only
			return client.EventMatch{}, false
		}
		if token.Kind() != '"' || isName(d) {
			continue
		}
		text := token.String()
		if at := find.FindStringIndex(text); at != nil {
			return snippet(text, at[0], at[1], string(d.StackPointer())), true
		}
	}
}

// snippet returns the characters around a match.
func snippet(text string, begin, end int, part string) client.EventMatch {
	match := text[begin:end]
	room := max(0, snippetRunes-utf8.RuneCountInString(match)) / 2
	before, after := []rune(lastBytes(text[:begin], room)), []rune(firstBytes(text[end:], room))
	left, right := string(before[max(0, len(before)-room):]), string(after[:min(len(after), room)])
	return client.EventMatch{
		Part: part, Snippet: left + match + right, MatchOffset: utf16Length(left), MatchLength: utf16Length(match),
	}
}

// firstBytes returns enough bytes for a number of characters, lastBytes those at the end.
func firstBytes(text string, runes int) string {
	piece, _ := runesOf(text, 0, runes*utf8.UTFMax)
	return piece
}

func lastBytes(text string, runes int) string {
	piece, _ := runesOf(text, max(0, len(text)-runes*utf8.UTFMax), len(text))
	return piece
}

func utf16Length(text string) int { return len(utf16.Encode([]rune(text))) }
