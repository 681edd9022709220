// Package inbox delivers messages to a running agent: it polls the API and hands messages out, interrupts first. If
// leases expire, several takers may get a message. So it is handed out only after the API has confirmed that this taker
// has won it, which also acknowledges it. A taker that is killed before that asks again under the same name after a
// restart.
//
// A won message is handed out once, unless the process dies before [Inbox.Used]. The next process with the same file
// then hands it out again, marked as repeated, because it is unknown whether the message was used. So two takers never
// use the same message. Its winner uses it at least once if it survives or restarts, and twice only if it died in
// between.
package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// TypeInterrupt is the type of the message that stops the agent's current step.
const TypeInterrupt = "interrupt"

// Message is a message to the agent.
type Message struct {
	ID        string          `json:"id"`
	Content   string          `json:"content"`
	Type      string          `json:"message_type"` // user_message, interrupt, guardian_nudge or system
	Timestamp json.RawMessage `json:"timestamp"`    // in the server's format
	// SenderKind and SenderID are the sender if it is not a user: guardian, system, or agent with its sandbox ID.
	SenderKind string `json:"sender_kind,omitempty"`
	SenderID   string `json:"sender_id,omitempty"`
	// Allows is the ID of a refusal whose tool call a user allows once; empty: the message allows none.
	Allows string `json:"allows,omitempty"`
	// Repeated reports that an earlier process had the message and died before [Inbox.Used]; it may have used the
	// message.
	Repeated bool `json:"-"`
}

