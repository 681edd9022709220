package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	// gather is the minimum time between two queries of a reader of the bus. A query costs the same for one event as
	// for a hundred.
	gather = 10 * time.Millisecond
	// sweepBack is longer than a commit takes, so that the next query finds what the previous one missed.
	sweepBack = time.Minute
	// maxSandboxes is the maximum number of sandboxes that a reader follows; with more it has to reconnect.
	maxSandboxes = 50_000
	// hidden is the cursor of a sandbox that the reader may not see.
	hidden = -1
)

var errManySandboxes = task.Errorf(task.CodeUnavailable, "Too many sandboxes for one connection. Next: connect again")

// busSandboxes holds the sandboxes that a reader of the bus follows.
type busSandboxes struct {
	places  map[string]int64 // the newest event that was sent, or hidden
	dirty   map[string]struct{}
	swept   time.Time // time of the last query for all sandboxes with new events
	skipped bool      // new events were skipped that another filter would select
}

func newBusSandboxes() busSandboxes {
	return busSandboxes{places: map[string]int64{}, dirty: map[string]struct{}{}}
}

// news records that a sandbox has new events. A sandbox that the filter excludes is not read and is forgotten. If a
// later filter includes it, it starts at that time.
func (b *busReader) news(id string) {
	switch {
	case b.only != "" && b.only != id:
	case !b.filter.wants("sandbox", id):
		b.sandboxes.skipped = true
		delete(b.sandboxes.places, id)
	case b.sandboxes.places[id] != hidden:
		b.sandboxes.dirty[id] = struct{}{}
	}
}

// wants reports whether events of an entity can match.
func (f *busFilter) wants(entityType, id string) bool {
	in := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	return in(f.EntityTypes, entityType) && in(f.EntityIDs, id)
}

// refilter sends the entries so far by the previous filter, and then applies the new one.
func (b *busReader) refilter(ctx context.Context, frame clientFrame) error {
	_, now, err := b.api.deps.Bulletin.BusPlace(ctx)
	if err == nil {
		err = b.sweep(ctx)
	}
	if err != nil && task.CodeOf(err) != task.CodeUnavailable {
		return err
	}
	b.filter.replace(frame)
	if err == nil && b.sandboxes.skipped {
		b.who.Since, b.sandboxes.skipped = now, false
	}
	return nil
}

// collect reads which sandboxes have new events, and sends these events.
func (b *busReader) collect(ctx context.Context, watch *live.Watch) error {
	topics, missed := watch.Take()
	for _, topic := range topics {
		if id, ok := strings.CutPrefix(topic, live.Sandbox("")); ok {
			b.news(id)
		}
	}
	if missed {
		return b.sweep(ctx)
	}
	return errors.Join(b.tellSandboxes(ctx), b.tellBus(ctx))
}

// sweep queries all sandboxes with events since the previous sweep.
func (b *busReader) sweep(ctx context.Context) error {
	_, now, err := b.api.deps.Bulletin.BusPlace(ctx)
	if err != nil {
		return err
	}
	since := b.who.Since
	if back := b.sandboxes.swept.Add(-sweepBack); back.After(since) {
		since = back
	}
	heads, err := b.api.deps.Bulletin.MovedSandboxes(ctx, b.who, since)
	if err != nil {
		return err
	}
	for id, head := range heads {
		if place, known := b.sandboxes.places[id]; !known || place < head {
			b.news(id)
		}
	}
	b.sandboxes.swept = now
	return errors.Join(b.tellSandboxes(ctx), b.tellBus(ctx))
}

func (b *busReader) tellSandboxes(ctx context.Context) error {
	for id := range b.sandboxes.dirty {
		if err := b.tellSandbox(ctx, id); err != nil {
			return err
		}
		delete(b.sandboxes.dirty, id)
	}
	return nil
}

func (b *busReader) tellSandbox(ctx context.Context, id string) error {
	place, err := b.placeOf(ctx, id)
	if err != nil || place == hidden {
		return err
	}
	for {
		found, err := b.api.eventsAfter(ctx, id, place)
		if err != nil {
			return err
		}
		for _, e := range found.events {
			if err := b.tell(ctx, busEventOf(e)); err != nil {
				return err
			}
			place = e.Sequence
			b.sandboxes.places[id] = place
		}
		if !found.more {
			return nil
		}
	}
}

// placeOf returns the newest event of a sandbox that was sent. For a sandbox that is new to the reader, it returns the
// newest event before the reader connected.
func (b *busReader) placeOf(ctx context.Context, id string) (int64, error) {
	if place, known := b.sandboxes.places[id]; known {
		return place, nil
	}
	if len(b.sandboxes.places) >= maxSandboxes {
		return 0, errManySandboxes
	}
	place, visible, err := b.api.deps.Bulletin.SandboxPlace(ctx, b.who, id)
	if err != nil {
		return 0, err
	}
	if !visible {
		place = hidden
	}
	b.sandboxes.places[id] = place
	return place, nil
}
