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

// Failure returns the failure of the newest turn by its result and, if the program has ended, its exit code; nil after
// a success.
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

// refused returns the failure of a turn whose result reports an error.
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

// words returns the program's own description of its end.
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
		parts = append(parts, "Its last line was not valid: "+textcut.First(unread, 500))
	}
	if len(parts) == 0 {
		parts = []string{"Claude Code reported no reason."}
	}
	return strings.Join(parts, "\n")
}

// classOf returns the failure class of a model API error by its status, else by the program's name for it, else by its
// text.
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

// resetOf returns the end of a rate limit by the provider's data, else by the program's text; zero if unknown.
func resetOf(limit limitInfo, text string, now time.Time) time.Time {
	if limit.Status == "rejected" && limit.ResetsAt > 0 { // other statuses name the end of a limit that is not reached
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

// died returns the failure of a program that ended without a valid result.
func (t *talk) died(end *turn) *continuous.Failure {
	f := &continuous.Failure{Class: task.ClassAgentError, Kind: "command_failed", Reason: "error"}
	f.Text = fmt.Sprintf("Claude Code ended with exit code %d before its work was done. %s", end.exit.ExitCode, t.words(end))
	switch end.exit.Outcome {
	case proc.OutOfMemory:
		f.Class, f.Kind, f.Text = task.ClassResources, "out_of_memory", "Claude Code or one of its child processes ran out of memory. "+end.exit.Note
	case proc.Limit:
		f.Class, f.Kind, f.Text = task.ClassResources, "limit", "Claude Code was killed at a limit. "+end.exit.Note
	case proc.Killed:
		f.Class, f.Kind, f.Text = task.ClassInfrastructure, "sigkill", "Claude Code was killed. "+end.exit.Note
	case proc.Stopped, proc.Timeout:
		f.Kind, f.Text = "stopped", "Claude Code did not respond and was killed."
	case proc.Exited:
		if end.exit.Signal != "" {
			f.Class, f.Kind = task.ClassInfrastructure, "signal"
		}
	}
	return f
}