// Named adds the ID and the sender of the message to an event's data; nil for unknown values.
func (m Message) Named(data map[string]any) map[string]any {
	data["message_id"], data["sender_kind"], data["sender_id"] = orNil(m.ID), orNil(m.SenderKind), orNil(m.SenderID)
	return data
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Line is the API client.
type Line interface {
	Get(ctx context.Context, path string, timeout time.Duration) (apiclient.Answer, error)
	Post(ctx context.Context, path string, body []byte, compress bool) (apiclient.Answer, error)
}

// Reporter takes the receipts as events.
type Reporter interface {
	Emit(eventType string, data map[string]any)
}

// Config configures an inbox. A zero value means the default.
type Config struct {
	Wait       time.Duration // maximum duration of a poll; default 25 s
	MinBackoff time.Duration // wait after a failure; default 500 ms
	MaxBackoff time.Duration // wait after consecutive failures; default 5 s
	UsedFile   string        // file of won and used messages; empty: memory only
	Turn       func() int    // returns the agent's turn, for receipts; nil: 0

	InterruptsOnly bool // another taker gets the other messages

	// Allow gets the refusal of a won message that allows one, before the message is handed out; may be nil.
	Allow func(refusal string)
}

// Inbox holds received messages until they are used. An Inbox is safe for concurrent use.
type Inbox struct {
	cfg  Config
	line Line
	rep  Reporter
	log  *slog.Logger

	mu      sync.Mutex
	waiting []Message
	asked   map[string]bool // IDs of messages whose acknowledgement is in progress
	used    *usedIDs
	taken   int
	told    int           // number of used messages that Answered has returned
	changed chan struct{} // closed and replaced when a message arrives
}

// New returns an inbox, and loads the used messages from the file.
func New(cfg Config, line Line, rep Reporter, log *slog.Logger) (*Inbox, error) {
	cfg.Wait = cmp.Or(max(cfg.Wait, 0), 25*time.Second)
	cfg.MinBackoff = cmp.Or(max(cfg.MinBackoff, 0), 500*time.Millisecond)
	cfg.MaxBackoff = cmp.Or(max(cfg.MaxBackoff, 0), 5*time.Second)
	used, err := openUsed(cfg.UsedFile)
	if err != nil {
		return nil, err
	}
	b := &Inbox{
		cfg: cfg, line: line, rep: rep, log: log, used: used, asked: map[string]bool{},
		changed: make(chan struct{}),
	}
	for _, m := range used.Open { // messages of a process that was killed before it used them
		b.insert(m.Message, false)
	}
	return b, nil
}

// Run polls until ctx ends or the API answers 410 for a deleted sandbox.
func (b *Inbox) Run(ctx context.Context) {
	backoff, path, name := b.cfg.MinBackoff, "/messages?wait="+b.cfg.Wait.String(), task.NewID()
	if b.cfg.InterruptsOnly {
		path += "&only=" + TypeInterrupt
	}
	for ctx.Err() == nil {
		asked := time.Now()
		list, answer, err := b.poll(ctx, path+"&poll="+name)
		switch {
		case answer.Status == http.StatusGone:
			return
		case err != nil:
			backoff = b.rest(ctx, answer.RetryAfter, backoff)
			continue
		}
		for _, id := range b.arrived(list) {
			// The earlier acknowledgement was lost, and the API repeats the message until it gets one.
			_, _ = b.ask(ctx, id)
		}
		backoff, name = b.cfg.MinBackoff, task.NewID() // a poll whose answer was lost is repeated under the same name
		// A server without long polls is asked at most every MinBackoff.
		if len(list) == 0 && time.Since(asked) < b.cfg.Wait/2 {
			_ = wait.For(ctx, b.cfg.MinBackoff)
		}
	}
}

func (b *Inbox) poll(ctx context.Context, path string) (list []Message, answer apiclient.Answer, err error) {
	if answer, err = b.line.Get(ctx, path, b.cfg.Wait); err != nil {
		return nil, answer, err
	}
	if answer.Status != http.StatusOK {
		return nil, answer, fmt.Errorf("the API answered %d", answer.Status)
	}
	if err = json.Unmarshal(answer.Body, &list); err != nil {
		b.log.WarnContext(ctx, "decode messages of the api failed, retrying", slog.Any("error", err))
	}
	return list, answer, err
}

// rest waits after a failure, and returns the wait for the next one.
func (b *Inbox) rest(ctx context.Context, told, backoff time.Duration) time.Duration {
	_ = wait.For(ctx, told+wait.Jitter(backoff)) // the caller checks ctx
	return min(backoff*2, b.cfg.MaxBackoff)
}

// arrived queues new messages, interrupts first. arrived returns the IDs of messages that this taker has handed out
// before.
func (b *Inbox) arrived(list []Message) (had []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range list {
		switch {
		case slices.Contains(b.used.Used, m.ID) || b.used.handedOut(m.ID):
			had = append(had, m.ID)
		case !b.asked[m.ID] && !slices.ContainsFunc(b.waiting, func(w Message) bool { return w.ID == m.ID }):
			b.insert(m, false)
		}
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return had
}

// insert queues a message: interrupts first, and a returned message before others of its kind.
func (b *Inbox) insert(m Message, back bool) {
	at := slices.IndexFunc(b.waiting, func(m Message) bool { return m.Type != TypeInterrupt })
	switch urgent := m.Type == TypeInterrupt; {
	case urgent && back:
		at = 0
	case at < 0, !urgent && !back:
		at = len(b.waiting)
	}
	b.waiting = slices.Insert(b.waiting, at, m)
}

// Take waits for the next message that this taker wins. The caller confirms its use with [Inbox.Used]. Take returns
// ctx's error if ctx ends first.
func (b *Inbox) Take(ctx context.Context) (Message, error) {
	return b.take(ctx, func(Message) bool { return true })
}

// TakeInterrupt is [Inbox.Take] for interrupts only.
func (b *Inbox) TakeInterrupt(ctx context.Context) (Message, error) {
	return b.take(ctx, func(m Message) bool { return m.Type == TypeInterrupt })
}

func (b *Inbox) take(ctx context.Context, wanted func(Message) bool) (Message, error) {
	for {
		m, changed, found := b.next(wanted)
		if found {
			won, err := m.Repeated, error(nil)
			if !won {
				won, err = b.win(ctx, m)
			}
			b.closeClaim(m, won, err)
			switch {
			case err != nil:
				return Message{}, err
			case won:
				return m, nil
			}
			continue
		}
		select {
		case <-ctx.Done():
			return Message{}, ctx.Err()
		case <-changed:
		}
	}
}

// next removes the first wanted message from the queue, and records that its acknowledgement is in progress.
func (b *Inbox) next(wanted func(Message) bool) (m Message, changed <-chan struct{}, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, m := range b.waiting {
		if !wanted(m) {
			continue
		}
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.asked[m.ID] = true
		if err := b.used.claim(m); err != nil {
			b.log.Warn("save message claim failed", slog.Any("error", err))
		}
		return m, b.changed, true
	}
	return Message{}, b.changed, false
}

// lastWord is the time for which a running acknowledgement is awaited after ctx ends, because a won message must not be
// lost.
const lastWord = 2 * time.Second

// win acknowledges a message, and retries until the API answers. If ctx ends first, err is not nil, and it is unknown
// who has the message.
func (b *Inbox) win(ctx context.Context, m Message) (won bool, err error) {
	for backoff := b.cfg.MinBackoff; ; {
		won, decided := b.ask(ctx, m.ID)
		if decided {
			return won, nil
		}
		backoff = b.rest(ctx, 0, backoff)
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
}

// ask acknowledges a message under this taker's name. decided is false if a retry may have another result: without an
// answer, for a temporary error, and for an error without a code or an unreadable body, which are not from omoi.
func (b *Inbox) ask(ctx context.Context, id string) (won, decided bool) {
	ctx, cancel := wait.Outlast(ctx, lastWord)
	defer cancel()
	answer, err := b.line.Post(ctx, "/messages/"+url.PathEscape(id)+"/ack?taker="+url.QueryEscape(b.used.Taker), []byte("{}"), false)
	switch {
	case err != nil, answer.Status >= http.StatusMultipleChoices && answer.Code == "", answer.Later():
		return false, false
	case answer.Status >= http.StatusMultipleChoices:
		return false, true // a rejected message is not used
	}
	var said struct {
		Settled *bool `json:"settled"`
	}
	if json.Unmarshal(answer.Body, &said) != nil {
		return false, false
	}
	return said.Settled == nil || *said.Settled, true
}

// closeClaim hands out a won message, drops a lost one, and queues an undecided one again.
func (b *Inbox) closeClaim(m Message, won bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.asked, m.ID)
	switch {
	case err != nil:
		b.insert(m, true)
	case won:
		b.handOut(m)
	default:
		if err := b.used.drop(m.ID); err != nil {
			b.log.Warn("drop message claim failed, a restart asks for the message again", slog.Any("error", err))
		}
	}
}

// Used records that a message was used: a restart does not hand it out again.
func (b *Inbox) Used(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.used.add(id); err != nil {
		b.log.Warn("save used message failed, a restart may repeat the message", slog.Any("error", err))
	}
}

// Answered returns the messages that were used since the last call, including those of earlier processes. An agent that
// waits again has answered them.
func (b *Inbox) Answered() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := b.used.Used[max(b.told, len(b.used.Used)-mostUsed):]
	b.told = len(b.used.Used)
	return append([]string{}, ids...)
}

// handOut records the won message, so that a restart hands it out again, and then reports the receipt.
func (b *Inbox) handOut(m Message) {
	if err := b.used.win(m.ID); err != nil {
		b.log.Warn("save claimed message failed, a restart may drop the message", slog.Any("error", err))
	}
	if m.Allows != "" && b.cfg.Allow != nil {
		b.cfg.Allow(m.Allows)
	}
	b.taken++
	turn := 0
	if b.cfg.Turn != nil {
		turn = b.cfg.Turn()
	}
	data := m.Named(map[string]any{
		"message_type": m.Type, "content": m.Content, "content_length": len(m.Content),
		"intervention_number": b.taken, "turn": turn,
	})
	if m.Repeated {
		data["repeated"] = true
	}
	b.rep.Emit(event.AgentMessageInjected, data)
}
