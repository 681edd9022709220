package api

import (
	"context"
	"errors"
	"time"
)

var errStopping = errors.New("the server stops")

// pulse is the keep-alive of a stream: its reader gets a comment at every interval.
type pulse struct {
	api     *API
	out     *eventWriter
	beat    *time.Timer
	soon    <-chan time.Time // of the next read of the task; nil: none is planned
	checked time.Time        // when the reader's credential was judged
}

func newPulse(a *API, out *eventWriter) *pulse {
	return &pulse{api: a, out: out, beat: time.NewTimer(a.cfg.StreamBeat), checked: time.Now()}
}

func (p *pulse) stillHere() error {
	p.beat.Reset(p.api.cfg.StreamBeat)
	return p.out.comment("still here")
}

// wait returns at the next notification, or after an interval, in case a notification is lost.
func (p *pulse) wait(ctx context.Context, news <-chan struct{}) error {
	select {
	case <-news:
		return nil
	case <-p.soon:
		p.soon = nil
		return nil
	case <-p.beat.C:
		return p.stillHere()
	case <-p.api.stopping:
		return errStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patiently calls look, which may hang, and waits for it until the stream ends.
func patiently[V any](ctx context.Context, p *pulse, look func(context.Context) (V, error)) (V, error) {
	type found struct {
		value V
		err   error
	}
	ready := make(chan found, 1)
	go func() {
		var f found
		defer func() { ready <- f }()
		defer caught(p.api.log, &f.err)
		f.value, f.err = look(ctx)
	}()
	var none V
	for {
		select {
		case f := <-ready:
			return f.value, f.err
		case <-p.beat.C:
			if err := p.stillHere(); err != nil {
				return none, err
			}
		case <-p.api.stopping:
			return none, errStopping
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}
