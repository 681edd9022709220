package reporter

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	mostRefusals = 3  // rejections of one event by the API before it is replaced
	mostBlocked  = 10 // rejections of one event by a proxy that passes a small request each time; about a minute
	shortText    = 200
)

// Reasons to replace an event.
const (
	refusedByAPI = "refused"
	refusedOnWay = "refused_on_the_way"
)

// divide isolates the event that the API rejects by halving the batch. An event that is rejected alone and repeatedly
// is replaced by a shorter one.
func (s *sender) divide(ctx context.Context, records []spool.Record) error {
	if len(records) > 1 {
		s.limit = max(len(records)/2, 1)
		return nil
	}
	if !s.refused.again(records[0].N, mostRefusals) {
		return wait.For(ctx, s.backoff())
	}
	return s.giveWay(ctx, records[0], refusedByAPI)
}

// around continues after a rejection by a proxy, which is usually temporary and costs no event. A proxy that rejects
// one event repeatedly, and passes a small request each time in between, will never pass that event.
func (s *sender) around(ctx context.Context, records []spool.Record, delay time.Duration) error {
	alone := len(records) == 1
	s.limit = max(len(records)/2, 1)
	switch {
	case alone && !s.passes(ctx, records[0].N):
		s.blocked = tries{}
	case alone && s.blocked.again(records[0].N, mostBlocked):
		return s.giveWay(ctx, records[0], refusedOnWay)
	}
	return wait.For(ctx, delay+s.backoff())
}

// tries counts consecutive rejections of one event.
type tries struct {
	n     int64
	count int
}

// again counts one more rejection, and reports whether the maximum is reached.
func (t *tries) again(n int64, enough int) bool {
	if t.n != n {
		*t = tries{n: n}
	}
	t.count++
	return t.count >= enough
}

// passes reports whether a batch without events reaches the API.
func (s *sender) passes(ctx context.Context, n int64) bool {
	id, base := s.spool.ID()
	answer, err := s.post.Post(ctx, batchPath, batch(id, n-base, nil), false)
	if err != nil {
		return false
	}
	if answer.Status == http.StatusOK || answer.Status == http.StatusConflict {
		_, told := acknowledgedOf(answer)
		return told
	}
	return answer.Code != ""
}

// giveWay sends less under an event's number, because the sequence must not have a gap: a reduced event, else a note.
// If both are rejected, the cause is not this event.
func (s *sender) giveWay(ctx context.Context, r spool.Record, reason string) error {
	s.log.WarnContext(ctx, "event rejected, sending a shorter one", slog.String("reason", reason), slog.Int("bytes", len(r.Body)))
	for _, less := range []json.RawMessage{reduced(r.Body, reason), s.note(r.Body, reason)} {
		if v, _ := s.send(ctx, []spool.Record{{N: r.N, Body: less}}); v == taken {
			s.failures = 0
			return nil
		}
	}
	s.failures++
	return wait.For(ctx, wait.Jitter(s.cfg.SlowBackoff))
}

// reduced keeps the type, the numbers and the short texts of an event, and names the removed fields.
func reduced(body json.RawMessage, reason string) json.RawMessage {
	var whole wireEvent
	if json.Unmarshal(body, &whole) != nil {
		return body
	}
	gone := []string{}
	for key, value := range whole.EventData {
		switch v := value.(type) {
		case nil, bool, float64:
			continue
		case string:
			if len(v) <= shortText {
				continue
			}
		}
		gone = append(gone, textcut.First(key, shortText))
		delete(whole.EventData, key)
	}
	if whole.EventData == nil {
		whole.EventData = map[string]any{}
	}
	const names = 20
	whole.EventData["dropped"] = map[string]any{"reason": reason, "bytes": len(body), "fields": gone[:min(len(gone), names)]}
	less, err := json.Marshal(whole)
	if err != nil {
		return body
	}
	return less
}

// note returns an event that reports the loss of another one.
func (s *sender) note(body json.RawMessage, reason string) json.RawMessage {
	var whole wireEvent
	_ = json.Unmarshal(body, &whole) // an invalid event has no type
	note, err := s.encode(event.AgentEventsDropped, map[string]any{
		"count": 1, "reason": reason, "event_type": whole.EventType, "bytes": len(body),
	})
	if err != nil {
		return body
	}
	return note
}
