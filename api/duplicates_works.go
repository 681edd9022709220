package api

import (
	"maps"
	"sync"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// mostWorks bounds what is kept of open tasks: some kilobytes each.
const mostWorks = 5000

// works keeps what open tasks are about, so that a description is read and taken apart once and not each time that a
// new task is compared with it.
type works struct {
	mu    sync.Mutex
	known map[string]knownWork // by task
}

type knownWork struct {
	title   string
	version int64 // of the description
	work    supervise.Work
}

// of answers what each task is about; read is asked for the descriptions of those that are new or were changed.
func (w *works) of(open []task.OpenWork, read func(ids []string) (map[string]string, error)) ([]supervise.Work, error) {
	out, missing := w.look(open)
	if len(missing) == 0 {
		return out, nil
	}
	ids := make([]string, len(missing))
	for n, at := range missing {
		ids[n] = open[at].TaskID
	}
	texts, err := read(ids)
	if err != nil {
		return nil, err
	}
	for _, at := range missing {
		out[at] = supervise.WorkOf(open[at].Title, texts[open[at].TaskID])
	}
	w.keep(open, out, missing)
	return out, nil
}

// look answers what is known, and the places of the others.
func (w *works) look(open []task.OpenWork) (out []supervise.Work, missing []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out = make([]supervise.Work, len(open))
	for n, o := range open {
		k, ok := w.known[o.TaskID]
		if !ok || k.title != o.Title || k.version != o.Version {
			missing = append(missing, n)
			continue
		}
		out[n] = k.work
	}
	return out, missing
}

// keep makes room by dropping any others: they are read again when they are needed.
func (w *works) keep(open []task.OpenWork, all []supervise.Work, added []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[string]knownWork{}
	}
	room := mostWorks - len(added)
	maps.DeleteFunc(w.known, func(string, knownWork) bool { return len(w.known) > room })
	for _, n := range added {
		w.known[open[n].TaskID] = knownWork{title: open[n].Title, version: open[n].Version, work: all[n]}
	}
}
