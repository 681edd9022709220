package api

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	watchPage  = 500              // tasks of one query
	watchPages = 4                // of one sweep; of more open tasks only the notified changes are seen
	watchLimit = 30 * time.Second // of all queries of a step

	foreign     = 0      // instead of the content of a task of another organization
	mostForeign = 20_000 // such tasks that are remembered
)

// taskWatches holds one watch for each organization whose lists have readers.
type taskWatches struct {
	api   *API
	slots chan struct{} // one for each concurrent query

	mu sync.Mutex
	by map[string]*taskWatch
}

// taskWatch finds the changed tasks of one organization for all readers of its lists, so that many readers cost as much
// as one. Notifications name the tasks to read; a sweep of all open tasks at each StreamBeat finds what nothing notified.
type taskWatch struct {
	watches      *taskWatches
	organization string
	news         *live.Watch
	stop         func()

	// seen holds a hash of the newest content of each task, or foreign.
	seen map[string]uint64
	seed maphash.Seed
	lost bool // the last query failed

	primed  bool                     // the first sweep is over; guarded by taskWatches.mu
	readers map[*taskReader]struct{} // guarded by taskWatches.mu
}

// join adds a reader. It subscribes before the reader reads the list, so that no change is missed.
func (w *taskWatches) join(ctx context.Context, organization string, projects []string) *taskReader {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.by[organization]
	if of == nil {
		of = w.start(context.WithoutCancel(ctx), organization)
		w.by[organization] = of
	}
	r := newTaskReader(of, projects)
	of.readers[r] = struct{}{}
	if of.primed {
		r.begin()
	}
	return r
}

func (w *taskWatches) start(ctx context.Context, organization string) *taskWatch {
	news, leave := w.api.deps.Bus.Watch()
	ctx, cancel := context.WithCancel(ctx)
	of := &taskWatch{
		watches: w, organization: organization, news: news, seed: maphash.MakeSeed(), seen: map[string]uint64{},
		readers: map[*taskReader]struct{}{},
	}
	of.stop = func() { leave(); cancel() }
	go of.run(ctx)
	return of
}

// leave removes a reader. The watch ends with its last reader.
func (w *taskWatches) leave(r *taskReader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(r.of.readers, r)
	if len(r.of.readers) == 0 {
		delete(w.by, r.of.organization)
		r.of.stop()
	}
}

// run reads at once, then after notifications, at most once per stateInterval.
func (w *taskWatch) run(ctx context.Context) {
	beat := time.NewTicker(w.watches.api.cfg.StreamBeat)
	defer beat.Stop()
	for all := true; ; {
		err := w.step(ctx, all)
		if err != nil && ctx.Err() == nil {
			w.watches.api.log.WarnContext(ctx, "read changed tasks failed, retrying", slog.Any("error", err))
		}
		if wait.For(ctx, restAfter(err)) != nil {
			return
		}
		if all = err != nil; all {
			continue
		}
		select {
		case <-w.news.Ready:
		case <-beat.C:
			all = true
		case <-ctx.Done():
			return
		}
	}
}

func restAfter(err error) time.Duration {
	if err != nil {
		return time.Second
	}
	return stateInterval
}

// step tells the readers what changed. What a failed query could not tell, they read themselves once a query succeeds.
func (w *taskWatch) step(ctx context.Context, all bool) error {
	select {
	case w.watches.slots <- struct{}{}:
		defer func() { <-w.watches.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	err := w.read(ctx, all)
	if err == nil && w.lost {
		w.each((*taskReader).leaveOut)
	}
	w.lost = err != nil
	return err
}

func (w *taskWatch) read(ctx context.Context, all bool) (err error) {
	defer caught(w.watches.api.log, &err)
	topics, missed := w.news.Take()
	if all || missed {
		if err := w.sweep(ctx); err != nil {
			return err
		}
	}
	if missed {
		w.each((*taskReader).leaveOut)
	}
	return w.look(ctx, w.named(topics))
}

// named returns the tasks that topics name, except known tasks of other organizations.
func (w *taskWatch) named(topics []string) (ids []string) {
	for _, topic := range topics {
		id, ok := strings.CutPrefix(topic, live.Task(""))
		if sum, known := w.seen[id]; ok && (!known || sum != foreign) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *taskWatch) look(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, watchPage) {
		if _, err := w.tell(ctx, client.TaskQuery{IDs: some}, w.seen); err != nil {
			return err
		}
		for _, id := range some {
			if _, found := w.seen[id]; !found {
				w.seen[id] = foreign
			}
		}
	}
	return nil
}

// sweep reads the open tasks, and those that are open no longer. It forgets all others.
func (w *taskWatch) sweep(ctx context.Context) error {
	before, q := w.seen, client.TaskQuery{Statuses: openStatuses()}
	w.seen = map[string]uint64{}
	for range watchPages {
		page, err := w.tell(ctx, q, before)
		if err != nil {
			w.seen = before
			return err
		}
		if page.NextCursor == nil {
			break
		}
		q.Cursor = *page.NextCursor
	}
	if err := w.ended(ctx, before); err != nil {
		w.seen = before
		return err
	}
	w.prime()
	return nil
}

// ended reads the tasks that the sweep before found, and this one did not.
func (w *taskWatch) ended(ctx context.Context, before map[string]uint64) error {
	var missing []string
	for id, sum := range before {
		switch _, found := w.seen[id]; {
		case sum == foreign && len(w.seen) < mostForeign:
			w.seen[id] = foreign
		case sum != foreign && !found:
			missing = append(missing, id)
		}
	}
	for some := range slices.Chunk(missing, watchPage) {
		if _, err := w.tell(ctx, client.TaskQuery{IDs: some}, before); err != nil {
			return err
		}
	}
	for _, id := range missing {
		delete(w.seen, id)
	}
	return nil
}

func openStatuses() (open []string) {
	for _, s := range task.Statuses() {
		if !s.Final() {
			open = append(open, string(s))
		}
	}
	return open
}

// tell reads tasks and gives those that are not as before to the readers.
func (w *taskWatch) tell(ctx context.Context, q client.TaskQuery, before map[string]uint64) (client.Page[client.Task], error) {
	q.Limit = watchPage
	version := time.Now().UnixMicro()
	page, err := w.watches.api.deps.Tasks.Tasks(ctx, w.organization, q)
	if err != nil { // some tasks may lack a part
		return page, err
	}
	for _, t := range page.Items {
		content, _ := json.Marshal(explained(t)) //nolint:errchkjson // a response has the same form
		sum, old := maphash.Bytes(w.seed, content), before[t.ID]
		if w.seen[t.ID] = sum; sum == old || !w.primed {
			continue
		}
		frame := fmt.Appendf(nil, "event: task\ndata: {\"version\":%d,\"task\":%s}\n\n", version, content)
		w.each(func(r *taskReader) { r.put(t, frame) })
	}
	return page, nil
}

// prime lets the readers begin after the first sweep: from now on each difference is a change.
func (w *taskWatch) prime() {
	if w.primed {
		return
	}
	w.watches.mu.Lock()
	w.primed = true
	w.watches.mu.Unlock()
	w.each((*taskReader).begin)
}

func (w *taskWatch) each(do func(*taskReader)) {
	w.watches.mu.Lock()
	readers := slices.Collect(maps.Keys(w.readers))
	w.watches.mu.Unlock()
	for _, r := range readers {
		do(r)
	}
}
