package activities

import (
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// evidence is all that an observation is judged by.
type evidence struct {
	question  string
	threshold time.Duration
	tool      time.Duration // the longest that one tool call may take
	pulse     task.Pulse
	machine   bool // there is a machine to look at; else heartbeats alone decide
	seen      sandbox.Inspection
	began     bool   // the agent was started, as the ledger knows
	probe     *probe // what the agent's own spool tells; nil if it could not be read
	blind     bool   // the probe could not even be tried
	advice    string // what a person can do where the agent works and cannot reach the API
}

// probe is what `omoi-agent probe` prints.
type probe struct {
	Unsent    int64 `json:"unsent"`
	NewestMS  int64 `json:"newest_age_ms"` // below zero: the spool is empty
	AgentLive bool  `json:"agent_alive"`
	Ended     bool  `json:"ended"` // its work is over, and what it said last is unsent
}

// judge answers a fired timer's question. The order is the promise: life that the store
// shows; an end that the provider is sure of; then every reason not to know; and only then
// a verdict against the agent.
func judge(e evidence) contract.Observation {
	out := verdict(e)
	if e.pulse.VerdictDue && out.Seen != contract.ObservedWorking { // what it was to do is done
		out = contract.Observation{Seen: contract.ObservedUnknown, Reason: "Its verdict is accepted and on its way to the task."}
	}
	out.Head = e.pulse.Head
	return out
}

func verdict(e evidence) contract.Observation {
	if next, alive := storeShowsLife(e); alive {
		return contract.Observation{Seen: contract.ObservedWorking, Next: next}
	}
	if out, ended := ending(e); ended {
		return out
	}
	if e.question == contract.AskEnded {
		return contract.Observation{Seen: contract.ObservedUnknown}
	}
	if why := unsure(e); why != "" {
		return contract.Observation{Seen: contract.ObservedUnknown, Reason: why}
	}
	return against(e)
}

// storeShowsLife reports whether the stored events answer the question well, and when to
// ask again: the rest of the threshold.
func storeShowsLife(e evidence) (time.Duration, bool) {
	if e.question == contract.AskEnded { // what was stored before the end says nothing against it
		return 0, false
	}
	age := e.age()
	if e.question == contract.AskStartup && e.pulse.Started >= 0 {
		return e.threshold, true
	}
	if age < e.threshold {
		return e.threshold - age, true
	}
	if e.question == contract.AskNoWork && e.pulse.Tool != "" && e.pulse.Beat >= 0 && e.pulse.Beat < e.threshold && e.pulse.ToolAge < e.tool {
		return e.tool - e.pulse.ToolAge, true
	}
	return 0, false
}

// age is how long ago the thing that the question is about was last seen.
func (e evidence) age() time.Duration {
	p := e.pulse
	switch e.question {
	case contract.AskStartup:
		return newest(p.Assigned)
	case contract.AskIdle:
		return newest(p.Waiting)
	case contract.AskNoWork:
		if p.Waiting >= 0 {
			return p.Waiting
		}
		return newest(p.Work, p.Started, p.Assigned)
	}
	return newest(p.Beat, p.Assigned)
}

// newest is the smallest of the ages that are known; zero if none is: what never began
// cannot be late.
func newest(ages ...time.Duration) time.Duration {
	found := time.Duration(-1)
	for _, age := range ages {
		if age >= 0 && (found < 0 || age < found) {
			found = age
		}
	}
	return max(found, 0)
}

// ending is what the provider says for certain.
func ending(e evidence) (contract.Observation, bool) {
	if !e.machine {
		return contract.Observation{}, false
	}
	switch {
	case e.seen.State == sandbox.StateGone:
		return contract.Observation{Seen: contract.ObservedGone, Class: task.ClassInfrastructure, Reason: "The provider says that the sandbox is gone."}, true
	case e.seen.State != sandbox.StateAlive || e.seen.Agent != sandbox.StateGone || !e.seen.Started && !e.began:
		return contract.Observation{}, false
	case !e.seen.Started:
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassInfrastructure, Reason: because("The sandbox does not run any more", e.seen.Reason)}, true
	case e.seen.OOM:
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassResources, Reason: "The agent ran out of memory."}, true
	case e.seen.DiskFull:
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassResources, Reason: "The agent filled the sandbox's disk."}, true
	case e.seen.ExitCode < 0 || e.seen.ExitCode > signalled:
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassInfrastructure, Reason: "The agent was killed from outside."}, true
	case e.pulse.Interrupted:
		return interrupted(e.pulse.InterruptedBy), true
	case e.seen.ExitCode == 0: // by itself it ends so only after it was heard
		return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassInfrastructure, Reason: "The agent was stopped from outside."}, true
	}
	reason := fmt.Sprintf("The agent ended with exit code %d and did not say how.", e.seen.ExitCode)
	return contract.Observation{Seen: contract.ObservedExited, Class: task.ClassAgentError, Reason: reason}, true
}

