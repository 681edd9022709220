package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	lookEvery  = time.Second      // a webhook may be lost, and another server sends none
	frozenWait = 5 * time.Minute  // without an answer, after which the server counts as frozen
	idleWait   = 3 * time.Second  // after which the bridge runs a conversation with an unanswered message
	wedgedWait = 90 * time.Second // after which it counts as one that never will
	cancelWait = 3 * time.Second  // for an interrupt, before the runtime kills the program
	sumEvery   = time.Second      // between looks at the sums of a turn
	sumLooks   = 6
	staleLooks = 10 // after which a status without an event is believed
)

// turn is what the bridge knows of the turn that runs.
type turn struct {
	*bridge
	*session

	ran      bool // the conversation has run since the prompt
	looks    int  // how often the same final status was read, without a new event
	reported openhands.Status
	waiting  bool                       // the newest message has no answer
	calls    map[string]openhands.Event // open calls
	failed   bool                       // an error was reported
	answered time.Time                  // last answer of the server
	late     bool                       // the server may run the conversation after the end of the turn
	told     openhands.Metrics          // sums that were reported
	full     error                      // why the server did not run it: it has no room
	idle     time.Time                  // since when the conversation does not run a message; zero: it runs
}

// prompt runs a turn with a text to its end.
func (b *bridge) prompt(ctx context.Context, text string) (answer any, err error) {
	s := b.session()
	if err := s.begin(); err != nil {
		return nil, err
	}
	t := &turn{bridge: b, session: s, calls: map[string]openhands.Event{}, answered: time.Now(), waiting: true, told: s.sum}
	defer func() {
		s.calling.Store(false)
		s.sum = t.told
		s.end(err != nil || t.late)
	}()
	said := make(chan error, 1)
	go func() { said <- s.say(ctx, text) }()
	select {
	case err := <-said:
		if err != nil {
			return nil, t.broken(ctx, err)
		}
	case <-s.stopped:
		t.late = true
		return t.cancelled(ctx)
	case <-t.over():
		return nil, t.broken(ctx, errOver)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return t.follow(ctx)
}

var errOver = errors.New("the OpenHands server ended")

// over returns a channel that is closed when the own server ends; nil: the server is not of this bridge.
func (t *turn) over() <-chan struct{} {
	if t.server == nil {
		return nil
	}
	return t.server.Over
}

// follow translates the events of the turn until it ends.
func (t *turn) follow(ctx context.Context) (any, error) {
	for {
		status, err := t.look(ctx)
		switch {
		case err != nil:
			return nil, t.broken(ctx, err)
		case status != "":
			return t.ended(ctx, status)
		}
		pause := time.NewTimer(lookEvery)
		select {
		case <-t.wake:
		case <-pause.C:
		case <-t.stopped:
			return t.cancelled(ctx)
		case <-t.over():
			return nil, t.broken(ctx, errOver)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		pause.Stop()
	}
}

// look translates new events, and returns the final status of the turn; empty: it runs.
func (t *turn) look(ctx context.Context) (openhands.Status, error) {
	fresh, err := t.read(ctx)
	if err != nil {
		return "", t.tolerate(err)
	}
	now, err := t.Get(ctx, t.id)
	if err != nil {
		return "", t.tolerate(err)
	}
	t.answered = time.Now()
	t.bill(now.Used())
	if fresh > 0 || now.Status == openhands.StatusRunning {
		t.looks, t.idle = 0, time.Time{}
		return "", nil
	}
	return t.judge(ctx, now.Status)
}

// tolerate drops the error of a server that gives no answer for a while.
func (t *turn) tolerate(err error) error {
	if task.CodeOf(err) != task.CodeUnavailable { // also nil
		return err
	}
	if time.Since(t.answered) > frozenWait {
		return fmt.Errorf("the OpenHands server has given no answer for %s: %w", frozenWait, err)
	}
	return nil
}

// judge returns a status if it ends the turn. The status of before the prompt can be read for a moment after it.
func (t *turn) judge(ctx context.Context, status openhands.Status) (openhands.Status, error) {
	switch {
	case t.onTheWay():
		return "", nil
	case status == openhands.StatusIdle, !t.ran, status == openhands.StatusFinished && t.waiting:
		return "", t.wakeUp(ctx)
	}
	if t.looks++; status == t.reported && t.looks > 1 || t.looks > staleLooks {
		return status, nil
	}
	wait.Notify(t.wake)
	return "", wait.For(ctx, lookEvery/4)
}

func (s *session) onTheWay() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steering > 0
}

// wakeUp makes a conversation run that has a message without an answer.
func (t *turn) wakeUp(ctx context.Context) error {
	switch {
	case t.idle.IsZero():
		t.idle = time.Now()
	case time.Since(t.idle) > wedgedWait && t.full != nil:
		return t.full
	case time.Since(t.idle) > wedgedWait:
		return fmt.Errorf("the OpenHands server does not run the conversation, although it was told to %s ago", wedgedWait)
	case time.Since(t.idle) > idleWait:
		err := t.Run(ctx, t.id)
		if t.full = nil; task.CodeOf(err) != task.CodeExhausted {
			return t.tolerate(err)
		}
		t.full = err
	}
	return nil
}

// read translates the events after the cursor.
func (t *turn) read(ctx context.Context) (fresh int, err error) {
	all, restarted, err := t.After(ctx, t.id, t.last)
	if err != nil {
		return 0, err
	}
	if restarted {
		return 0, task.Errorf(task.CodeNotFound, "The OpenHands server has lost the events of the conversation.")
	}
	for _, e := range all {
		t.take(e)
		t.last = e.ID
	}
	t.calling.Store(len(t.calls) > 0)
	return len(all), nil
}

// cancelled interrupts the conversation. The runtime ends the program afterwards.
func (t *turn) cancelled(ctx context.Context) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, cancelWait)
	defer cancel()
	if t.Interrupt(ctx, t.id) != nil {
		t.late = true // the end of the bridge interrupts again
	} else {
		_, _ = t.read(ctx) // what was stored since the last look
	}
	if now, err := t.Get(ctx, t.id); err == nil {
		t.bill(now.Used())
	}
	return map[string]any{"stopReason": "cancelled"}, nil
}

