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

// recorder reports what a program says by its lines, and which files it has changed. mu guards what it knows;
// nobody holds it while something is reported or the work tree is looked at.
type recorder struct {
	env     agent.Env
	limits  continuous.Limits
	changes func() (found []diff.Change, total int, skipped []string)
	begin   func()         // a round of continuous mode, of a program that speaks
	full    chan string    // the limit that was reached
	log     transcript.Log // of the event lines; none of another program: it may send its own

	looking sync.Mutex // held by who looks
	skipped []string   // that were told of

	mu      sync.Mutex
	place   *place
	now     spent           // by the run that is under way
	turns   int             // before the run that is under way
	said    string          // in its last message
	files   map[string]bool // that were changed
	own     map[string]bool // of which the program itself has told since they were looked at
	spoke   bool            // it speaks event lines
	begun   bool            // the iteration that is under way
	outcome *eventLine      // by which it told the outcome of all: held back until the work was judged
	told    chan struct{}   // that it did
	ended   *eventLine      // by which it told the end of a round
}

func newRecorder(ctx context.Context, env agent.Env, p *place, limits continuous.Limits) *recorder {
	watch, whole := env.Watch(ctx), context.WithoutCancel(ctx) // what was done until a stop counts
	return &recorder{
		env: env, limits: limits, place: p,
		log: transcript.Log{Path: filepath.Join(env.Config.Dir, "transcript.jsonl")}, files: map[string]bool{}, own: map[string]bool{},
		changes: func() ([]diff.Change, int, []string) { return watch(whole) },
	}
}

// take reports one event line.
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

// know takes in what a line says; false: it is not told on, or not yet.
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

// edited notes a changed file.
func (r *recorder) edited(path string) {
	r.files[path] = true
	r.place.Files = max(r.place.Files, len(r.files))
}

// inside is a path as the look at the work tree names it.
func (r *recorder) inside(path string) string {
	if rel, err := filepath.Rel(r.env.Config.Workspace, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// look reports what has changed in the work tree since it was looked at last, but for what the program
// has told of itself.
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

// watchLimits says once which limit leaves no room for more.
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

// again forgets what was of one run of the program: another one begins.
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

// tell takes the output for what a program said that has no words of its own.
func (r *recorder) tell(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == "" {
		r.said = text
	}
}
