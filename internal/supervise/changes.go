package supervise

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/omoi-dev/omoi/internal/redact"
)

// Change is a change of a file that a model is shown.
type Change struct {
	Event  int64  `json:"event"`
	File   string `json:"file"`
	Change string `json:"change"`
	Diff   string `json:"diff"`
}

const (
	maxDiffs = 40_000 // bytes of all diffs that a model is shown
	maxDiff  = 8_000  // bytes of one of them
)

// What a change touches, the most telling first.
const (
	touchesTests = iota
	touchesSettings
	touchesLimits
	touchesCode
)

// limits matches a changed line that names a limit.
var limits = regexp.MustCompile(`(?im)^[-+].*(?:limit|time_?out|threshold|tolerance|retries|\bmax|\bmin)`)

func (e *Event) touches() int {
	switch {
	case e.Edit.judges:
		return touchesTests
	case configuring.MatchString(e.Path):
		return touchesSettings
	case limits.MatchString(e.Edit.diff):
		return touchesLimits
	}
	return touchesCode
}

// Changes returns diffs for a model, at most maxDiffs bytes: of tests first, then of configuration, of lines that name a
// limit, and of other files; of each, the newest first. Reverted changes and files that tools write are left out.
func Changes(s *Subject) []Change {
	list := []Change{}
	left := maxDiffs
	for _, e := range changed(s, DefaultSettings()) {
		diff := cut(redact.Scrub(e.Edit.diff, nil), min(maxDiff, left))
		if left -= len(diff); diff != "" {
			list = append(list, Change{e.Sequence, e.Path, e.Edit.Change, diff})
		}
	}
	return list
}

// changed returns the edits with a diff and a net effect, in the order of [Changes].
func changed(s *Subject, settings Settings) (list []*Event) {
	t := newHistory(s)
	for i := range s.Events {
		if e := &s.Events[i]; t.counts(e, settings) && e.Edit.diff != "" {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b *Event) int { return cmp.Compare(a.touches(), b.touches()) })
	return list
}

// settled reports whether the rules decide without a model: a rule is sure, and no change touches tests, configuration or
// limits.
func (a *Analysis) settled(s *Subject, settings Settings) bool {
	if a.Verdict != Steer {
		return false
	}
	list := changed(s, settings)
	return len(list) == 0 || list[0].touches() == touchesCode
}

// maxFailures is the number of failed test runs whose output a model is shown.
const maxFailures = 3

// Failures returns the ends of the outputs of the newest test runs that failed in different ways, newest first.
func Failures(s *Subject) []Line {
	list, known := []Line{}, map[uint64]bool{}
	for _, e := range slices.Backward(s.Events) {
		if e.Tests != nil && !e.Tests.Passed && !known[e.Tests.Which] && len(list) < maxFailures {
			known[e.Tests.Which] = true
			list = append(list, Line{e.Sequence, int64(e.Age.Seconds()), "output", redact.Scrub(e.Tests.Output, nil)})
		}
	}
	return list
}
