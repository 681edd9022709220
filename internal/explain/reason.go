package explain

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Reason returns a reason as text for users. The reason of a waiting task is the end of a sentence that starts with
// "The task is" or "The task waits"; any other is a sentence. The text of an empty code is empty, and of an unknown
// code of a newer server the code itself.
func Reason(r task.Reason) string {
	if text, ok := sentences()[r.Code]; ok && !codesOnly {
		return text(r)
	}
	return string(r.Code)
}

// ReasonCodes returns all codes in alphabetical order.
func ReasonCodes() []task.ReasonCode { return slices.Sorted(maps.Keys(sentences())) }

// sentences maps each code to its text.
func sentences() map[task.ReasonCode]func(task.Reason) string {
	all := map[task.ReasonCode]func(task.Reason) string{ //nolint:exhaustive // endings has the others
		task.ReasonSlot:               always("waiting for a slot"),
		task.ReasonProjectLimit:       func(r task.Reason) string { return slots(r, "project") },
		task.ReasonOrganizationLimit:  func(r task.Reason) string { return slots(r, "organization") },
		task.ReasonBudgetReserved:     always("waiting: the rest of the project's budget is reserved for running tasks"),
		task.ReasonTaskBudget:         func(r task.Reason) string { return "waiting: " + Spent(r) },
		task.ReasonProjectBudget:      func(r task.Reason) string { return "waiting: " + Spent(r) },
		task.ReasonDependency:         dependency,
		task.ReasonDependencyFailed:   dependencyFailed,
		task.ReasonProjectPaused:      always("waiting: the project is paused"),
		task.ReasonOrganizationPaused: always("waiting: the organization is paused"),
		task.ReasonAutonomousOff:      always("waiting: autonomous execution is off in this project"),
		task.ReasonCooldown:           cooldown,
		task.ReasonCooldownProbe:      always("waiting: another task tests whether the rate limit of its credential has reset"),
		task.ReasonCooldownOver:       always("waiting: the rate limit of its credential has reset, and its tasks resume one after the other"),
		task.ReasonTakeover:           always("waiting for another credential of the same owner to take over"),
		task.ReasonLimitReset:         func(r task.Reason) string { return "waiting until " + until(r) + ", when that limit resets" },
		task.ReasonLimitUnknown:       limitUnknown,
		task.ReasonServerFull:         func(r task.Reason) string { return "waiting until " + until(r) + " for room on its OpenHands server" },
		task.ReasonEarlierSandbox:     earlierSandbox,
		task.ReasonUnverifiedLimit:    unverified,
		task.ReasonNoHost:             noHost,
		task.ReasonHostsFull:          hostsFull,
		task.ReasonRetrying:           retrying,
	}
	maps.Copy(all, endings())
	return all
}

// endings maps the codes of ends, and of doubts about a running attempt.
func endings() map[task.ReasonCode]func(task.Reason) string {
	return map[task.ReasonCode]func(task.Reason) string{ //nolint:exhaustive // sentences has the others
		task.ReasonSetupFailed:         detailOr("The setup step failed."),
		task.ReasonSetupTimeout:        detailOr("The setup step exceeded its time limit."),
		task.ReasonNoCredential:        detailOr("A credential is missing."),
		task.ReasonInterrupted:         interrupted,
		task.ReasonOutOfMemory:         always("The agent ran out of memory."),
		task.ReasonDiskFull:            always("The agent filled the sandbox's disk."),
		task.ReasonKilled:              always("The agent was killed from outside."),
		task.ReasonStopped:             always("The agent was stopped from outside."),
		task.ReasonExited:              exited,
		task.ReasonNotStarted:          always("The agent did not report its start."),
		task.ReasonNoWork:              always("The agent sends heartbeats and does no work."),
		task.ReasonIdle:                always("The agent waited for a message that did not come."),
		task.ReasonSilent:              always("The agent stopped sending heartbeats."),
		task.ReasonSandboxGone:         always("The provider reports the sandbox as deleted."),
		task.ReasonSandboxStopped:      because("The sandbox no longer runs"),
		task.ReasonMaxDuration:         maxDuration,
		task.ReasonNoVerdict:           always("The validator ended without a verdict."),
		task.ReasonNoCommit:            always("The branch has no commit of this task, which requires one."),
		task.ReasonTestsChanged:        always("The test command passes only with changed tests, and the task contract says that tests must not change."),
		task.ReasonReset:               always("The task's workflow was reset to a point before this attempt, so another attempt replaces it."),
		task.ReasonTaskEnded:           always("The task ended without this attempt: its workflow was reset."),
		task.ReasonSandboxLeft:         always("The sandbox no longer existed when the task was loaded."),
		task.ReasonTerminated:          always("The workflow was terminated."),
		task.ReasonQuestion:            always("The agent asked a user, and nobody answered while it waited."),
		task.ReasonImported:            always("The task had not ended when it was imported from OmoiOS."),
		task.ReasonStoreUnreachable:    always("The database cannot be reached."),
		task.ReasonSandboxUnreachable:  always("The sandbox cannot be reached from this worker."),
		task.ReasonProviderUnreachable: because("The provider cannot be reached"),
		task.ReasonAgentUnknown:        because("The provider cannot tell whether the agent runs"),
		task.ReasonIntakeDown:          always("Events could not be ingested for a while."),
		task.ReasonRelayDown:           always("Events and commands could not be forwarded for a while."),
		task.ReasonSpoolUnreadable:     always("The agent's spool cannot be read."),
		task.ReasonEndUnsent:           because("The agent has ended and cannot reach the API"),
		task.ReasonEventsUnsent:        because("The agent runs and cannot reach the API"),
		task.ReasonEventsPending:       always("The agent sends heartbeats, and its events are on their way."),
		task.ReasonVerdictPending:      always("Its verdict is accepted and on its way to the task."),
	}
}

