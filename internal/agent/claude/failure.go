package claude

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

const statusOverloaded = 529

// Failure judges the end of the newest turn by its result and, where the program has ended, by its exit
// code too; nil: it went well.
func (t *talk) Failure() *continuous.Failure {
	end, r := t.end, t.end.result
	switch {
	case end.stop == continuous.StopTurns, r != nil && r.Subtype == "error_max_turns":
		return continuous.AtLimit(continuous.StopTurns, t.Standing())
	case end.stop == continuous.StopCost, r != nil && r.Subtype == "error_max_budget_usd":
		return continuous.AtLimit(continuous.StopCost, t.Standing())
	case r == nil:
		return t.died(end)
	case r.Subtype != "success" || r.IsError:
		return t.refused(end)
	case end.ended && end.exit.ExitCode != 0 && end.exit.Outcome != proc.Stopped:
		return t.died(end)
	}
	return nil
}

// refused is a result that says that it went wrong.
func (t *talk) refused(end *turn) *continuous.Failure {
	now := t.rec.now()
	limit, cause := now.limit, now.cause
	text := t.words(end)
	f := &continuous.Failure{Class: classOf(end.result.APIStatus, cause, text), Kind: cmp.Or(cause, end.result.Subtype), Reason: "error", Text: text}
	if f.Class == task.ClassProviderLimit {
		f.Reason, f.Reset = "provider_limit", resetOf(limit, text, time.Now())
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
		parts = append(parts, textcut.Last(tail, 2000))
	}
	if unread := t.rec.now().unread; unread != "" && end.result == nil {
		parts = append(parts, "It printed what omoi cannot read: "+textcut.First(unread, 500))
	}
	if len(parts) == 0 {
		parts = []string{"Claude Code did not say what went wrong."}
	}
	return strings.Join(parts, "\n")
}

// classOf is the class of an error of the model API, by its status, by the name that the
// program gives it, and at last by its words.
func classOf(status int, cause, text string) task.FailureClass {
	text = strings.ToLower(text)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
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
func (t *talk) died(end *turn) *continuous.Failure {
	f := &continuous.Failure{Class: task.ClassAgentError, Kind: "command_failed", Reason: "error"}
	f.Text = fmt.Sprintf("Claude Code ended with exit code %d before it was done. %s", end.exit.ExitCode, t.words(end))
	switch end.exit.Outcome {
	case proc.OutOfMemory:
		f.Class, f.Kind, f.Text = task.ClassResources, "out_of_memory", "Claude Code, or what it had started, ran out of memory. "+end.exit.Note
	case proc.Limit:
		f.Class, f.Kind, f.Text = task.ClassResources, "limit", "Claude Code was ended at a limit. "+end.exit.Note
	case proc.Killed:
		f.Class, f.Kind, f.Text = task.ClassInfrastructure, "sigkill", "Claude Code was killed. "+end.exit.Note
	case proc.Stopped, proc.Timeout:
		f.Kind, f.Text = "stopped", "Claude Code did not answer and was ended."
	case proc.Exited:
		if end.exit.Signal != "" {
			f.Class, f.Kind = task.ClassInfrastructure, "signal"
		}
	}
	return f
}
