package bench

import (
	"fmt"
	"strings"
	"time"
)

// stepTimes collects the durations of the steps of many tasks.
type stepTimes struct {
	order []string
	took  map[string]*[columns][]float64
	round map[string]bool // names of this round
}

// Columns of a step: until a worker has the workflow task, the task, until a worker has the
// activity, the activity.
const (
	inServer = iota
	inWorkflow
	inQueue
	inActivity
	columns
)

// begin starts a round.
func (t *stepTimes) begin() { t.round = map[string]bool{} }

func (t *stepTimes) note(name string, took [columns]time.Duration) {
	if t.took == nil {
		t.took = map[string]*[columns][]float64{}
	}
	if t.took[name] == nil {
		t.order, t.took[name] = append(t.order, name), &[columns][]float64{}
	}
	t.round[name] = true
	for n, d := range took {
		t.took[name][n] = append(t.took[name][n], milliseconds(d))
	}
}

// add adds a step that is no activity.
func (t *stepTimes) add(name string, took time.Duration) {
	t.note(name, [columns]time.Duration{inActivity: took})
}

// step adds an activity, with what came before it since last. It answers when it ended.
func (t *stepTimes) step(last time.Time, s step) time.Time {
	name := s.name
	for n := 2; t.round[name]; n++ { //nolint:mnd // the second of its name
		name = fmt.Sprintf("%s (%d)", s.name, n)
	}
	t.note(name, [columns]time.Duration{
		s.decided.Sub(last), s.scheduled.Sub(s.decided), s.started.Sub(s.scheduled), s.ended.Sub(s.started),
	})
	return s.ended
}

// table is a Markdown table of medians.
func (t *stepTimes) table() string {
	var b strings.Builder
	b.WriteString("| step (ms) | wait for workflow task | workflow task | wait for activity | activity |\n|---|---:|---:|---:|---:|\n")
	var sums [columns]float64
	for _, name := range t.order {
		b.WriteString("| " + name)
		for n, values := range t.took[name] {
			m := median(values)
			sums[n] += m
			fmt.Fprintf(&b, " | %.1f", m)
		}
		b.WriteString(" |\n")
	}
	b.WriteString("| sum of medians")
	for _, sum := range sums {
		fmt.Fprintf(&b, " | %.1f", sum)
	}
	return b.String() + " |\n"
}
