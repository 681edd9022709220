package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// Damaged returns a line with random damage.
func Damaged(r *rand.Rand, line string) string {
	switch r.IntN(7) {
	case 0: // cut
		return line[:r.IntN(len(line))]
	case 1: // another kind
		return strings.Replace(line, `"sessionUpdate":"`, `"sessionUpdate":"x`, 1)
	case 2: // other IDs
		return strings.NewReplacer(`"id":`, `"id":9`, `"toolCallId":"`, `"toolCallId":"x`).Replace(line)
	case 3: // a huge field
		return strings.Replace(line, `"jsonrpc":"2.0"`, `"jsonrpc":"2.0","huge":"`+strings.Repeat("x", 1<<20)+`"`, 1)
	case 4: // fields of another type
		return strings.NewReplacer(`"text":"`, `"text":7,"t":"`, `"update":{`, `"update":[],"u":{`, `"status":"`, `"status":{},"s":"`).Replace(line)
	case 5: // a byte
		b := []byte(line)
		b[r.IntN(len(b))] = byte(r.IntN(255) + 1) //nolint:gosec // G115: at most 255
		return strings.ReplaceAll(string(b), "\n", " ")
	}
	return fmt.Sprintf("%x\x00%s", r.Uint64(), line[:len(line)/2])
}

// damage prints damaged copies of a line, of which none answers a request of the client.
func (p *Player) damage(line string) {
	for left := p.Damage; left > 0; {
		if bad := Damaged(p.random, line); !p.answers(bad) {
			_, _ = fmt.Fprintf(p.out, "%s\n", bad)
			left--
		}
	}
}

// answers reports whether a line is a response to a request of the client.
func (p *Player) answers(line string) bool {
	f := jsonrpc.Parse([]byte(line))
	if f == nil || f.Method != "" || f.Result == nil && f.Error == nil {
		return false
	}
	is := func(id json.RawMessage) bool { return string(id) == strings.Trim(string(f.ID), `"`) }
	return is(p.now.ID) || slices.ContainsFunc(slices.Collect(maps.Values(p.ids)), is)
}

// spoiled returns a line, with damage if it answers the request to spoil.
func (p *Player) spoiled(line string) string {
	if p.Spoil == "" || p.Spoil != p.now.Method || jsonrpc.Parse([]byte(line)).Method != "" {
		return line
	}
	p.Spoil = ""
	return Damaged(p.random, line)
}

// RequireWithin fails unless each tool call and result of the first list is in the second one too, and each text.
func RequireWithin(tb testing.TB, intact, all []string, name string) {
	tb.Helper()
	texts := func(list []string) (text string, others []string) {
		for _, e := range list {
			kind, data, _ := strings.Cut(e, " ")
			switch kind {
			case "agent.message", "agent.thinking":
				var m struct {
					Content string `json:"content"`
				}
				require.NoError(tb, json.Unmarshal([]byte(data), &m))
				text += m.Content
			case "agent.assistant_message": // the sums may hold tokens of damaged frames
			case "agent.tool_use", "agent.tool_completed", "agent.tool_result": // a damaged copy may be a part of the same call
				var call struct {
					ID string `json:"tool_use_id"`
				}
				require.NoError(tb, json.Unmarshal([]byte(data), &call))
				others = append(others, kind+" "+call.ID)
			default:
				others = append(others, e)
			}
		}
		return text, others
	}
	wantText, want := texts(intact)
	gotText, got := texts(all)
	at := 0
	for _, r := range gotText {
		if at < len(wantText) && strings.HasPrefix(wantText[at:], string(r)) {
			at += len(string(r))
		}
	}
	require.Equal(tb, len(wantText), at, "%s: a text is missing", name)
	at = 0
	for _, e := range got {
		if at < len(want) && e == want[at] {
			at++
		}
	}
	if at < len(want) {
		require.Fail(tb, "an event is missing", "%s: %s\nof %s", name, want[at], strings.Join(got, "\n"))
	}
}
