package supervise

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// loop matches if the same call, or the same few calls in turn, returns the same answers again and again. Polling looks
// the same and has a limit of its own.
func loop(t *history, s Settings) *Finding {
	if t.over() {
		return nil
	}
	tail := t.stale()
	counts := map[same]int{}
	for _, st := range tail {
		counts[st.key()]++
	}
	for _, st := range slices.Backward(tail) { // newest first
		key := st.key()
		n := counts[key] + 1
		if n < s.LoopRepeats {
			continue
		}
		of := rounds(tail, func(other *step) bool { return other.key() == key })
		if f := t.polled(repeated(tail, st, n, s), tail, of, s); f != nil {
			return f
		}
		counts[key] = 0
	}
	return nil
}

func repeated(tail []*step, st *step, n int, s Settings) *Finding {
	return &Finding{
		Why:        fmt.Sprintf("%s was called %d times with the same input and the same answer, and nothing new came in between.", what(st), n),
		Advice:     fmt.Sprintf("You have called %s %d times with the same answer. It will not change by asking again: say what you expected, and try something else.", what(st), n),
		Confidence: sure(0.82, n, s.LoopRepeats), Evidence: evidence(tail, 6),
	}
}

// sure returns a confidence that grows with the distance of n from limit.
func sure(base float64, n, limit int) float64 {
	return min(base+0.02*float64(n-limit), 0.95)
}

var waitsFor = regexp.MustCompile(`\b(?:sleep|wait|watch|follow)\b|tail -f`)

// longPause is the pause before a repeated call, in PollPause, that makes the call polling.
const longPause = 4

// isPoll reports whether a step waits: by its command, its tool, or a long pause before the same call. With slow, the
// reported duration of the step counts too.
func isPoll(st *step, slow bool, s Settings) bool {
	switch st.use.Tool {
	case "BashOutput", "TaskOutput", "AgentOutputTool", "Monitor": // of Claude Code
		return true
	}
	return slow && st.took >= s.PollPause || st.again && st.gap >= longPause*s.PollPause || waitsFor.MatchString(st.use.Command)
}

// rounds splits steps after each last step of a round. Steps after the last round are left out.
func rounds(steps []*step, last func(*step) bool) [][]*step {
	var list [][]*step
	from := 0
	for i, st := range steps {
		if last(st) {
			list = append(list, steps[from:i+1])
			from = i + 1
		}
	}
	return list
}

// polled returns nil if the steps are polling within the limit. The limit is PollFor, or all events that were read,
// because polling before them is unknown.
func (t *history) polled(f *Finding, tail []*step, of [][]*step, s Settings) *Finding {
	if len(tail) == 0 || !polls(of, confirmed(tail, s), s) {
		return f
	}
	since := tail[0].use.Age
	if since < s.PollFor && !t.fills(tail) {
		return nil
	}
	f.Why = fmt.Sprintf("It has waited for %s for the same thing, which has not changed.", minutes(since))
	f.Advice = "What you wait for has not changed for a long time. Find out whether it is still at work, and go on without it if it is not."
	return f
}

// longestRound is the maximum number of calls in one round of polling.
const longestRound = 4

// fills reports whether the steps are all that was read, except for one round. The first round looks new, because
// earlier ones were not read.
func (t *history) fills(tail []*step) bool {
	return t.Seen.First > 1 && len(t.steps)-len(tail) <= longestRound
}

// polls reports whether most rounds wait for something and change no file.
func polls(of [][]*step, slow bool, s Settings) bool {
	n := 0
	for _, round := range of {
		waits := slices.ContainsFunc(round, func(st *step) bool { return isPoll(st, slow, s) })
		if waits && !slices.ContainsFunc(round, func(st *step) bool { return st.edits > 0 }) {
			n++
		}
	}
	return 2*n > len(of)
}

// confirmed reports whether the storage times confirm half of the sum of the durations that the steps report, because
// events can arrive late and calls can overlap.
func confirmed(tail []*step, s Settings) bool {
	said := time.Duration(0)
	for _, st := range tail {
		said += min(st.took, s.PollFor) // keeps the sum from overflowing
	}
	return said/2 <= tail[0].use.Age+s.PollPause
}

// what returns the name of a call for users.
func what(st *step) string {
	text := st.use.Text
	if text == "" {
		return st.use.Tool
	}
	return fmt.Sprintf("%s (%s)", st.use.Tool, cut(text, 80))
}