func always(text string) func(task.Reason) string { return func(task.Reason) string { return text } }

func slots(r task.Reason, scope string) string {
	if r.Limit == 0 {
		return "waiting: the " + scope + " admits no tasks now (limit 0)"
	}
	return fmt.Sprintf("waiting for a slot: %.0f of %.0f used in this %s", r.Used, r.Limit, scope)
}

// Spent returns which budget is spent, for example "its budget is spent, 7 of 7 tokens".
func Spent(r task.Reason) string {
	if codesOnly {
		return string(r.Code)
	}
	if r.Code == task.ReasonProjectBudget {
		return "the budget of its project is spent, " + Amount(r)
	}
	return "its budget is spent, " + Amount(r)
}

// Amount returns how much of a budget is used, for example "7 of 7 tokens".
func Amount(r task.Reason) string {
	switch r.Unit {
	case task.UnitTokens:
		return fmt.Sprintf("%.0f of %.0f tokens", math.Round(r.Used), math.Round(r.Limit))
	case task.UnitSandboxSeconds:
		return fmt.Sprintf("%.0f of %.0f sandbox seconds", math.Round(r.Used), math.Round(r.Limit))
	case task.UnitWallClock:
		return fmt.Sprintf("%.0f of %.0f seconds of wall-clock time", math.Round(r.Used), math.Round(r.Limit))
	}
	return fmt.Sprintf("%.2f of %.2f USD", r.Used, r.Limit)
}

func dependency(r task.Reason) string {
	if len(r.Keys) == 0 {
		return "waiting for " + task.Count(r.Tasks, "task") + " that it depends on"
	}
	return "waiting for " + someOf(r.Keys) + " to complete"
}

func dependencyFailed(r task.Reason) string {
	const why = "waiting: a dependency failed or was cancelled"
	if len(r.Keys) == 0 {
		return why
	}
	return why + ": " + someOf(r.Keys)
}

// someOf names at most three keys.
func someOf(keys []string) string {
	const most = 3
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	return strings.Join(keys[:most], ", ") + " and " + task.Count(len(keys)-most, "more task")
}

func cooldown(r task.Reason) string {
	return "waiting until " + until(r) + " for the rate limit of its credential"
}

func limitUnknown(r task.Reason) string {
	return "waiting until " + until(r) + ", since the provider did not say when that limit resets"
}

func noHost(r task.Reason) string {
	return "no host offers " + r.Provider + " sandboxes; start omoi worker on a host that can (omoi doctor names what is missing there)"
}

func hostsFull(r task.Reason) string {
	return fmt.Sprintf("no free capacity on the %s that offer %s sandboxes", task.Count(int(r.Limit), "host"), r.Provider)
}

func retrying(r task.Reason) string {
	return fmt.Sprintf("%s; tried %s, the next try is within %s", strings.TrimRight(r.Detail, "."), task.Count(r.Tries, "time"), seconds(r))
}

func earlierSandbox(r task.Reason) string {
	return fmt.Sprintf("the sandbox of attempt %d is not verified deleted; the next attempt starts when it is, or %s after the end of attempt %d",
		r.Attempt, seconds(r), r.Attempt)
}

func unverified(r task.Reason) string {
	text, offline := fmt.Sprintf("%.0f of the %s sandboxes are not verified deleted, the limit is %.0f", r.Used, r.Provider, r.Limit), false
	for _, h := range r.Hosts {
		text += fmt.Sprintf("; %d on host %s", h.Sandboxes, h.Name)
		if !h.Online {
			text, offline = text+", which is offline", true
		}
	}
	if offline {
		text += " (start its worker again, or mark the host as lost: omoi host list)"
	}
	return text
}

func until(r task.Reason) string {
	if r.Until == nil {
		return "later"
	}
	return moment(*r.Until)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func seconds(r task.Reason) string { return time.Duration(r.Seconds * float64(time.Second)).String() }

// because returns a rendering of what happened, followed by the detail if there is one.
func because(what string) func(task.Reason) string {
	return func(r task.Reason) string { return task.Sentence(what, r.Detail) }
}

// detailOr returns a rendering that prefers the detail, which the agent's program wrote.
func detailOr(text string) func(task.Reason) string {
	return func(r task.Reason) string {
		if r.Detail != "" {
			return r.Detail
		}
		return text
	}
}

func interrupted(r task.Reason) string {
	if r.Detail != "" {
		return r.Detail
	}
	return "The agent was interrupted" + ByWhom(r.By) + ", and ended."
}

func exited(r task.Reason) string {
	return fmt.Sprintf("The agent exited with code %d and reported no outcome.", r.ExitCode)
}

func maxDuration(r task.Reason) string {
	text := "The attempt exceeded its maximum duration"
	if r.Detail != "" {
		text += "; the last check said: " + strings.TrimRight(r.Detail, ".")
	}
	return text + "."
}

// InShort shortens a reason to the last line of the output that it quotes.
func InShort(reason string) string {
	how, output, quotes := strings.Cut(reason, task.EndOfOutput)
	if !quotes {
		return reason
	}
	output = strings.TrimSpace(output)
	return strings.TrimRight(how, ". ") + ": " + strings.TrimSpace(output[strings.LastIndex(output, "\n")+1:])
}

// ByWhom returns who sent a message by the kind of its sender; empty if unknown.
func ByWhom(sender string) string {
	switch sender {
	case task.FromPerson:
		return " by a user"
	case "guardian":
		return " by the guardian"
	case "agent":
		return " by another agent"
	}
	return ""
}
