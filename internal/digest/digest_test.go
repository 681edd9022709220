package digest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/digest"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestMilestonesOfADigest(t *testing.T) {
	t.Parallel()
	reset := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		eventType, data string
		want            contract.Milestone
	}{
		"started":                   {"agent.started", `{}`, contract.Milestone{}},
		"success is the default":    {"agent.completed", `{"stop_reason": "end_turn"}`, contract.Milestone{OK: true, StopReason: "end_turn"}},
		"no success":                {"agent.completed", `{"success": false}`, contract.Milestone{}},
		"success as a text":         {"agent.completed", `{"success": "True"}`, contract.Milestone{OK: true}},
		"no success as a text":      {"agent.completed", `{"success": "false"}`, contract.Milestone{}},
		"success that is null":      {"agent.completed", `{"success": null, "stop_reason": 7}`, contract.Milestone{OK: true}},
		"validated, as a text":      {"continuous.completed", `{"validation_passed": "true"}`, contract.Milestone{OK: true}},
		"a validator passes":        {"agent.completed", `{"agent_type": "validator", "validation_passed": true}`, contract.Milestone{OK: true, Verdict: true}},
		"a validator says nothing":  {"agent.completed", `{"agent_type": "validator", "success": true}`, contract.Milestone{Verdict: true}},
		"validated":                 {"continuous.completed", `{"validation_passed": true, "stop_reason": "validation_passed"}`, contract.Milestone{OK: true, StopReason: "validation_passed"}},
		"limit of iterations":       {"continuous.completed", `{"stop_reason": "max_iterations_reached"}`, contract.Milestone{Class: task.ClassStopped, StopReason: "max_iterations_reached"}},
		"errors in a row":           {"continuous.completed", `{"stop_reason": "consecutive_errors"}`, contract.Milestone{Class: task.ClassAgentError, StopReason: "consecutive_errors"}},
		"no stop reason":            {"continuous.completed", `{}`, contract.Milestone{Class: task.ClassAgentError}},
		"an error":                  {"agent.error", `{}`, contract.Milestone{Class: task.ClassAgentError}},
		"out of memory":             {"agent.error", `{"failure_class": "resources"}`, contract.Milestone{Class: task.ClassResources}},
		"a limit, in seconds":       {"agent.failed", `{"class": "provider_limit", "reset_at": 1893553445}`, contract.Milestone{Class: task.ClassProviderLimit, ResetAt: reset}},
		"a limit, as a time":        {"agent.failed", `{"class": "provider_limit", "reset_at": "2030-01-02T03:04:05Z"}`, contract.Milestone{Class: task.ClassProviderLimit, ResetAt: reset}},
		"a class that is not its":   {"agent.error", `{"class": "terminated"}`, contract.Milestone{Class: task.ClassAgentError}},
		"waiting":                   {"agent.waiting", `{"message": "ready"}`, contract.Milestone{}},
		"fields of the wrong type":  {"agent.completed", `{"success": false, "stop_reason": 7}`, contract.Milestone{}},
		"data that is no object":    {"agent.completed", `[1]`, contract.Milestone{OK: true}},
		"data that is not there":    {"agent.interrupted", ``, contract.Milestone{}},
		"a reset that is no time":   {"agent.error", `{"reset_at": {"soon": true}}`, contract.Milestone{Class: task.ClassAgentError}},
		"a reset before the epoch":  {"agent.error", `{"reset_at": -5}`, contract.Milestone{Class: task.ClassAgentError}},
		"a reset in milliseconds":   {"agent.error", `{"reset_at": 1893553445000}`, contract.Milestone{Class: task.ClassAgentError}},
		"a reset in no year":        {"agent.error", `{"reset_at": 1e300}`, contract.Milestone{Class: task.ClassAgentError}},
		"a reset after all years":   {"agent.error", `{"reset_at": "9999-12-31T23:59:59-01:00"}`, contract.Milestone{Class: task.ClassAgentError}},
		"a reset in two months":     {"agent.error", `{"reset_at": "2030-03-02T03:04:05Z"}`, contract.Milestone{Class: task.ClassAgentError}},
		"a setup step that failed":  {"agent.error", `{"class": "infrastructure", "reason_code": "setup_timeout"}`, contract.Milestone{Class: task.ClassInfrastructure, EndReason: task.Reason{Code: task.ReasonSetupTimeout}}},
		"a credential is missing":   {"agent.error", `{"class": "credentials", "reason_code": "no_credential", "credential": "openai"}`, contract.Milestone{Class: task.ClassCredentials, EndReason: task.NoCredential("openai")}},
		"a credential of no kind":   {"agent.error", `{"class": "credentials", "reason_code": "no_credential", "credential": "a; b"}`, contract.Milestone{Class: task.ClassCredentials, EndReason: task.NoCredential("")}},
		"an interrupt":              {"agent.error", `{"class": "stopped", "stop_reason": "interrupted"}`, contract.Milestone{Class: task.ClassStopped, StopReason: "interrupted", EndReason: task.Reason{Code: task.ReasonInterrupted}}},
		"a reason that is not its":  {"agent.error", `{"reason_code": "project_budget"}`, contract.Milestone{Class: task.ClassAgentError}},
		"a reason that is a number": {"agent.error", `{"reason_code": 7}`, contract.Milestone{Class: task.ClassAgentError}},
		"shutdown is one, and more": {"agent.shutdown", `{"reason": "complete"}`, contract.Milestone{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := digest.Build("box", 5, nil, []digest.Row{{
				Sequence: 5, Type: c.eventType, Data: json.RawMessage(c.data), At: reset.Add(-7 * 24 * time.Hour),
			}})
			c.want.Sequence, c.want.Type = 5, c.eventType
			require.Equal(t, []contract.Milestone{c.want}, built.Digest.Milestones)
			require.Empty(t, built.Errors)
		})
	}
}