// broken reports an error of the server, as opposed to one of the model.
func (t *turn) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errOver) && t.server != nil {
		err = fmt.Errorf("%w: %w", errOver, t.server.Err)
	}
	category := "connection"
	if task.CodeOf(err) == task.CodeExhausted {
		category = Full
	}
	t.fail(category, err.Error())
	return err
}

// ended returns the answer to the prompt.
func (t *turn) ended(ctx context.Context, status openhands.Status) (any, error) {
	if isLeft(status) && !t.failed {
		t.fail("service", "The OpenHands server stopped the turn without a reason: it was restarted.")
	}
	answer := map[string]any{
		"stopReason": stopReason(status),
		"_meta":      map[string]any{"quota": map[string]any{"model_usage": []any{map[string]any{"model": t.Vars["LLM_MODEL"]}}}},
	}
	if used, ok := t.used(ctx); ok {
		t.bill(used)
		answer["usage"] = tokens(used, t.sum)
	}
	return answer, nil
}

// used returns the sums of the conversation, which follow the end of a turn after a moment; false: the server does not tell.
func (t *turn) used(ctx context.Context) (sum openhands.Metrics, ok bool) {
	for range sumLooks {
		now, err := t.Get(ctx, t.id)
		if err == nil {
			before := sum
			if sum, ok = now.Used(), true; sum == before && (sum != t.sum || t.failed) {
				break
			}
		}
		if wait.For(ctx, sumEvery) != nil {
			break
		}
	}
	return sum, ok
}

// stopReason returns why a turn ended. The runtime checks the work of one that ended by itself.
func stopReason(status openhands.Status) string {
	if status == openhands.StatusFinished || isLeft(status) {
		return "end_turn"
	}
	return string(status)
}

// isLeft reports whether a status is that of a conversation whose server was killed, or ended by SIGTERM.
func isLeft(status openhands.Status) bool {
	return status == openhands.StatusError || status == openhands.StatusPaused
}

// bill reports tokens while the turn runs, since a broken turn has no answer with their sum, and the cost if the server knows a price.
func (t *turn) bill(used openhands.Metrics) {
	if used == t.told {
		return
	}
	t.update("agent_message_chunk", map[string]any{
		"content": map[string]any{"type": "text", "text": ""}, "_meta": map[string]any{"usage": tokens(used, t.told)},
	})
	t.told = used
	if used.Cost > 0 {
		t.update("usage_update", map[string]any{"cost": map[string]any{"amount": used.Cost, "currency": "USD"}})
	}
}

// tokens returns the tokens since a former sum.
func tokens(now, before openhands.Metrics) map[string]any {
	cached := now.Tokens.CacheRead - before.Tokens.CacheRead
	return map[string]any{
		"inputTokens": max(0, now.Tokens.Prompt-before.Tokens.Prompt-cached), "outputTokens": now.Tokens.Completion - before.Tokens.Completion,
		"cachedReadTokens": cached, "cachedWriteTokens": now.Tokens.CacheWrite - before.Tokens.CacheWrite,
	}
}
