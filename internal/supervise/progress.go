package supervise

import (
	"fmt"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// statusWaiting is the heartbeat status of an agent that waits for messages.
const statusWaiting = "waiting"

// freshBeat is the maximum age of a heartbeat that counts: the heartbeat timeout of a task.
const freshBeat = 2 * time.Minute

// noProgress matches an agent that is active without progress.
func noProgress(t *history, s Settings) *Finding {
	if t.over() {
		return nil
	}
	for _, look := range []func(*history, Settings) *Finding{tooLong, silent, talking, nothingNew} {
		if f := look(t, s); f != nil {
			return f
		}
	}
	return nil
}

// tooLong matches a tool call that exceeds ToolLimit.
func tooLong(t *history, s Settings) *Finding {
	if t.Beat == nil || t.Beat.Tool == "" || t.Beat.Age > freshBeat || t.Beat.Sequence < t.last() || t.underWay(s.ToolLimit) {
		return nil
	}
	return &Finding{
		Why:        fmt.Sprintf("%s has been under way for %s; tools have %s.", t.Beat.Tool, minutes(t.toolAge()), minutes(s.ToolLimit)),
		Advice:     fmt.Sprintf("A call of %s hangs. End it, and find out why before you try again.", t.Beat.Tool),
		Confidence: 0.8, Evidence: []int64{t.Beat.Sequence},
	}
}

// silent matches an agent that sends heartbeats and no other events. Waiting for messages is expected only with
// WaitsForMessages.
func silent(t *history, s Settings) *Finding {
	if t.Beat == nil || t.Beat.Age > freshBeat || t.newest() < s.Silence || t.underWay(s.ToolLimit) {
		return nil
	}
	if t.WaitsForMessages && t.Beat.Status == statusWaiting {
		return nil
	}
	list := []int64{t.Beat.Sequence}
	if n := len(t.Events); n > 0 {
		list = append([]int64{t.Events[n-1].Sequence}, list...)
	}
	return &Finding{
		Why:        fmt.Sprintf("It is alive, has no tool under way and has said nothing for %s.", minutes(t.newest())),
		Advice:     "You have said and done nothing for a long time. Go on with the next step, or say what keeps you.",
		Confidence: 0.75, Evidence: list,
	}
}

// talking matches several messages in a row without a tool call. Only calls in events count, not the tool in a
// heartbeat.
func talking(t *history, s Settings) *Finding {
	if t.calling(s.ToolLimit) {
		return nil
	}
	var said []int64
	for i := len(t.Events) - 1; i >= 0; i-- {
		e := &t.Events[i]
		if e.Tool != "" || e.Edit != nil || e.Sender == senderUser {
			break
		}
		if e.Type == event.AgentMessage {
			said = append([]int64{e.Sequence}, said...)
		}
	}
	if len(said) < s.Monologue {
		return nil
	}
	return &Finding{
		Why:        fmt.Sprintf("It has said %d things in a row and done nothing.", len(said)),
		Advice:     "You talk and do nothing. Take the next step with a tool, or report that the task is done.",
		Confidence: sure(0.7, len(said), s.Monologue), Evidence: said,
	}
}

// nothingNew matches steps without a new answer or edit. A tool call in progress can still return something, until
// ToolLimit.
func nothingNew(t *history, s Settings) *Finding {
	tail := t.stale()
	since := t.Age
	if t.fresh != nil {
		since = t.fresh.Age
	}
	if len(tail) < s.NoProgressSteps || since < s.NoProgress || since < s.ToolLimit && t.underWay(s.ToolLimit) {
		return nil
	}
	return t.polled(&Finding{
		Why:        fmt.Sprintf("%d calls in %s have brought nothing that was not known before.", len(tail), minutes(since)),
		Advice:     "Your last calls have told you nothing new. Say what you know and what you need, then take another way.",
		Confidence: 0.75, Evidence: evidence(tail, 6),
	}, tail, slices.Collect(slices.Chunk(tail, longestRound)), s)
}

// idle matches an agent that stays after completion, or that waits for messages without WaitsForMessages.
func idle(t *history, s Settings) *Finding {
	// without a fresh heartbeat the agent may have ended
	if t.WaitsForMessages || t.Beat == nil || t.Beat.Age > freshBeat {
		return nil
	}
	at, word := t.rest()
	if at == nil || at.Age < s.IdleAfterEnd {
		return nil
	}
	return &Finding{
		Why:        fmt.Sprintf("It %s %s ago and has done nothing since; its sandbox still lives.", word, minutes(at.Age)),
		Advice:     "If your work is done, end. If you wait for an answer, go on by what is most likely, and say what you assumed.",
		Confidence: 0.85, Evidence: []int64{at.Sequence, t.Beat.Sequence},
	}
}

// rest returns the event after which the agent did nothing, with a verb for it; nil if the agent is active.
func (t *history) rest() (*Event, string) {
	if t.end != nil {
		return t.end, "completed"
	}
	if at := t.resting(); at != nil && t.Beat.Status == statusWaiting {
		return at, "began to wait for a message"
	}
	return nil, ""
}

func minutes(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}
