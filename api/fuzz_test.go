package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/token"
)

// oldestEvents returns the bodies of legacy workers in the order of a run, and bodies that once caused a failure.
func oldestEvents() []string {
	return []string{
		`{"event_type":"agent.started","event_data":{"task_id":"t","agent_id":"a","sandbox_id":"s","timestamp":"2026-01-02T03:04:05","sdk":"claude","model":"m","task":"do","is_resuming":false},"source":"worker"}`,
		`{"event_type":"agent.heartbeat","event_data":{"timestamp":"2026-01-02T03:04:05","status":"alive","event_count":7},"source":"worker"}`,
		`{"event_type":"agent.tool_use","event_data":{"turn":1,"tool":"Bash","tool_use_id":"toolu_1","input":{"command":"ls"},"event_subtype":"tool_use"},"source":"agent"}`,
		`{"event_type":"agent.message_injected","event_data":{"message_type":"user_message","content":"go on","content_length":5,"sender_id":null,"message_id":null,"turn":2},"source":"agent"}`,
		`{"event_type":"agent.completed","event_data":{"success":true,"turns":3,"cost_usd":0.05,"session_id":"c","transcript_b64":"e30=","final_output":"done","validation_passed":true},"source":"agent"}`,
		`{"event_type":"continuous.completed","event_data":{"stop_reason":"validation_passed","validation_passed":true,"total_cost_usd":1.5e-3},"source":"agent"}`,
		`{"event_type":"spec.phase_completed","event_data":{"spec_id":"s","phase":"explore","phase_output":7},"source":"agent"}`,
		`{"event_type":"x","event_data":{"a":1e308,"b":-0.0,"c":1E-300,"d":"1e999","e":[1.10]},"extra":{"event_type":"y"}}`,
		`{"event_type":"x","event_data":{"a":1e99999}}`,
		`{"event_type":"x","event_data":{"a":"\ud800"}}`,
		`{"event_type":"x","event_data":{"\u0000":"\\\u0000\uD83D\ud83d\uDE00\udc00"}}`,
		`{"event_type":"x","event_data":{"a":"\\u0000","b":"é\u00e9🙂"}}`,
		`{"event_type":"x","event_data":{"a":1,"a":2},"event_type":"y","Event_Type":"z"}`,
		`{"event_type":"x","event_data":null,"source":"","client_event_id":"k"}`,
		`{"event_type":"x","event_data":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 201),
		`[]`, `null`, `{}`, ``, `{"event_type":7}`, `{"event_type":"x"} {}`,
	}
}

// FuzzEvent posts single events. An acknowledged event is stored once and read back unchanged, a rejected one leaves no
// trace, and other sandboxes are not affected.
func FuzzEvent(f *testing.F) {
	for n, body := range oldestEvents() {
		f.Add([]byte(body), byte(plainBody), "")
		f.Add([]byte(body), byte(n%packings), "")
	}
	f.Add([]byte(`{"event_type":"x"}`), byte(0), "key-1")
	f.Add([]byte{45, 48, 46}, byte(0x80), "")
	f.Add([]byte(`{"event_type":"x","event_data":{"a":"v1.`+"\xff"+`.0123456789012345678901234567890123456789"}}`),
		byte(0), "")
	w := openToAny(f)
	f.Fuzz(func(t *testing.T, body []byte, how byte, key string) {
		if !isHeader(key) {
			t.Skip("no client sends such a header")
		}
		body = spelled(body, how)
		box := w.box(t)
		stranger := w.stranger(t)
		got := box.post("/events", body, how, "Idempotency-Key", key)
		stranger()
		said, sent := unpacked(body, how)
		want := modelOf(said)
		if got.status != http.StatusOK {
			box.refusedWithoutATrace(got)
			require.False(t, sent && utf8.Valid(said) && want.mustBeTaken(box.world), "refused for no reason: %s", got.body)
			return
		}
		receipt := ok[client.ReceivedEvent](got, http.StatusOK)
		require.Equal(t, want.Type, receipt.EventType)
		box.holds(want)
		again := ok[client.ReceivedEvent](box.post("/events", body, how, "Idempotency-Key", key), http.StatusOK)
		if key != "" || want.Key != "" || want.Type == event.AgentCompleted {
			require.Equal(t, *receipt.EventID, *again.EventID,
				"a repeat with a key, or of what old workers repeat, is the same event")
			box.holds(want)
		} else {
			box.holds(want, want)
		}
	})
}

// FuzzBatch checks the same for batches, and their sequences.
func FuzzBatch(f *testing.F) {
	for n, body := range oldestEvents() {
		batch := []byte(`{"spool_id":"s","first":1,"events":[` + body + `,{"event_type":"heartbeat"}]}`)
		f.Add(batch, byte(plainBody))
		f.Add(batch, byte(n%packings))
	}
	for _, body := range []string{
		`{"spool_id":"s","first":1,"events":[]}`, `{"spool_id":"s","first":2,"events":[{"event_type":"x"}]}`,
		`{"spool_id":"s","first":0,"events":[{"event_type":"x"}]}`, `{"spool_id":"","first":1,"events":[{"event_type":"x"}]}`,
		`{"spool_id":"s","first":1,"events":[{"event_type":"a","source":"worker"}],"events":[{"event_type":"b"}]}`,
		`{"spool_id":"s","first":9223372036854775807,"events":[{"event_type":"x"},{"event_type":"y"}]}`,
		`{"spool_id":"s","first":1.0,"events":null}`, `{"spool_id":"s","first":1,"events":[null]}`,
	} {
		f.Add([]byte(body), byte(0))
	}
	f.Add([]byte{0, 27, 28, 26, 45, 48, 46, 3, 1}, byte(0x80))
	w := openToAny(f)
	f.Fuzz(func(t *testing.T, body []byte, how byte) {
		body = spelled(body, how)
		box := w.box(t)
		got := box.post("/events/batch", body, how)
		said, _ := unpacked(body, how)
		box.batch(got, modelOfBatch(said), func() answer { return box.post("/events/batch", body, how) })
	})
}

// batch checks the response to a batch with the sequences 1.. of a new sender.
func (b box) batch(got answer, want []wanted, repeat func() answer) {
	b.t.Helper()
	if got.status != http.StatusOK {
		b.refusedWithoutATrace(got)
		return
	}
	n := len(want)
	require.Equal(b.t, client.EventBatchResult{Acknowledged: int64(n)}, ok[client.EventBatchResult](got, http.StatusOK))
	b.holds(want...)
	require.Equal(b.t, client.EventBatchResult{Acknowledged: int64(n), Duplicates: n},
		ok[client.EventBatchResult](repeat(), http.StatusOK))
	b.holds(want...)
}

// FuzzMessage posts messages. A queued message is delivered unchanged.
func FuzzMessage(f *testing.F) {
	for n, body := range []string{
		`{"content":"go on","message_type":"user_message"}`, `{"content":"stop","message_type":"interrupt"}`,
		`{"content":"look there","message_type":"guardian_nudge"}`, `{"content":"x","message_type":"system"}`,
		`{"content":"x"}`, `{"content":""}`, `{"content":" \n"}`, `{"content":"a\u0000b"}`, `{"content":"\ud800"}`,
		`{"content":"é\u00e9🙂","sender_kind":"guardian","message_type":null}`, `{"content":"x","message_type":"shout"}`,
		`{"content":"x","content":"y","Content":"z"}`, `{"content":7}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(body), byte(n%packings))
	}
	f.Add([]byte{49, 4, 30, 35, 1}, byte(0x80))
	w := openToAny(f)
	f.Fuzz(func(t *testing.T, body []byte, how byte) {
		body = spelled(body, how)
		box := w.box(t)
		got := box.post("/messages", body, how)
		said, _ := unpacked(body, how)
		if got.status != http.StatusOK {
			box.refusedWithoutATrace(got)
			return
		}
		want := memberOf(said)
		require.Equal(t, "queued", ok[client.QueuedMessage](got, http.StatusOK).Status)
		taken := ok[[]client.LeasedMessage](box.get("/messages"), http.StatusOK)
		require.Len(t, taken, 1)
		require.Equal(t, text(want["content"]), taken[0].Content)
		require.Equal(t, orElse(text(want["message_type"]), ingest.MessageUser), taken[0].Type)
		require.Empty(t, ok[[]client.LeasedMessage](box.get("/messages"), http.StatusOK), "one lease at a time")
	})
}