func TestErrorTextsStayOutOfTheDigest(t *testing.T) {
	t.Parallel()
	events := []digest.Row{
		{Sequence: 1, Type: "agent.error", Data: json.RawMessage(`{"error": "secret story"}`)},
		{Sequence: 2, Type: "agent.error", Data: json.RawMessage(`{"error": {"message": "nested story"}}`)},
		{Sequence: 3, Type: "continuous.completed", Data: json.RawMessage(`{"stop_reason": "consecutive_errors", "error": "story of the last round"}`)},
	}
	built := digest.Build("box", 1, nil, events)
	require.Len(t, built.Errors, 3)
	require.Equal(t, "story of the last round", built.Errors[2].Content)
	require.Equal(t, built.Errors[2].ID, built.Digest.Milestones[2].ErrorID)
	require.Equal(t, "secret story", built.Errors[0].Content)
	require.JSONEq(t, `{"message": "nested story"}`, built.Errors[1].Content)
	require.Equal(t, built.Errors[0].ID, built.Digest.Milestones[0].ErrorID)
	require.NotEqual(t, built.Errors[0].ID, built.Errors[1].ID)
	require.Equal(t, built, digest.Build("box", 1, nil, events), "the same text has the same id whoever builds it")
	require.NotEqual(t, built.Errors[0].ID, digest.Build("other", 1, nil, events).Errors[0].ID)
	raw, err := json.Marshal(built.Digest)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "story")
}

func TestWhatAValidatorMissedIsKeptForTheNextAgent(t *testing.T) {
	t.Parallel()
	build := func(data string) digest.Built {
		return digest.Build("box", 1, nil, []digest.Row{{Sequence: 1, Type: "agent.completed", Data: json.RawMessage(data)}})
	}
	built := build(`{"agent_type": "validator", "validation_passed": false, "validation_feedback": "no tests", "turns": "many"}`)
	require.Equal(t, "no tests", built.Errors[0].Content)
	require.Equal(t, built.Errors[0].ID, built.Digest.Milestones[0].ErrorID)
	require.Empty(t, build(`{"agent_type": "validator", "validation_passed": true, "validation_feedback": "fine"}`).Errors)
	require.Empty(t, build(`{"success": true, "validation_feedback": "not a validator"}`).Errors)
}

