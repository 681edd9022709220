package reporter

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const batchPath = "/events/batch"

// verdict is the consequence of an answer.
type verdict int

const (
	again   verdict = iota // retry after a backoff
	lost                   // retry after a backoff: no complete request or response got through
	slowly                 // retry after the slow backoff
	taken                  // at least one event was acknowledged
	gone                   // the sandbox is deleted
	smaller                // the API rejects the batch; it may accept a smaller one
	blocked                // a proxy rejects the batch
)

// Run sends the events of the spool until ctx ends, or until the API answers that the sandbox is deleted, which is
// [ErrGone].
func (r *Reporter) Run(ctx context.Context) error {
	s := sender{Reporter: r, limit: r.cfg.BatchEvents}
	for {
		records, err := r.spool.Read(r.spool.Acked()+1, s.limit, batchBytes)
		switch {
		case err != nil:
			r.log.ErrorContext(ctx, "read spool failed, retrying", slog.Any("error", err))
			err = wait.For(ctx, s.backoff())
		case len(records) == 0:
			err = s.idle(ctx)
		default:
			err = s.step(ctx, records)
		}
		if err != nil {
			r.announce(err)
			return err
		}
	}
}

// sender is the state of one [Reporter.Run].
type sender struct {
	*Reporter
	failures int
	limit    int // maximum events in the next batch; halved after rejections
	sent     time.Time
	plain    int   // number of bodies to send uncompressed, after a rejected compressed one
	refused  tries // rejections by the API of an event that was sent alone
	blocked  tries // rejections by a proxy of an event that was sent alone
}

const (
	batchBytes  = 512 << 10 // approximate bytes of a batch before compression
	gzipFrom    = 8 << 10   // minimum bytes of a compressed body
	plainBodies = 100       // number of uncompressed bodies before compression is tried again
	// Consecutive lost batches before smaller ones are tried, which some connections and a busy API pass more easily.
	mostLost = 3
)

// idle waits for an event, and then for Linger, so that batches have several events. A milestone is sent immediately.
func (s *sender) idle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.urgent:
		return nil
	case <-s.wake:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.urgent:
	case <-time.After(s.cfg.Linger - time.Since(s.sent)):
	}
	return nil
}

func (s *sender) step(ctx context.Context, records []spool.Record) error {
	v, delay := s.send(ctx, records)
	s.sent = time.Now()
	switch v {
	case taken:
		s.failures = 0
		s.limit = min(s.limit*2, s.cfg.BatchEvents)
		return nil
	case gone:
		return ErrGone
	case smaller:
		return s.divide(ctx, records)
	case blocked:
		return s.around(ctx, records, delay)
	case slowly:
		s.failures++
		return wait.For(ctx, delay+wait.Jitter(s.cfg.SlowBackoff))
	case lost, again:
		if s.failures >= mostLost {
			s.limit = max(len(records)/2, 1)
		}
	}
	// In addition to the server's wait, so that agents do not return at the same moment.
	return wait.For(ctx, delay+s.backoff())
}

// send sends one batch and handles the answer.
func (s *sender) send(ctx context.Context, records []spool.Record) (verdict, time.Duration) {
	if err := s.spool.Sync(); err != nil {
		s.log.WarnContext(ctx, "sync spool failed, sending anyway", slog.Any("error", err))
	}
	id, base := s.spool.ID()
	body := batch(id, records[0].N-base, records)
	compress := len(body) >= gzipFrom && s.plain == 0
	s.plain = max(s.plain-1, 0)
	answer, err := s.post.Post(ctx, batchPath, body, compress)
	if err != nil {
		s.log.DebugContext(ctx, "send events failed, retrying", slog.Any("error", err))
		return lost, 0
	}
	if compress && (answer.Status == http.StatusUnsupportedMediaType || answer.Status == http.StatusBadRequest) {
		s.plain = plainBodies
		return again, 0
	}
	return s.judge(answer, base, records), answer.RetryAfter
}

func (s *sender) judge(answer apiclient.Answer, base int64, records []spool.Record) verdict {
	switch answer.Status {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusConflict:
		return s.acknowledge(answer, base, records)
	case http.StatusGone:
		return gone
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		s.log.Warn("events rejected by the api, retrying", slog.Int("status", answer.Status))
		return slowly
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if answer.Code == task.CodeInvalid { // otherwise the answer is from a proxy
			return smaller
		}
		s.log.Warn("events rejected by a proxy, retrying", slog.Int("status", answer.Status))
		return blocked
	case http.StatusRequestTimeout:
		return lost
	}
	s.log.Debug("events rejected, retrying", slog.Int("status", answer.Status))
	return again
}

// acknowledge accepts the server's watermark, also if it is lower than before. If it is below the oldest stored event
// or above the newest one, server and agent do not mean the same spool, which continues under a new ID.
func (s *sender) acknowledge(answer apiclient.Answer, base int64, records []spool.Record) verdict {
	mark, told := acknowledgedOf(answer)
	if !told {
		return again
	}
	acked, first := base+mark, records[0].N
	if acked > s.spool.Last() || (acked < first-1 && s.spool.Rewind(acked) != nil) {
		s.log.Warn("event numbers differ from the server's, sending under a new spool id",
			slog.Int64("acknowledged", acked), slog.Int64("first", first))
		if err := s.spool.Rename(); err != nil {
			s.log.Warn("save spool state failed, a restart may send events again", slog.Any("error", err))
		}
		return again
	}
	if acked < first {
		return again
	}
	if err := s.spool.Ack(acked); err != nil {
		s.log.Warn("save spool state failed, a restart may send events again", slog.Any("error", err))
	}
	s.announce(nil)
	return taken
}

func acknowledgedOf(answer apiclient.Answer) (mark int64, told bool) {
	var said struct {
		Acknowledged *int64 `json:"acknowledged"`
	}
	if err := json.Unmarshal(answer.Body, &said); err != nil || said.Acknowledged == nil {
		return 0, false
	}
	return *said.Acknowledged, true
}

func batch(id string, first int64, records []spool.Record) []byte {
	var b bytes.Buffer
	b.WriteString(`{"spool_id":"` + id + `","first":` + strconv.FormatInt(first, 10) + `,"events":[`)
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r.Body)
	}
	b.WriteString("]}")
	return b.Bytes()
}

// backoff returns the next wait, which doubles with each consecutive failure.
func (s *sender) backoff() time.Duration {
	d := min(s.cfg.MinBackoff<<min(s.failures, 20), s.cfg.MaxBackoff)
	s.failures++
	return wait.Jitter(d)
}