// wanted is the content of a body by the rules of the protocol, decoded without the server's code.
type wanted struct{ Type, Source, Key, Data string }

func modelOf(body []byte) wanted { return eventOf(memberOf(body)) }

func eventOf(said map[string]json.RawMessage) wanted {
	e := wanted{
		Type: text(said["event_type"]), Source: orElse(text(said["source"]), "agent"), Key: text(said["client_event_id"]),
	}
	if e.Data = string(said["event_data"]); e.Data == "" || e.Data == "null" {
		e.Data = "{}"
	}
	e.Data = string(token.Hide([]byte(kept(e.Data))))
	return e
}

var escapes = regexp.MustCompile(`(?i)\\ud[89ab]..\\ud[c-f]..|\\u....|\\.`)

// kept returns data with U+FFFD in the place of U+0000 and lone surrogates.
func kept(data string) string {
	return escapes.ReplaceAllStringFunc(data, func(escape string) string {
		if escape = strings.ToLower(escape); escape == `\u0000` || len(escape) == 6 && escape >= `\ud800` && escape < `\ue000` {
			return `\ufffd`
		}
		return escape
	})
}

func modelOfBatch(body []byte) []wanted {
	var events []json.RawMessage
	_ = json.Unmarshal(memberOf(body)["events"], &events)
	found := make([]wanted, 0, len(events))
	for _, said := range events {
		found = append(found, modelOf(said))
	}
	return found
}

// mustBeTaken reports whether an event is certainly valid; other events may be accepted or rejected.
func (e wanted) mustBeTaken(w *world) bool {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r == '.' || r == '_' }
	if e.Type == "" || len(e.Type) > 50 || strings.Trim(e.Type, "abcdefghijklmnopqrstuvwxyz._") != "" || !plain(rune(e.Type[0])) ||
		!slices.Contains([]string{"agent", "worker", "system"}, e.Source) || e.Key != "" {
		return false
	}
	if !strings.HasPrefix(e.Data, "{") || strings.ContainsAny(e.Data, "eE\\") && strings.ContainsAny(e.Data, "0123456789") {
		return false // numbers and escapes may be out of range
	}
	var good bool
	err := w.pool.QueryRow(w.t.Context(), `SELECT $1::text::jsonb IS NOT NULL`, e.Data).Scan(&good)
	return err == nil && good
}

// memberOf decodes an object by the rules of the protocol: case-sensitive names, the last of duplicates.
func memberOf(body []byte) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	_ = json.Unmarshal(body, &found)
	return found
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// box is a sandbox of its own for one input.
type box struct {
	*world

	id string
}

var boxes int // a fuzzing process runs one input at a time

func (w *world) box(t *testing.T) box {
	t.Helper()
	own := *w
	own.t = t
	boxes++
	return box{world: &own, id: fmt.Sprintf("fuzz-%d", boxes)}
}