// interrupted is the end of an agent that does not go on after an interrupt. What a person has stopped does not begin
// again by itself.
func interrupted(by string) contract.Observation {
	out := contract.Observation{Seen: contract.ObservedExited, Class: task.ClassAgentError}
	out.Reason = task.WasInterrupted + task.ByWhom(by) + ", and ended."
	if by == task.FromPerson {
		out.Class = task.ClassStopped
		out.Reason += task.GoesOnByRetry
	}
	return out
}

// signalled is the exit code above which a shell reports a signal.
const signalled = 128

// unsure names the reason for which nothing can be said; empty if there is none.
func unsure(e evidence) string {
	switch {
	case e.machine && e.seen.State != sandbox.StateAlive:
		return because("The provider cannot be asked", e.seen.Reason)
	case e.machine && e.seen.Started && e.seen.Agent == sandbox.StateUnknown:
		return because("The provider cannot tell whether the agent lives", e.seen.Reason)
	case e.pulse.IntakeOut > 0:
		return "Events could not be taken in for a while."
	case e.pulse.RelayOut > 0:
		return "Events and commands could not be passed on for a while."
	case e.blind:
		return "The agent's spool cannot be looked at."
	case e.probe != nil && e.probe.AgentLive && e.probe.Unsent > 0 && e.probe.Ended:
		return because("The agent has ended and cannot reach the API", e.advice)
	case e.probe != nil && e.probe.AgentLive && e.probe.Unsent > 0 && !e.stopped():
		return because("The agent works and cannot reach the API", e.advice)
	case (e.question == contract.AskStartup || e.question == contract.AskHeartbeat) && e.beatsInside(): // who waits may well beat
		return "The agent beats, and its events are on their way."
	}
	return ""
}

// because joins what cannot be told and the reason, if there is one.
func because(what, why string) string {
	if why == "" {
		return what + "."
	}
	return what + ": " + strings.TrimRight(why, ".") + "."
}

// beatsInside reports whether the agent has spooled something within the threshold, whatever
// has become of it since.
func (e evidence) beatsInside() bool {
	return e.probe != nil && e.probe.AgentLive && e.probe.NewestMS >= 0 &&
		time.Duration(e.probe.NewestMS)*time.Millisecond < e.threshold
}

// stopped reports whether even the agent's own spool has heard nothing of it for the threshold:
// its process lives and does not run.
func (e evidence) stopped() bool {
	return time.Duration(e.probe.NewestMS)*time.Millisecond >= e.threshold
}

// against is the verdict when nothing speaks for the agent.
func against(e evidence) contract.Observation {
	beats := e.pulse.Beat >= 0 && e.pulse.Beat < e.threshold
	switch {
	case e.question == contract.AskStartup:
		return contract.Observation{Seen: contract.ObservedSilent, Class: task.ClassInfrastructure, Reason: "The agent did not report in."}
	case e.question != contract.AskHeartbeat && e.pulse.Waiting >= e.threshold:
		return contract.Observation{Seen: contract.ObservedIdle, Class: task.ClassAgentError, Reason: "The agent waited for a message that did not come."}
	case e.question == contract.AskNoWork && beats:
		return contract.Observation{Seen: contract.ObservedStuck, Class: task.ClassAgentError, Reason: "The agent beats and does no work."}
	}
	return contract.Observation{Seen: contract.ObservedSilent, Class: task.ClassInfrastructure, Reason: "The agent has fallen silent."}
}
