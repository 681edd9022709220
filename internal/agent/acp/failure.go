package acp

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	"github.com/omoi-dev/omoi/internal/task"
)

// keyForm is the form of variables with credentials of models. Other keys are the user's, and tests may need them.
var keyForm = regexp.MustCompile(`^((OPENAI|ANTHROPIC|GOOGLE|GEMINI|OPENROUTER|GITHUB_COPILOT|COPILOT_PROVIDER|LLM)_API_KEY|ANTHROPIC_AUTH_TOKEN|CLAUDE_CODE_OAUTH_TOKEN|COPILOT_GITHUB_TOKEN)$`)

// Failure returns the failure of the newest turn; nil after a success. The stop reason alone proves no success: some
// agents end their turn normally after every error.
func (t *talk) Failure() *continuous.Failure {
	end, now := t.end, t.rec.now()
	switch {
	case end.stop == continuous.StopTurns || end.stop == continuous.StopCost:
		return continuous.AtLimit(end.stop, t.Standing())
	case end.stop == stopLoop:
		return failed(task.ClassAgentError, stopLoop, fmt.Sprintf("%s was stopped: it sent %d messages in a row without a tool call.", t.Dialect.Title, mostIdle))
	case end.stop == stopSilent && (end.result == nil || end.result.Stop == "cancelled"): // else only a message has no answer
		return failed(quiet(now), "silent", fmt.Sprintf("%s was stopped: it said nothing for %s. It may be repeating a request that the model's provider refuses.", t.Dialect.Title, t.Silence))
	case end.refused != nil:
		return t.rejected(end.refused, now)
	case end.result == nil:
		return t.died(end.exit)
	}
	return t.ended(end.result, now)
}

func failed(class task.FailureClass, kind, text string) *continuous.Failure {
	reason, code := "error", task.ReasonCode("")
	if class == task.ClassProviderLimit {
		reason = "provider_limit"
	}
	if kind == bridge.Full {
		code = task.ReasonServerFull
	}
	return &continuous.Failure{Class: class, Kind: kind, Reason: reason, Code: code, Text: text}
}

// quiet returns the class of a turn without a word: a rate limit only if the agent has named one, since a limit keeps
// other tasks from the credential.
func quiet(now standing) task.FailureClass {
	if f := now.failure; f != nil && categoryOf(f) == task.ClassProviderLimit || classOf(0, "", now.notice) == task.ClassProviderLimit {
		return task.ClassProviderLimit
	}
	return task.ClassInfrastructure
}

// rejected returns the failure of a turn that ended with an error.
func (t *talk) rejected(e *jsonrpc.Error, now standing) *continuous.Failure {
	more := jsonrpc.Into[detail](e.Data)
	text := strings.Join(slices.DeleteFunc([]string{e.Message, more.Details, now.notice}, func(s string) bool { return strings.TrimSpace(s) == "" }), " ")
	class := classOf(e.Code, more.Kind, text)
	switch {
	case e.Code == codeNoLogin:
		class = task.ClassCredentials
	case now.failure != nil:
		class = cmp.Or(categoryOf(now.failure), class)
	case class == task.ClassAgentError && more.Name == "APIError" && !ownFault(text):
		class = task.ClassInfrastructure // an error of the model's provider that says no more
	}
	return failed(class, cmp.Or(more.Kind, more.Name, "error"), text)
}

