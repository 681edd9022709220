// Package sandboxlog stores sandbox logs, which hold the output of agents: while a user reads them, and once before the
// deletion of the sandbox. It keeps the newest bytes, and removes known and likely secrets first.
package sandboxlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Part is the range First to Last of a log's bytes, with secrets removed.
type Part struct {
	First, Last int64
	Text        []byte
}

// Wanted is a log with a reader.
type Wanted struct {
	SandboxID string
	TaskID    string // empty: the task no longer exists
	Provider  string
	Labels    sandbox.Labels
	Read      int64 // offset up to which the log is stored
}

// Store stores sandbox logs.
type Store interface {
	// WantedLogs returns the logs with readers that a worker on this host with these providers can read.
	WantedLogs(ctx context.Context, hostID string, providers []string) ([]Wanted, error)
	// AddLog stores new parts, and drops those more than keep bytes before the end.
	AddLog(ctx context.Context, sandboxID string, parts []Part, keep int64) error
	// LogLooked records that all existing output is stored.
	LogLooked(ctx context.Context, sandboxID string) error
	// LogRead returns the offset up to which a log is stored.
	LogRead(ctx context.Context, sandboxID string) (int64, error)
	// KeepLog is AddLog for the last parts: none can be added later. [task.CodeConflict] if another process added parts
	// meanwhile.
	KeepLog(ctx context.Context, sandboxID string, parts []Part, keep int64) error
}

// Config configures a [Watcher].
type Config struct {
	HostID string
	Keep   int64 // maximum size of a stored log; default 1 MiB
	// Hide returns a function that removes secrets from a text: those of the task, of its sandbox, and of omoi.
	Hide func(ctx context.Context, taskID string, given map[string]string) (func(string) string, error)
	Wake func(sandboxID string) // notifies readers in this process; nil: none
}

// Watcher reads the logs of sandboxes that one worker can reach.
type Watcher struct {
	cfg       Config
	store     Store
	providers map[string]sandbox.Provider
	log       *slog.Logger
}

// New returns a watcher for the providers that have logs.
func New(cfg Config, store Store, providers []sandbox.Provider, log *slog.Logger) *Watcher {
	cfg.Keep = cmp.Or(cfg.Keep, 1<<20)
	w := &Watcher{cfg: cfg, store: store, providers: map[string]sandbox.Provider{}, log: log}
	for _, p := range providers {
		if p.Capabilities().Exec {
			w.providers[p.Name()] = p
		}
	}
	return w
}

// Run reads logs for readers until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	for wait.For(ctx, time.Second) == nil {
		w.Round(ctx)
	}
}

// Round reads each wanted log once and stores the new output.
func (w *Watcher) Round(ctx context.Context) {
	wanted, err := w.store.WantedLogs(ctx, w.cfg.HostID, slices.Sorted(maps.Keys(w.providers)))
	if err != nil {
		w.log.DebugContext(ctx, "list requested logs failed, retrying", slog.String("error", err.Error()))
		return
	}
	for _, one := range wanted {
		if err := w.bring(ctx, one); err != nil && ctx.Err() == nil && task.CodeOf(err) != task.CodeConflict {
			w.log.WarnContext(ctx, "read sandbox log failed, retrying", slog.String("sandbox_id", one.SandboxID), slog.String("error", err.Error()))
		}
	}
}

// bring stores the output since the last read.
func (w *Watcher) bring(ctx context.Context, one Wanted) error {
	const patience = 20 * time.Second
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	parts, err := w.since(ctx, source{w.providers[one.Provider], one.Labels, one.TaskID}, one.Read, true)
	if err == nil && len(parts) > 0 {
		err = w.store.AddLog(ctx, one.SandboxID, parts, w.cfg.Keep)
	}
	if err == nil {
		err = w.store.LogLooked(ctx, one.SandboxID)
	}
	if err == nil && w.cfg.Wake != nil {
		w.cfg.Wake(one.SandboxID)
	}
	return err
}

// Keep stores the end of a log before its sandbox is deleted. If the log no longer exists, the stored part is its end.
func (w *Watcher) Keep(ctx context.Context, p sandbox.Provider, labels sandbox.Labels) error {
	const tries = 3 // a reader may be adding parts at the same time
	for try := 1; ; try++ {
		err := w.keep(ctx, p, labels)
		if task.CodeOf(err) != task.CodeConflict || try == tries {
			return err
		}
	}
}

