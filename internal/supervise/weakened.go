package supervise

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var aboutTests = regexp.MustCompile(`(?i)\b(?:remov|delet|drop|skip|disabl|obsolete|rewrit|replac|simplif|clean|migrat|deprecat|retir)\w*\b[^.\n]{0,60}\b(?:tests?|specs?|suite)\b` +
	`|\b(?:tests?|specs?|suite)\b[^.\n]{0,40}\b(?:remov|delet|drop|obsolete|replac|rewrit)\w*`)

// loss counts the tests, checks and skips that edits removed or added, over all test files, so that moves cancel out.
type loss struct {
	tests, checks, skips int
	seen                 []int64
}

func lossOf(t *history) loss {
	var l loss
	for i := range t.Events {
		e := &t.Events[i]
		if e.Edit == nil || !e.Edit.TestFile || !t.left(e.Path) && e.Edit.Tests >= 0 {
			continue
		}
		l.tests, l.checks, l.skips = l.tests-e.Edit.Tests, l.checks-e.Edit.Checks, l.skips+e.Edit.Skips
		if e.Edit.Tests < 0 || e.Edit.Checks < 0 || e.Edit.Skips > 0 {
			l.seen = append(l.seen, e.Sequence)
		}
	}
	return l
}

// weakened matches edits that remove, empty or skip tests. The confidence suffices to steer only if the tests failed
// before.
func weakened(t *history, s Settings) *Finding {
	l := lossOf(t)
	if len(l.seen) == 0 || aboutTests.MatchString(t.Title+"\n"+t.Description) {
		return nil
	}
	if l.tests <= s.TestsLost && l.checks <= s.TestsLost && l.skips <= s.TestsLost {
		return nil
	}
	if !settled(t, l.seen[len(l.seen)-1], s.TestsGrace) {
		return nil
	}
	confidence := 0.5
	if failedBefore(t, l.seen[0]) {
		confidence = 0.9
	}
	return &Finding{
		Why:        fmt.Sprintf("Its edits have taken away %d tests and %d checks and skipped %d, and the task does not ask for that.", max(l.tests, 0), max(l.checks, 0), max(l.skips, 0)),
		Advice:     "You have weakened the tests. Put them back as they were and change the code that they test; if a test is wrong, say so and leave it.",
		Confidence: confidence, Evidence: l.seen[max(0, len(l.seen)-6):],
	}
}

// settled reports whether an edit is final: the agent ran tests or committed since, has completed, or grace has passed.
// Until then the agent may still add the removed tests to another file.
func settled(t *history, sequence int64, grace time.Duration) bool {
	for i := range t.Events {
		if e := &t.Events[i]; e.Sequence == sequence && e.Age >= grace {
			return true
		}
	}
	for _, st := range t.steps {
		if st.use.Sequence > sequence && (st.tests != nil || strings.Contains(st.use.Command, "git commit")) {
			return true
		}
	}
	return t.end != nil
}

// failedBefore reports whether the newest test run before an event failed.
func failedBefore(t *history, sequence int64) bool {
	failed := false
	for _, st := range t.steps {
		if st.use.Sequence < sequence && st.tests != nil {
			failed = !st.tests.Passed
		}
	}
	return failed
}