// ended returns the failure of a turn that ended with a stop reason; nil: there is no sign of one.
func (t *talk) ended(a *answer, now standing) *continuous.Failure {
	switch f := now.failure; {
	case f != nil && f.Severity == "error":
		return failed(cmp.Or(categoryOf(f), classOf(0, "", f.Title)), f.Category, f.Title)
	case now.broken, now.calls == 0 && strings.HasPrefix(now.notice, "Error: "): // after a tool call it may be the model's text
		return failed(classOf(0, "", now.notice), "error", strings.TrimSpace(now.notice))
	case a.Stop != "" && a.Stop != "end_turn":
		return failed(task.ClassAgentError, a.Stop, fmt.Sprintf("%s ended its turn with %s. %s", t.Dialect.Title, a.Stop, textcut.Last(now.said, 500)))
	case a.Stop == "":
		return failed(task.ClassInfrastructure, "damaged_answer", t.Dialect.Title+" ended its turn with an answer that omoi cannot read.")
	case now.texts == 0 && now.calls == 0:
		return failed(task.ClassAgentError, "empty_turn", t.Dialect.Title+" ended its turn without a text and without a tool call.")
	}
	return nil
}

// categoryOf returns the class of a typed failure; empty: it says none.
func categoryOf(f *sessionFailure) task.FailureClass {
	if strings.HasPrefix(f.Title, "Missing environment variable") { // Codex, whose key is in one
		return task.ClassCredentials
	}
	switch f.Category {
	case "limit", bridge.Full:
		return task.ClassProviderLimit
	case "auth", "authentication":
		return task.ClassCredentials
	case "service", "connection":
		return task.ClassInfrastructure
	case "agent":
		return task.ClassAgentError
	}
	return task.ClassNone
}

// statusForm finds an HTTP status in a text.
var statusForm = regexp.MustCompile(`(?:^|[^\d.:])([45]\d\d)(?:$|[^\d.])`)

// classOf returns the failure class of an error: by its status, else by its kind or its text.
func classOf(status int, kind, text string) task.FailureClass {
	if m := statusForm.FindStringSubmatch(text); m != nil && status < http.StatusBadRequest {
		status, _ = strconv.Atoi(m[1])
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return task.ClassCredentials
	case status == http.StatusTooManyRequests, status == 529:
		return task.ClassProviderLimit
	case status >= http.StatusInternalServerError && status < 600:
		return task.ClassInfrastructure
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return task.ClassAgentError
	}
	return classOfText(strings.ToLower(kind + " " + text))
}

func classOfText(text string) task.FailureClass {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case says("invalid api key", "authenticat", "unauthorized", "credit balance", "billing", "token has expired"):
		return task.ClassCredentials
	case says("rate limit", "rate_limit", "too many requests", "usage limit", "quota", "overloaded"):
		return task.ClassProviderLimit
	case ownFault(text):
		return task.ClassAgentError
	case says("server_error", "high demand", "stream disconnected", "connection", "econnreset", "cannot connect", "unable to connect", "terminated", "network", "fetch failed", "timed out"):
		return task.ClassInfrastructure
	}
	return task.ClassAgentError
}

// ownFault reports whether a text blames what the agent sent.
func ownFault(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"too long", "invalid_request", "max_output_tokens", "context limit", "context length"}, func(w string) bool { return strings.Contains(text, w) })
}

// died returns the failure of a program that ended without a result.
func (t *talk) died(exit proc.Result) *continuous.Failure {
	name, tail := t.Dialect.Title, textcut.Last(strings.TrimSpace(exit.Output), 2000)
	switch exit.Outcome {
	case proc.OutOfMemory:
		return failed(task.ClassResources, "out_of_memory", name+" or one of its child processes ran out of memory. "+exit.Note)
	case proc.Limit:
		return failed(task.ClassResources, "limit", name+" was killed at a limit. "+exit.Note)
	case proc.Killed:
		return failed(task.ClassInfrastructure, "sigkill", name+" was killed. "+exit.Note)
	case proc.Stopped, proc.Timeout:
		return failed(task.ClassAgentError, "stopped", name+" did not respond and was killed.")
	case proc.Exited:
	}
	class := task.ClassAgentError
	if exit.Signal != "" {
		class = task.ClassInfrastructure
	}
	return failed(class, "command_failed", strings.TrimSpace(fmt.Sprintf("%s ended with exit code %d before its turn. %s", name, exit.ExitCode, tail)))
}
