package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// filters are the filters of a bus reader's last subscription.
type filters struct {
	EventTypes  []string `json:"event_types"`
	EntityTypes []string `json:"entity_types"`
	EntityIDs   []string `json:"entity_ids"`
}

// FuzzFrame sends frames, one per line. The server must respond to invalid JSON with an error and to a subscription
// with the resulting filters, and keep the connection open.
func FuzzFrame(f *testing.F) {
	for _, frames := range []string{
		`{"type":"subscribe","event_types":["SANDBOX_agent.started"],"entity_types":["sandbox"],"entity_ids":[]}`,
		"{\"type\":\"subscribe\",\"entity_ids\":[\"a\"]}\nno json\n{\"type\":\"subscribe\",\"event_types\":null}",
		"{\"type\":\"ping\"}\n{\"type\":7}\nnull\n[]\n\"subscribe\"\n{\"Type\":\"subscribe\",\"event_types\":[\"x\"]}",
		`{"type":"subscribe","event_types":["a"],"event_types":["b",null],"token":"t"}`,
		`{"type":"subscribe","event_types":"a"}`, `{"type":"auth","token":"t"}`,
		"{\"type\":\"subscribe\",\"entity_ids\":[\"\xff\"]}",
	} {
		f.Add(frames)
	}
	w := start(f, quick)
	f.Fuzz(func(t *testing.T, text string) {
		const mostBytes, mostFrames, last = 30 << 10, 50, `{"type":"subscribe","entity_ids":["the last one"]}`
		if len(text) > mostBytes || strings.Count(text, "\n") > mostFrames {
			t.Skip("longer than a frame may be, or more answers than fit on the way")
		}
		s := w.box(t).socket(t, "")
		have := filters{EventTypes: []string{}, EntityTypes: []string{}, EntityIDs: []string{}}
		frames := append(strings.Split(text, "\n"), last)
		for _, frame := range frames {
			s.say(frame)
		}
		var may, must []string
		for _, frame := range frames {
			want, certain := have.after(frame)
			may = append(may, fmt.Sprint(want))
			if certain {
				must = append(must, fmt.Sprint(want))
			}
		}
		var got []string
		for len(got) == 0 || got[len(got)-1] != may[len(may)-1] {
			got = append(got, fmt.Sprint(s.next()))
		}
		require.True(t, within(must, got), "%q was answered by %v, which lacks some of %v", frames, got, must)
		require.True(t, within(got, may), "%q was answered by %v, which is not of %v", frames, got, may)
		require.NoError(t, s.conn.CloseNow())
	})
}

// within reports whether some is a subsequence of all.
func within(some, all []string) bool {
	for _, text := range all {
		if len(some) > 0 && some[0] == text {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// after returns the expected response to a frame, and whether it is certain; it updates the filters.
func (f *filters) after(frame string) (answer map[string]any, certain bool) {
	wrong := map[string]any{"error": "Invalid JSON message"}
	if !json.Valid([]byte(frame)) {
		return wrong, true
	}
	said := memberOf([]byte(frame))
	next, good := *f, text(said["type"]) == "subscribe"
	for name, list := range map[string]*[]string{"event_types": &next.EventTypes, "entity_types": &next.EntityTypes, "entity_ids": &next.EntityIDs} {
		if raw := said[name]; raw != nil && string(raw) != "null" {
			*list = []string{}
			good = json.Unmarshal(raw, list) == nil && good
		}
	}
	if token := said["token"]; !good || token != nil && string(token) != "null" && token[0] != '"' {
		return wrong, false
	}
	*f = next
	var filters map[string]any
	content, _ := json.Marshal(next)      //nolint:errchkjson // texts only
	_ = json.Unmarshal(content, &filters) // valid JSON, as above
	return map[string]any{"status": "subscribed", "filters": filters}, true
}
