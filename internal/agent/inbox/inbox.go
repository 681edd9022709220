// Package inbox delivers messages to a running agent: it polls the API and hands messages out, interrupts first. When
// leases expire, several takers may get a message, so it is handed out only after the API has confirmed that this taker
// has won it, which is its receipt. A taker that is killed before that asks again under its name after a restart.
//
// A message that was won is handed out once, unless the process dies before [Inbox.Used]. The next process with the
// same file then hands it out again, marked as repeated, since it is unknown whether the message was used. So two
// takers never use the same message. Its winner uses it at least once if it survives or restarts, and twice only if it
// died in between.
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

// Message is something said to the agent.
type Message struct {
	ID        string          `json:"id"`
	Content   string          `json:"content"`
	Type      string          `json:"message_type"` // user_message, interrupt, guardian_nudge, system
	Timestamp json.RawMessage `json:"timestamp"`    // as the server wrote it
	// The sender, where it is no person: guardian, system, or agent with the id of its sandbox.
	SenderKind string `json:"sender_kind,omitempty"`
	SenderID   string `json:"sender_id,omitempty"`
	// Repeated: an earlier process had it and died before it said [Inbox.Used]; perhaps it is used.
	Repeated bool `json:"-"`
}

// Named adds to an event's data which message it is about and who has sent it, as far as it
// is known: nil stands for what is not.
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

// Line is the line to the API.
type Line interface {
	Get(ctx context.Context, path string, timeout time.Duration) (apiclient.Answer, error)
	Post(ctx context.Context, path string, body []byte, compress bool) (apiclient.Answer, error)
}

// Reporter takes the receipts.
type Reporter interface {
	Emit(eventType string, data map[string]any)
}

// Config says how the API is asked. Zero values mean the defaults.
type Config struct {
	Wait       time.Duration // how long the server may hold a poll; 25 s
	MinBackoff time.Duration // after a failure; 500 ms
	MaxBackoff time.Duration // after failures in a row; 5 s
	UsedFile   string        // messages that were won and used; empty: in memory only
	Turn       func() int    // the agent's turn, for receipts; nil is 0

	InterruptsOnly bool // another taker gets the rest
}

// Inbox holds received messages until they are used. It is safe for concurrent use.
type Inbox struct {
	cfg  Config
	line Line
	rep  Reporter
	log  *slog.Logger

	mu      sync.Mutex
	waiting []Message
	asked   map[string]bool // ids that are being won
	used    *usedIDs
	taken   int
	told    int           // of the used ones, by [Inbox.Answered]
	changed chan struct{} // closed and replaced when a message arrives
}

// New returns an inbox and reads which messages were used before.
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
	for _, m := range used.Open { // asked for or won, by a process that was killed before it could use them
		b.insert(m.Message, false)
	}
	return b, nil
}

// Run polls until ctx ends or the API says that the sandbox is gone.
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
			_, _ = b.ask(ctx, id) // its receipt was lost on the way; the API gives it again until one arrives
		}
		backoff, name = b.cfg.MinBackoff, task.NewID() // an answer that was lost is asked for by the same name
		// A server that does not hold polls is asked twice a second, not in a circle.
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

// rest waits after a failure, and returns how long to wait after the next one.
func (b *Inbox) rest(ctx context.Context, told, backoff time.Duration) time.Duration {
	_ = wait.For(ctx, told+wait.Jitter(backoff)) // who asks looks at ctx
	return min(backoff*2, b.cfg.MaxBackoff)
}

// arrived queues what is new: interrupts before the rest, each id once. It returns those that this taker has had before.
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

// insert queues a message: interrupts before the rest, and one that is put back before its like.
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

// next takes the first message that is wanted from those that wait, and notes that it is being won.
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

// lastWord is how long the answer to a question that is under way is waited for once nobody
// wants the message any more: what is won must not be thrown away.
const lastWord = 2 * time.Second

// win asks the API for a message until it has answered. err is not nil if ctx ended first:
// then it is not known who has it.
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

// ask posts the plain receipt under this taker's name. Where it is not decided the same question may have another answer: omoi
// has not answered, or cannot now; a refusal without its code, or what cannot be read, is of something on the way.
func (b *Inbox) ask(ctx context.Context, id string) (won, decided bool) {
	ctx, cancel := wait.Outlast(ctx, lastWord)
	defer cancel()
	answer, err := b.line.Post(ctx, "/messages/"+url.PathEscape(id)+"/ack?taker="+url.QueryEscape(b.used.Taker), []byte("{}"), false)
	switch {
	case err != nil, answer.Status >= http.StatusMultipleChoices && answer.Code == "", answer.Later():
		return false, false
	case answer.Status >= http.StatusMultipleChoices:
		return false, true // what it does not know, or does not give, is not used
	}
	var said struct {
		Settled *bool `json:"settled"`
	}
	if json.Unmarshal(answer.Body, &said) != nil {
		return false, false
	}
	return said.Settled == nil || *said.Settled, true
}

// closeClaim hands out what is won, forgets what is lost, and puts back what is not known.
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

// Used says that a message that was taken is used: no restart hands it out again.
func (b *Inbox) Used(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.used.add(id); err != nil {
		b.log.Warn("save used message failed, a restart may repeat the message", slog.Any("error", err))
	}
}

// Answered are the messages that were used since the last call, those of earlier processes too: an agent that waits again has
// answered them.
func (b *Inbox) Answered() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := b.used.Used[max(b.told, len(b.used.Used)-mostUsed):]
	b.told = len(b.used.Used)
	return append([]string{}, ids...)
}

// handOut notes first that the message is won, so that a restart hands it out again; then
// comes the numbered receipt.
func (b *Inbox) handOut(m Message) {
	if err := b.used.win(m.ID); err != nil {
		b.log.Warn("save claimed message failed, a restart may drop the message", slog.Any("error", err))
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
