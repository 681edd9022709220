package supervise

import (
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// step is one tool call with its result.
type step struct {
	use    *Event
	result *Event // nil: the call is in progress, or its result was not read
	tests  *TestRun
	took   time.Duration
	gap    time.Duration // since the step before
	again  bool          // the step before was the same call
	edits  int
	// fresh is true if the step returned or changed something new.
	fresh bool
}

// same is the key that repeated steps share.
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

// history holds the events of a subject in the form that the rules use.
type history struct {
	*Subject
	steps []*step
	// fresh is the newest event with something new: an edit, an answer or a user's message.
	fresh *Event
	// changed is the newest edit that no earlier event made.
	changed *Event
	end     *Event // successful completion without later work; of several in a row, the first
	wentOn  bool   // the agent worked on after a completion without a user's message

	calls   map[string]*step
	refused map[string]bool // calls that omoi refused before they ran, by their events
	allowed map[string]bool // calls that a stored message allowed once
	known   map[any]bool
	moved   map[same]*series
	net     map[string]uint64 // sum of Edit.balance by file
}

func newHistory(s *Subject) *history {
	t := &history{Subject: s, calls: map[string]*step{}, refused: map[string]bool{}, allowed: map[string]bool{}, known: map[any]bool{}, moved: map[same]*series{}, net: map[string]uint64{}}
	t.steps = make([]*step, 0, len(s.Events)/3)
	for i := range s.Events {
		t.take(&s.Events[i])
	}
	return t
}

func (t *history) take(e *Event) {
	if event.Is(e.Type, event.Work) && e.Type != event.AgentMessageInjected && !event.Is(e.Type, event.Completion) && !aside(e.Type) {
		t.wentOn = t.wentOn || t.end != nil && (e.Tool != "" || e.Type == event.AgentMessage)
		t.end = nil
	}
	switch {
	case e.Type == event.AgentToolRefused:
		t.refused[e.Call] = e.Call != ""
	case e.Type == event.AgentToolAllowed:
		t.allowed[e.Call] = e.Call != ""
	case e.Sender != "":
		t.told(e)
	case e.Edit != nil:
		t.edit(e)
	case e.Tool != "":
		st := &step{use: e}
		if n := len(t.steps); n > 0 {
			last := t.steps[n-1].use
			st.gap, st.again = last.Age-e.Age, last.Tool == e.Tool && last.Input == e.Input
		}
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

// aside reports whether an event comes without an act of the agent: from omoi, or from the agent runtime about itself.
func aside(eventType string) bool {
	return event.Is(eventType, event.Background) || eventType == event.AgentSystemMessage
}

// over reports whether the agent completed and did no work since. After an agent has once worked on after a completion,
// its completions no longer count, because a program can report one at any moment.
func (t *history) over() bool { return t.end != nil && !t.wentOn }

func (t *history) told(e *Event) {
	if e.Sender != senderUser {
		return
	}
	t.fresh, t.end = e, nil
	clear(t.known) // after a message, repeated calls count as new
	clear(t.moved)
}

// change is the key of an edit by its effect.
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
	if e.Edit.Plus == 0 && e.Edit.Minus == 0 && !known { // the diff is missing or empty
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
		st.tests = e.Tests // a run that passed by its output can still fail by its exit code
	}
	news := t.news(st.key(), e.numbers)
	if e.Failed && e.Error != "" && t.known[e.Error] {
		news = false // another call failed with the same error
	}
	if e.Failed {
		t.known[e.Error] = true
	}
	if news || t.fresh != nil && t.fresh.Call == e.Call && e.Call != "" {
		st.fresh, t.fresh = true, e
	}
}

// news reports whether an answer is new: its text, or numbers in it that continue in one direction.
func (t *history) news(k same, numbers []float64) bool {
	if s := t.moved[k]; s != nil && len(s.last) == len(numbers) {
		return s.moves(numbers)
	}
	t.moved[k] = &series{last: numbers, ways: make([]int, len(numbers))}
	return true
}

// stale returns the steps since the newest information.
func (t *history) stale() []*step {
	for i, st := range slices.Backward(t.steps) {
		if st.fresh || t.fresh != nil && st.use.Sequence < t.fresh.Sequence {
			return t.steps[i+1:]
		}
	}
	return t.steps
}

// left reports whether the edits of a file have a net effect.
func (t *history) left(path string) bool { return t.net[path] != 0 }

// underWay reports whether a tool call is in progress for at most limit: by the heartbeat if it is the newest event,
// else by the newest call.
func (t *history) underWay(limit time.Duration) bool {
	if t.Beat != nil && t.Beat.Sequence > t.last() {
		return t.Beat.Tool != "" && t.toolAge() <= limit
	}
	return t.calling(limit)
}

// calling reports whether the newest call has no result and is at most limit old.
func (t *history) calling(limit time.Duration) bool {
	return len(t.steps) > 0 && t.steps[len(t.steps)-1].result == nil && t.steps[len(t.steps)-1].use.Age <= limit
}

// toolAge returns the age of the heartbeat's tool call: the reported age, or the age of the newest event if that is
// more, because each call starts with an event.
func (t *history) toolAge() time.Duration { return max(t.Beat.ToolAge+t.Beat.Age, t.newest()) }

// last returns the sequence of the newest event other than a heartbeat.
func (t *history) last() int64 {
	if len(t.Events) == 0 {
		return 0
	}
	return t.Events[len(t.Events)-1].Sequence
}

// newest returns the age of the newest event other than a heartbeat. Of several completions or waits in a row, the
// first counts.
func (t *history) newest() time.Duration {
	if at := t.resting(); at != nil {
		return at.Age
	}
	if len(t.Events) == 0 {
		return t.Age
	}
	return t.Events[len(t.Events)-1].Age
}

// resting returns the first of the newest events if these report only completion or waiting for messages, else nil.
func (t *history) resting() (at *Event) {
	for i := len(t.Events) - 1; i >= 0; i-- {
		switch e := &t.Events[i]; {
		case aside(e.Type):
		case event.Is(e.Type, event.Completion) || e.Type == event.AgentWaiting:
			at = e
		default:
			return at
		}
	}
	return at
}

// program returns the first two words of the first command other than cd; for other tools, the name of the tool.
func (st *step) program() string {
	for _, c := range st.use.commands {
		if c.Words[0] != "cd" {
			return strings.Join(c.Words[:min(2, len(c.Words))], " ")
		}
	}
	return st.use.Tool
}

// evidence returns the sequences of the newest steps, up to most of them, newest last.
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

// sinceWork returns the age of the newest event that shows work.
func (t *history) sinceWork() time.Duration {
	for _, e := range slices.Backward(t.Events) {
		if event.Is(e.Type, event.Work) && !aside(e.Type) {
			return e.Age
		}
	}
	return t.Age
}
