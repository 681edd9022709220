package claude

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// failed is why a turn, and with it the attempt, came to nothing.
type failed struct {
	class  task.FailureClass
	kind   string // error_type
	reason string // stop_reason
	code   task.ReasonCode
	text   string
	reset  time.Time // when the provider's limit ends, if that is known
}

const statusOverloaded = 529

// failure judges the end of a turn by its result and, where the program has ended, by its exit
// code too; nil: it went well.
func (t *talk) failure(end *turn) *failed {
	r := end.result
	switch {
	case end.stop == continuous.StopTurns, r != nil && r.Subtype == "error_max_turns":
		return &failed{class: task.ClassStopped, kind: "max_turns", reason: continuous.StopTurns, text: t.atLimit("MAX_TURNS")}
	case end.stop == continuous.StopCost, r != nil && r.Subtype == "error_max_budget_usd":
		return &failed{class: task.ClassStopped, kind: "max_budget", reason: continuous.StopCost, text: t.atLimit("MAX_BUDGET_USD")}
	case r == nil:
		return t.died(end)
	case r.Subtype != "success" || r.IsError:
		return t.refused(end)
	case end.ended && end.exit.ExitCode != 0 && end.exit.Outcome != proc.Stopped:
		return t.died(end)
	}
	return nil
}

// atLimit says that a limit of the attempt was reached, and how far the agent came.
func (t *talk) atLimit(name string) string {
	return continuous.Stopped(t.rec.now().Turn, t.rec.now().cost, name)
}

// refused is a result that says that it went wrong.
func (t *talk) refused(end *turn) *failed {
	now := t.rec.now()
	limit, cause := now.limit, now.cause
	text := t.words(end)
	f := &failed{class: classOf(end.result.APIStatus, cause, text), kind: cmp.Or(cause, end.result.Subtype), reason: "error", text: text}
	if f.class == task.ClassProviderLimit {
		f.reason, f.reset = "provider_limit", resetOf(limit, text, time.Now())
	}
	return f
}

// words are what the program said of its own end.
func (t *talk) words(end *turn) string {
	var parts []string
	if r := end.result; r != nil {
		if r.Result != "" {
			parts = append(parts, r.Result)
		}
		for _, e := range r.Errors {
			parts = append(parts, plainError(e))
		}
	}
	if tail := strings.TrimSpace(end.exit.Output); tail != "" {
		parts = append(parts, strings.ToValidUTF8(tail[max(len(tail)-2000, 0):], "?"))
	}
	if unread := t.rec.now().unread; unread != "" && end.result == nil {
		parts = append(parts, "It printed what omoi cannot read: "+clip(unread, 500))
	}
	if len(parts) == 0 {
		parts = []string{"Claude Code did not say what went wrong."}
	}
	return strings.Join(parts, "\n")
}

// classOf is the class of an error of the model API, by its status, by the name that the
// program gives it, and at last by its words.
func classOf(status int, cause, text string) task.FailureClass {
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired,
		cause == "authentication_failed", cause == "billing_error", says("credit balance", "/login", "invalid api key", "token has expired"):
		return task.ClassCredentials
	case status == http.StatusTooManyRequests, status == statusOverloaded, cause == "rate_limit", cause == "overloaded",
		says("hit your", "usage limit", "529 overloaded", "overloaded errors"):
		return task.ClassProviderLimit
	case status >= http.StatusInternalServerError, cause == "server_error", status == 0 && cause == "unknown",
		says("connection error", "connection refused", "unable to connect", "fetch failed", "timed out"):
		return task.ClassInfrastructure
	}
	return task.ClassAgentError
}

var (
	epochForm = regexp.MustCompile(`limit reached\|(\d{9,})`)
	clockForm = regexp.MustCompile(`resets (?:at )?(\d{1,2})(?::(\d\d))? ?(am|pm) \(([^)]+)\)`)
)

// resetOf is when a limit ends: as the provider said it, or as the program put it in words.
func resetOf(limit limitInfo, text string, now time.Time) time.Time {
	if limit.Status == "rejected" && limit.ResetsAt > 0 { // it also says when one ends that still holds
		return time.Unix(int64(limit.ResetsAt), 0).UTC()
	}
	if m := epochForm.FindStringSubmatch(text); m != nil {
		if seconds, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return time.Unix(seconds, 0).UTC()
		}
	}
	m := clockForm.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	zone, err := time.LoadLocation(m[4])
	if err != nil {
		return time.Time{}
	}
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	if hour %= 12; m[3] == "pm" {
		hour += 12
	}
	day := now.In(zone)
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, zone)
	if at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at.UTC()
}

// died is a program that ended without a result that counts.
func (t *talk) died(end *turn) *failed {
	f := &failed{class: task.ClassAgentError, kind: "command_failed", reason: "error"}
	f.text = fmt.Sprintf("Claude Code ended with exit code %d before it was done. %s", end.exit.ExitCode, t.words(end))
	switch end.exit.Outcome {
	case proc.OutOfMemory:
		f.class, f.kind, f.text = task.ClassResources, "out_of_memory", "Claude Code, or what it had started, ran out of memory. "+end.exit.Note
	case proc.Limit:
		f.class, f.kind, f.text = task.ClassResources, "limit", "Claude Code was ended at a limit. "+end.exit.Note
	case proc.Killed:
		f.class, f.kind, f.text = task.ClassInfrastructure, "sigkill", "Claude Code was killed. "+end.exit.Note
	case proc.Stopped, proc.Timeout:
		f.kind, f.text = "stopped", "Claude Code did not answer and was ended."
	case proc.Exited:
		if end.exit.Signal != "" {
			f.class, f.kind = task.ClassInfrastructure, "signal"
		}
	}
	return f
}
