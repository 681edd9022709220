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
	// gather is the least time between two looks of a reader of the bus at the store: a
	// look costs the same for one event as for a hundred.
	gather = 10 * time.Millisecond
	// sweepBack is more than a commit takes: what one look missed, the next one finds.
	sweepBack = time.Minute
	// maxSandboxes is how many sandboxes a reader remembers; with more it has to connect again.
	maxSandboxes = 50_000
	// hidden is the place of a sandbox that the reader may not see.
	hidden = -1
)

var errManySandboxes = task.Errorf(task.CodeUnavailable, "Too many sandboxes for one connection. Next: connect again")

// busSandboxes holds the sandboxes that a reader of the bus follows.
type busSandboxes struct {
	places  map[string]int64 // the newest event that was told, or hidden
	dirty   map[string]struct{}
	swept   time.Time // when all sandboxes with news were looked for last
	skipped bool      // news were passed over that another filter would tell
}

func newBusSandboxes() busSandboxes {
	return busSandboxes{places: map[string]int64{}, dirty: map[string]struct{}{}}
}

// news notes that a sandbox has some. What the filter passes over is not looked at, and
// forgotten: should a later filter want it, it begins then.
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

// wants reports whether events of an entity can pass.
func (f *busFilter) wants(entityType, id string) bool {
	in := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	return in(f.EntityTypes, entityType) && in(f.EntityIDs, id)
}

// refilter tells what came before by the filter of before, and begins with the new one.
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

// collect takes up which sandboxes have news, and tells them.
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

// sweep looks for all sandboxes that have said something since the sweep before.
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

// placeOf returns the newest event of a sandbox that was told; of a sandbox that is new to
// the reader, the newest before it began to read.
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
