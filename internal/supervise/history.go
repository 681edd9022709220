package supervise

import (
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// step is one call of a tool with what came of it.
type step struct {
	use    *Event
	result *Event // nil: it is under way, or its answer was not read
	tests  *TestRun
	took   time.Duration
	edits  int
	// fresh is true of a step that tells or changes something that no step before did.
	fresh bool
}

// same is what two steps have in common that are repeats of each other.
type same struct {
	tool          string
	input, result uint64
}

func (st *step) key() same {
	k := same{tool: st.use.Tool, input: st.use.Input}
	if st.result != nil {
		k.result = st.result.Result
	}
	return k
}

func (st *step) failed() bool { return st.result != nil && st.result.Failed }

// history is a subject's events in the form in which the rules look at them.
type history struct {
	*Subject
	steps []*step
	// fresh is the newest event that brought something new: an edit, an answer, a person's word.
	fresh *Event
	// changed is the newest event that changed a file to something that it had not been yet.
	changed *Event
	end     *Event // successful end with no work after it; of several in a row the first
	wentOn  bool   // it has worked on after an end that it had told, and nobody had asked it to
	lifted  []string

	calls map[string]*step
	known map[any]bool
	net   map[string]uint64 // what is left of all edits, by file
}

func newHistory(s *Subject) *history {
	t := &history{Subject: s, calls: map[string]*step{}, known: map[any]bool{}, net: map[string]uint64{}}
	t.steps = make([]*step, 0, len(s.Events)/3)
	for _, m := range s.Said {
		t.lifted = append(t.lifted, liftedBy(cut(m.Text, maxText))...)
	}
	for i := range s.Events {
		t.take(&s.Events[i])
	}
	return t
}

func (t *history) take(e *Event) {
	if event.Is(e.Type, event.Work) && e.Type != event.AgentMessageInjected && !event.Is(e.Type, event.Completion) {
		t.wentOn = t.wentOn || t.end != nil && (e.Tool != "" || e.Type == event.AgentMessage)
		t.end = nil
	}
	switch {
	case e.Sender != "":
		t.told(e)
	case e.Edit != nil:
		t.edit(e)
	case e.Tool != "":
		st := &step{use: e}
		t.steps = append(t.steps, st)
		if e.Call != "" {
			t.calls[e.Call] = st
		}
	case e.Type == event.AgentToolCompleted:
		if st := t.calls[e.Call]; st != nil {
			st.took, st.tests = e.Took, e.Tests
		}
	case e.Call != "":
		t.answer(e)
	case event.Is(e.Type, event.Completion):
		if !e.Success {
			t.end = nil
		} else if t.end == nil {
			t.end = e
		}
	}
}

// over is true of an agent that has told its end and keeps to it. The word of one that has gone on before after such an
// end is not taken for it: a program can tell its end at any moment.
func (t *history) over() bool { return t.end != nil && !t.wentOn }

func (t *history) told(e *Event) {
	if e.Sender != senderUser {
		return
	}
	t.fresh, t.end = e, nil
	clear(t.known) // after that, to look again is something new
}

// change names an edit by what it does.
type change struct {
	path        string
	plus, minus uint64
}

func (t *history) edit(e *Event) {
	if st := t.calls[e.Call]; st != nil {
		st.edits++
	}
	before, known := t.net[e.Path]
	t.net[e.Path] = before + e.Edit.balance()
	if e.Edit.Plus == 0 && e.Edit.Minus == 0 && !known { // its diff is not told, or it is empty
		t.net[e.Path] = 1
	}
	if c := (change{e.Path, e.Edit.Plus, e.Edit.Minus}); !t.known[c] {
		t.known[c] = true
		t.fresh, t.changed = e, e
	}
}

func (t *history) answer(e *Event) {
	st := t.calls[e.Call]
	if st == nil {
		return
	}
	st.result = e
	if st.took == 0 {
		st.took = st.use.Age - e.Age
	}
	if e.Tests != nil && (st.tests == nil || st.tests.Passed) {
		st.tests = e.Tests // who passed by its output alone may have failed by its exit code
	}
	k := st.key()
	news := !t.known[k]
	if e.Failed && e.Error != "" && t.known[e.Error] {
		news = false // tried in another way, and the same came of it
	}
	t.known[k] = true
	if e.Failed {
		t.known[e.Error] = true
	}
	if news || t.fresh != nil && t.fresh.Call == e.Call && e.Call != "" {
		st.fresh, t.fresh = true, e
	}
}

// stale are the newest steps since something new came.
func (t *history) stale() []*step {
	for i, st := range slices.Backward(t.steps) {
		if st.fresh || t.fresh != nil && st.use.Sequence < t.fresh.Sequence {
			return t.steps[i+1:]
		}
	}
	return t.steps
}

// left reports whether anything is left of the edits of a file.
func (t *history) left(path string) bool { return t.net[path] != 0 }

// underWay is true while a tool is at work within its limit: the heartbeat says so, or what came
// after that is a call.
func (t *history) underWay(limit time.Duration) bool {
	if t.Beat != nil && t.Beat.Sequence > t.last() {
		return t.Beat.Tool != "" && t.toolAge() <= limit
	}
	return t.calling(limit)
}

// calling is true while the newest call has no answer, within the limit.
func (t *history) calling(limit time.Duration) bool {
	return len(t.steps) > 0 && t.steps[len(t.steps)-1].result == nil && t.steps[len(t.steps)-1].use.Age <= limit
}

// toolAge is for how long the tool of the heartbeat has been under way: as long as that says, and no
// less than nothing else was told, since a call begins with an event.
func (t *history) toolAge() time.Duration { return max(t.Beat.ToolAge+t.Beat.Age, t.newest()) }

// last is the number of the newest event, heartbeats aside.
func (t *history) last() int64 {
	if len(t.Events) == 0 {
		return 0
	}
	return t.Events[len(t.Events)-1].Sequence
}

// newest is the age of the newest event, heartbeats aside. Who says again and again that it is done, or waits, says it once.
func (t *history) newest() time.Duration {
	if at := t.resting(); at != nil {
		return at.Age
	}
	if len(t.Events) == 0 {
		return t.Age
	}
	return t.Events[len(t.Events)-1].Age
}

// resting is the first of the newest events where those say only that it is done, or waits for messages.
func (t *history) resting() (at *Event) {
	for i := len(t.Events) - 1; i >= 0; i-- {
		if e := &t.Events[i]; event.Is(e.Type, event.Completion) || e.Type == event.AgentWaiting {
			at = e
			continue
		}
		break
	}
	return at
}

// program is what a shell command runs, without the folder that it goes to first; of another
// tool it is the tool.
func (st *step) program() string {
	if st.use.Command == "" {
		return st.use.Tool
	}
	parts := strings.FieldsFunc(st.use.Command, func(r rune) bool { return strings.ContainsRune("&|;\n", r) })
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(strings.TrimSpace(p), "cd ") })
	if len(parts) == 0 {
		return st.use.Tool
	}
	words := strings.Fields(parts[0])
	return strings.Join(words[:min(2, len(words))], " ")
}

// evidence are the sequences of steps, at most so many, newest last.
func evidence(steps []*step, most int) []int64 {
	var list []int64
	for _, st := range steps[max(0, len(steps)-most):] {
		list = append(list, st.use.Sequence)
		if st.result != nil {
			list = append(list, st.result.Sequence)
		}
	}
	return list
}

// sinceWork is the age of the newest event that is work.
func (t *history) sinceWork() time.Duration {
	for _, e := range slices.Backward(t.Events) {
		if event.Is(e.Type, event.Work) {
			return e.Age
		}
	}
	return t.Age
}