func (w *Watcher) keep(ctx context.Context, p sandbox.Provider, labels sandbox.Labels) error {
	read, err := w.store.LogRead(ctx, labels.SandboxID)
	if err != nil {
		return err
	}
	parts, err := w.since(ctx, source{p, labels, labels.TaskID}, read, false)
	if err != nil {
		return err
	}
	return w.store.KeepLog(ctx, labels.SandboxID, parts, w.cfg.Keep)
}

// since returns the output after offset, without secrets. If more may come, it leaves an incomplete line for the next
// read, since a secret must not be cut in two.
func (w *Watcher) since(ctx context.Context, from source, offset int64, more bool) ([]Part, error) {
	first, text, err := w.read(ctx, from, offset)
	if !more && task.CodeOf(err) == task.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if end := bytes.LastIndexByte(text, '\n') + 1; more && (end > 0 || len(text) < longestPart) {
		text = text[:end]
	}
	return w.parts(ctx, from, first, text)
}

// read returns the newest bytes after offset, and their position. They start with a whole line if there is one.
func (w *Watcher) read(ctx context.Context, from source, offset int64) (first int64, text []byte, err error) {
	r, err := from.provider.Log(ctx, from.labels, offset)
	if err != nil {
		return 0, nil, fmt.Errorf("open the log: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	total, text, err := tail(ctx, r, w.cfg.Keep)
	if err != nil {
		return 0, nil, fmt.Errorf("read the log: %w", err)
	}
	first = offset + total - int64(len(text))
	if first > offset {
		cut := bytes.IndexByte(text, '\n') + 1
		first, text = first+int64(cut), text[cut:]
	}
	return first, text, nil
}

// tail reads to the end and returns the last bytes, at most keep.
func tail(ctx context.Context, r io.Reader, keep int64) (total int64, last []byte, err error) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		total += int64(n)
		last = append(last, buffer[:n]...)
		if over := int64(len(last)) - 2*keep; over > 0 { // move rarely
			last = append(last[:0], last[int64(len(last))-keep:]...)
		}
		switch {
		case errors.Is(err, io.EOF):
			return total, last[max(int64(len(last))-keep, 0):], nil
		case err != nil:
			return total, nil, err
		case ctx.Err() != nil:
			return total, nil, ctx.Err()
		}
	}
}

// longestPart is the maximum size of a part in bytes.
const longestPart = 256 << 10

// parts splits a text at the ends of lines, and removes secrets.
func (w *Watcher) parts(ctx context.Context, from source, first int64, text []byte) ([]Part, error) {
	if len(text) == 0 {
		return nil, nil
	}
	hide, err := w.cfg.Hide(ctx, from.taskID, from.given(ctx))
	if err != nil {
		return nil, fmt.Errorf("learn what to hide: %w", err)
	}
	var parts []Part
	for len(text) > 0 {
		size := len(text)
		if size > longestPart {
			if size = bytes.LastIndexByte(text[:longestPart], '\n') + 1; size == 0 {
				size = longestPart
			}
		}
		parts = append(parts, Part{First: first, Last: first + int64(size), Text: []byte(hide(string(text[:size])))})
		first, text = first+int64(size), text[size:]
	}
	return parts, nil
}

// source is the origin of a log.
type source struct {
	provider sandbox.Provider
	labels   sandbox.Labels
	taskID   string // empty: the task no longer exists
}

// Limits for reading an agent's configuration, which programs in the sandbox may have changed.
const (
	mostGiven    = 4 << 20
	longestValue = 16 << 10 // no credential is longer
	mostValues   = 128 << 10
)

// given returns the environment that the agent got: a credential in it may have been replaced or removed since. If the
// file is missing or was changed, only current credentials are known.
func (s source) given(ctx context.Context) map[string]string {
	f, err := s.provider.ReadFile(ctx, s.labels, agentconfig.ConfigPath)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var told struct {
		Env map[string]string `json:"env"`
	}
	_ = json.NewDecoder(io.LimitReader(f, mostGiven)).Decode(&told) // an invalid file yields no variables
	left := mostValues
	maps.DeleteFunc(told.Env, func(_, value string) bool {
		if len(value) > longestValue || len(value) > left {
			return true
		}
		left -= len(value)
		return false
	})
	return told.Env
}
