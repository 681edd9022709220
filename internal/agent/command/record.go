package command

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/event"
)

// recorder reports the program's event lines and its changes of files. mu guards its state, and is not held during a
// report or a comparison of the work tree.
type recorder struct {
	env     agent.Env
	limits  continuous.Limits
	changes func() (found []diff.Change, total int, skipped []string)
	begin   func()      // begins an iteration of continuous mode, if none has begun
	full    chan string // the limit that was reached
	// Transcript of the event lines; empty without event lines, because the program may send its own.
	log transcript.Log

	looking sync.Mutex // held during a comparison
	skipped []string   // paths that were reported last

	mu      sync.Mutex
	place   *place
	now     spent           // cost of the current run
	turns   int             // turns before the current run
	said    string          // last message
	files   map[string]bool // changed files
	own     map[string]bool // changed files that the program reported since the last comparison
	spoke   bool            // the program prints event lines
	begun   bool            // the current iteration has begun
	outcome *eventLine      // reported outcome of the task, held back until the validation
	told    chan struct{}   // signals that outcome is set
	ended   *eventLine      // reported end of the iteration
}

func newRecorder(ctx context.Context, env agent.Env, p *place, limits continuous.Limits) *recorder {
	watch, whole := env.Watch(ctx), context.WithoutCancel(ctx) // changes until a stop count
	return &recorder{
		env: env, limits: limits, place: p,
		log: transcript.Log{Path: filepath.Join(env.Config.Dir, "transcript.jsonl")}, files: map[string]bool{}, own: map[string]bool{},
		changes: func() ([]diff.Change, int, []string) { return watch(whole) },
	}
}

// take handles one event line.
func (r *recorder) take(e *eventLine) {
	if event.Is(e.Type, event.Changes) {
		id, _ := e.Data["tool_use_id"].(string)
		r.look(id)
	}
	if r.first(&r.spoke) {
		r.env.Recall(r.log.Path, func([]byte) {})
	}
	r.begin()
	r.log.Note(e)
	if !r.know(e) {
		return
	}
	r.env.Report.Emit(e.Type, e.Data)
	r.watchLimits()
}

// first sets a flag, and reports whether it was not set before.
func (r *recorder) first(flag *bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := *flag
	*flag = true
	return !before
}

// know records the data of a line, and reports whether the line becomes an event now.
func (r *recorder) know(e *eventLine) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Type {
	case event.AgentAssistantMessage:
		r.place.Turn++
		r.env.Doing.SetTurn(r.place.Turn)
		if usage, ok := e.Data["usage"].(map[string]any); ok {
			r.now = r.now.plus(tokensOf(usage))
		}
	case event.AgentMessage:
		text, _ := e.Data["content"].(string)
		r.said = strings.ToValidUTF8(text[:min(len(text), maxKept)], "")
	case event.AgentFileEdited:
		if path, ok := e.Data["file_path"].(string); ok {
			r.edited(r.inside(path))
			r.own[r.inside(path)] = true
		}
	}
	r.now.Cost = max(r.now.Cost, number(e.Data["total_cost_usd"]))
	if _, there := e.Data["turn"]; !there {
		e.Data["turn"] = r.place.Turn
	}
	return r.ends(e)
}

// edited records a changed file.
func (r *recorder) edited(path string) {
	r.files[path] = true
	r.place.Files = max(r.place.Files, len(r.files))
}

// inside returns a path as the comparison of the work tree names it.
func (r *recorder) inside(path string) string {
	if rel, err := filepath.Rel(r.env.Config.Workspace, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// look reports the changes of the work tree since the last comparison, except those that the program reported.
func (r *recorder) look(id string) {
	r.looking.Lock()
	defer r.looking.Unlock()
	found, total, skipped := r.changes()
	for _, c := range found {
		if turn, told := r.saw(c.Path); !told {
			r.env.Report.Emit(event.AgentFileEdited, c.Data(turn, id))
		}
	}
	if total > len(found) || !slices.Equal(skipped, r.skipped) && len(skipped) > 0 {
		r.env.Report.Emit(event.AgentFilesUnreported, map[string]any{"tool_use_id": id, "count": total - len(found), "skipped": skipped})
	}
	r.skipped = skipped
}

func (r *recorder) saw(path string) (turn int, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told = r.own[path]
	delete(r.own, path)
	r.edited(path)
	return r.place.Turn, told
}

// watchLimits reports a reached limit once.
func (r *recorder) watchLimits() {
	if reason := r.reached(); reason != "" {
		select {
		case r.full <- reason:
		default:
		}
	}
}

func (r *recorder) reached() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.outcome != nil:
	case r.place.Spent.Cost+r.now.Cost >= r.limits.Cost:
		return continuous.StopCost
	case r.limits.Turns > 0 && r.place.Turn-r.turns >= r.limits.Turns:
		return continuous.StopTurns
	}
	return ""
}

// again resets the fields of one run of the program.
func (r *recorder) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.Spent, r.now = r.place.Spent.plus(r.now), spent{}
	r.outcome, r.ended, r.said, r.begun = nil, nil, "", false
	if r.env.Config.Continuous {
		r.turns = r.place.Turn
	}
	r.full, r.told = make(chan string, 1), make(chan struct{}, 1)
}

// tell uses the output as the last message if the program sent none.
func (r *recorder) tell(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == "" {
		r.said = text
	}
}
