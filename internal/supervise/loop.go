package supervise

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// loop finds the same call, or the same few calls in a row, over and over with the same
// answers. Whoever waits for something outside does that too: polling has its own limit.
func loop(t *history, s Settings) *Finding {
	if t.over() {
		return nil
	}
	tail := t.stale()
	counts := map[same]int{}
	for _, st := range tail {
		counts[st.key()]++
	}
	for _, st := range slices.Backward(tail) { // the newest of them
		if n := counts[st.key()] + 1; n >= s.LoopRepeats {
			return t.polled(repeated(tail, st, n, s), tail, s)
		}
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

// sure grows with how far a count is over its limit.
func sure(base float64, n, limit int) float64 {
	return min(base+0.02*float64(n-limit), 0.95)
}

var (
	waitsFor = regexp.MustCompile(`\b(?:sleep|wait|watch|tail -f|--watch|--follow)\b`)
	asksFor  = regexp.MustCompile(`\b(?:gh|glab|kubectl|docker (?:ps|logs|inspect)|curl|wget|squeue|systemctl|aws|gcloud|az|terraform|ps|tail)\b|\b(?:status|progress)\b`)
)

// isPoll is true of a step that waits for something, or asks outside after a pause. slow: how long steps took is believed.
func isPoll(st *step, gap time.Duration, slow bool, s Settings) bool {
	switch st.use.Tool {
	case "BashOutput", "TaskOutput", "AgentOutputTool", "Monitor":
		return true
	}
	return slow && st.took >= s.PollPause || waitsFor.MatchString(st.use.Command) || gap >= s.PollPause && asksFor.MatchString(st.use.Command)
}

// polled drops a finding about polling that has not gone on for too long: neither for the longest time, nor for all that
// was read of the attempt, since how long it went on before that nobody knows.
func (t *history) polled(f *Finding, tail []*step, s Settings) *Finding {
	if !polls(tail, s) {
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

// longestRound is how many calls a round of polling has at most.
const longestRound = 4

// fills is true of steps that are all that was read, but for one round that looks new since none is known before it.
func (t *history) fills(tail []*step) bool {
	return t.Seen.First > 1 && len(t.steps)-len(tail) <= longestRound
}

// polls is true where any of the newest calls does. How long they say to have taken counts if the times at which they were
// stored bear half of it out; they may come late, and side by side.
func polls(tail []*step, s Settings) bool {
	if len(tail) == 0 {
		return false
	}
	said := time.Duration(0)
	for _, st := range tail {
		said += min(st.took, s.PollFor) // so that no word is too long to be summed up
	}
	slow := said/2 <= tail[0].use.Age+s.PollPause
	for i, st := range tail {
		gap := time.Duration(0)
		if i > 0 {
			gap = tail[i-1].use.Age - st.use.Age
		}
		if isPoll(st, gap, slow, s) {
			return true
		}
	}
	return false
}

// what names a call for people.
func what(st *step) string {
	text := st.use.Text
	if text == "" {
		return st.use.Tool
	}
	return fmt.Sprintf("%s (%s)", st.use.Tool, cut(text, 80))
}
