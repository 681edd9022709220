// Package inbox brings messages to a working agent: it polls the API, hands each message
// out once, interrupts first, and tells the API that it was taken up.
package inbox

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/link"
	"github.com/omoi-dev/omoi/internal/task"
)

// TypeInterrupt is the type of the message that stops the agent's current step.
const TypeInterrupt = "interrupt"

// Message is something said to the agent.
type Message struct {
	ID        string          `json:"id"`
	Content   string          `json:"content"`
	Type      string          `json:"message_type"` // user_message, interrupt, guardian_nudge, system
	Timestamp json.RawMessage `json:"timestamp"`    // as the server wrote it
}

// Line is the line to the API.
type Line interface {
	Get(ctx context.Context, path string, wait time.Duration) (link.Answer, error)
	Post(ctx context.Context, path string, body []byte, compress bool) (link.Answer, error)
}

// Reporter takes the receipts.
type Reporter interface {
	Emit(eventType string, data map[string]any)
}

// Config says how the API is asked. Zero values mean the defaults.
type Config struct {
	Wait       time.Duration // how long the server may hold a poll; 25 s
	MinBackoff time.Duration // after a failure; 500 ms
	MaxBackoff time.Duration // after failures in a row; 15 s
	UsedFile   string        // ids of messages that were taken up; empty keeps them in memory only
	Turn       func() int    // the agent's turn, for receipts; nil is 0
}

// Inbox holds what was said and not yet taken up. It is safe for concurrent use.
type Inbox struct {
	cfg  Config
	line Line
	rep  Reporter
	log  *slog.Logger

	mu      sync.Mutex
	waiting []Message
	used    *usedIDs
	taken   int
	changed chan struct{} // closed and replaced when a message arrives
	acks    chan string
}

// New makes an inbox and reads which messages were taken up before.
func New(cfg Config, line Line, rep Reporter, log *slog.Logger) (*Inbox, error) {
	if cfg.Wait <= 0 {
		cfg.Wait = 25 * time.Second
	}
	if cfg.MinBackoff <= 0 {
		cfg.MinBackoff = 500 * time.Millisecond
	}
	if cfg.MaxBackoff <= 0 {
		cfg.MaxBackoff = 15 * time.Second
	}
	used, err := openUsed(cfg.UsedFile)
	if err != nil {
		return nil, err
	}
	return &Inbox{cfg: cfg, line: line, rep: rep, log: log, used: used, changed: make(chan struct{}), acks: make(chan string, 256)}, nil
}

// Run polls until ctx ends or the API says that the sandbox is gone.
func (b *Inbox) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { b.sendAcks(ctx) })
	backoff := b.cfg.MinBackoff
	for ctx.Err() == nil {
		asked := time.Now()
		answer, err := b.line.Get(ctx, "/messages?wait="+b.cfg.Wait.String(), b.cfg.Wait)
		if err == nil && answer.Status == http.StatusGone {
			return
		}
		if err == nil && answer.Status == http.StatusOK && b.arrived(answer.Body) {
			backoff = b.cfg.MinBackoff
			// A server that does not hold polls is asked twice a second, not in a circle.
			if time.Since(asked) < b.cfg.Wait/2 && b.empty(answer.Body) {
				pause(ctx, b.cfg.MinBackoff)
			}
			continue
		}
		pause(ctx, max(backoff, answer.RetryAfter))
		backoff = min(backoff*2, b.cfg.MaxBackoff)
	}
}

func (b *Inbox) empty(body []byte) bool {
	var list []json.RawMessage
	return json.Unmarshal(body, &list) == nil && len(list) == 0
}

// arrived queues what is new: interrupts before the rest, each id once.
func (b *Inbox) arrived(body []byte) bool {
	var list []Message
	if err := json.Unmarshal(body, &list); err != nil {
		b.log.Warn("messages cannot be read", slog.Any("error", err))
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range list {
		if b.used.has(m.ID) {
			b.ack(m.ID) // its receipt was lost on the way
			continue
		}
		if !b.known(m.ID) {
			b.insert(m)
		}
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return true
}

func (b *Inbox) known(id string) bool {
	for _, m := range b.waiting {
		if m.ID == id && id != "" {
			return true
		}
	}
	return false
}

func (b *Inbox) insert(m Message) {
	at := len(b.waiting)
	if m.Type == TypeInterrupt {
		for at = 0; at < len(b.waiting) && b.waiting[at].Type == TypeInterrupt; at++ {
			continue
		}
	}
	b.waiting = append(b.waiting, Message{})
	copy(b.waiting[at+1:], b.waiting[at:])
	b.waiting[at] = m
}

// Take waits for the next message, notes it as used and reports its receipt. It returns
// ctx's error if that ends first.
func (b *Inbox) Take(ctx context.Context) (Message, error) {
	return b.take(ctx, func(Message) bool { return true })
}

// TakeInterrupt is [Inbox.Take] for interrupts only.
func (b *Inbox) TakeInterrupt(ctx context.Context) (Message, error) {
	return b.take(ctx, func(m Message) bool { return m.Type == TypeInterrupt })
}

func (b *Inbox) take(ctx context.Context, wanted func(Message) bool) (Message, error) {
	for {
		b.mu.Lock()
		changed := b.changed
		for i, m := range b.waiting {
			if wanted(m) {
				b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
				b.use(m)
				b.mu.Unlock()
				return m, nil
			}
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return Message{}, ctx.Err()
		case <-changed:
		}
	}
}

// use notes the id first, so that a restart never uses a message twice; then come the
// numbered receipt and the plain one.
func (b *Inbox) use(m Message) {
	if err := b.used.add(m.ID); err != nil {
		b.log.Warn("used message not noted on disk", slog.Any("error", err))
	}
	b.taken++
	turn := 0
	if b.cfg.Turn != nil {
		turn = b.cfg.Turn()
	}
	b.rep.Emit(task.EventAgentMessageInjected, map[string]any{
		"message_id": m.ID, "message_type": m.Type, "content": m.Content, "content_length": len(m.Content),
		"sender_id": nil, "intervention_number": b.taken, "turn": turn,
	})
	b.ack(m.ID)
}

func (b *Inbox) ack(id string) {
	select {
	case b.acks <- id:
	default: // the numbered receipt settles it too
	}
}

// sendAcks posts plain receipts; a server without the route settles by the numbered ones.
func (b *Inbox) sendAcks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-b.acks:
			b.sendAck(ctx, id)
		}
	}
}

func (b *Inbox) sendAck(ctx context.Context, id string) {
	if id == "" {
		return
	}
	for try := range 5 {
		answer, err := b.line.Post(ctx, "/messages/"+url.PathEscape(id)+"/ack", []byte("{}"), false)
		if err == nil && answer.Status < http.StatusInternalServerError {
			return
		}
		if pause(ctx, b.cfg.MinBackoff<<try) {
			return
		}
	}
}

// pause waits; it reports whether ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}