func TestWhatAnAgentSaidAsItGaveUpIsKeptBesideTheDigest(t *testing.T) {
	t.Parallel()
	build := func(data string) digest.Built {
		return digest.Build("box", 1, nil, []digest.Row{{Sequence: 1, Type: "agent.completed", Data: json.RawMessage(data)}})
	}
	for _, data := range []string{`{"success": false, "final_output": "no such file"}`, `{"success": false, "turns": "many", "agent_type": 1, "final_output": "no such file"}`} {
		built := build(data)
		require.False(t, built.Digest.Milestones[0].OK)
		require.Equal(t, "no such file", built.Errors[0].Content)
		require.Equal(t, built.Errors[0].ID, built.Digest.Milestones[0].ErrorID)
		raw, err := json.Marshal(built.Digest)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "no such file")
	}
	require.Equal(t, "why", build(`{"success": false, "error": "why", "final_output": "x"}`).Errors[0].Content)
	require.Empty(t, build(`{"success": true, "final_output": "all went well"}`).Errors)
	require.Empty(t, build(`{"success": false}`).Errors)
}

func TestADigestCountsAndDatesWhatItCovers(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2030, 1, 1, 0, 0, second, 0, time.UTC) }
	before := map[string]int64{"agent.tool_use": 2, "agent.heartbeat": 1}
	built := digest.Build("box", 4, before, []digest.Row{
		{Sequence: 4, Type: "agent.tool_use", At: at(1)},
		{Sequence: 5, Type: "agent.waiting", At: at(2)},
		{Sequence: 6, Type: "agent.heartbeat", At: at(3)},
	})
	require.Equal(t, int64(4), built.Digest.From)
	require.Equal(t, int64(6), built.Digest.To)
	require.Equal(t, at(3), built.Digest.LastHeartbeat)
	require.Equal(t, at(1), built.Digest.LastWork)
	require.Equal(t, "agent.waiting", built.Digest.LastType)
	require.Equal(t, map[string]int64{"work": 3, "milestone": 1, "heartbeat": 2}, built.Digest.Counters)
	require.Equal(t, map[string]int64{"agent.tool_use": 3, "agent.waiting": 1, "agent.heartbeat": 2}, built.Types)
	require.Equal(t, map[string]int64{"agent.tool_use": 2, "agent.heartbeat": 1}, before, "what it was given stays as it is")
	require.Equal(t, int64(6), digest.Build("box", 7, built.Types, nil).Digest.To, "nothing to tell")
}

func TestLegacyErrorText_DecidesTheFailureClass(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]task.FailureClass{
		`{"error": "fatal: Authentication Failed for 'https://github.com/o/r'"}`: task.ClassCredentials,
		`{"error": "[Errno 13] Permission denied: '/etc/shadow'"}`:               task.ClassInvalidInput,
		`{"error": "ACCESS DENIED by policy"}`:                                   task.ClassInvalidInput,
		`{"error": {"message": "Syntax error near unexpected token"}}`:           task.ClassInvalidInput,
		`{"error": "connection reset by peer"}`:                                  task.ClassAgentError,
		`{"error": ""}`:                                                          task.ClassAgentError,
		`{"error": "permission denied", "failure_class": "agent_error"}`:         task.ClassAgentError,
		`{"error": "permission denied", "failure_class": "infrastructure"}`:      task.ClassInfrastructure,
		`{"error": "permission denied", "class": "made up"}`:                     task.ClassAgentError,
	} {
		for _, eventType := range []string{"agent.error", "agent.failed"} {
			built := digest.Build("box", 1, nil, []digest.Row{{Sequence: 1, Type: eventType, Data: json.RawMessage(data)}})
			require.Equal(t, want, built.Digest.Milestones[0].Class, data)
		}
	}
}
