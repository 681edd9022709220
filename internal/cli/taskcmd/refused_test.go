package taskcmd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

// Errors name flags instead of the fields of the request.
func TestRun_ErrorsNameFlags(t *testing.T) {
	t.Parallel()
	config := write(t, "c.json", `{"command": "x", "setup": 7}`)
	for _, c := range []struct {
		field, says string
		args        []string
		want        string
	}{
		{"agent", `The agent "foo" is not one of claude, scripted, command, external.`, []string{"--agent", "foo"}, `--agent: The agent "foo" is not one of claude, scripted, command, external.`},
		{"provider", `The provider "moon" is not one of local, docker, daytona, external.`, []string{"--sandbox", "moon"}, `--provider: The provider "moon" is not one of local`},
		{"execution_config.command", `The agent command needs execution_config.command: a list.`, nil, "--execution-config: The agent command needs command: a list."},
		{"execution_config.script", `Missing execution_config.script: the agent scripted needs a script.`, nil, "--script: Missing script: the agent scripted needs a script."},
		{"execution_config.script", `Step 1 of the script: unknown.`, []string{"--script", "example:hello"}, "--script: Step 1 of the script"},
		{"execution_config.validator.script", `Step 1 of the script: unknown.`, []string{"--script", "example:hello", "--validator-script", "example:hello"}, "--validator-script: Step 1 of the script"},
		{"execution_config.setup", `The field execution_config.setup must be a text, not number.`, []string{"--execution-config", config}, "--execution-config: The field setup must be a text"},
		{"description", "The description has 65537 bytes; at most 65536 are allowed.", nil, "The description has 65537 bytes"},
		{"title", "The title contains the control character U+000A.", nil, "--title: The title contains"},
		{"max_retries", "max_retries: expected number <= 10.", nil, "--max-retries: give at most 10"},
		{"Idempotency-Key", "Invalid Idempotency-Key: expected at most 255 characters.", nil, "--idempotency-key: Invalid Idempotency-Key"},
	} {
		f := newFake(t)
		f.refuse = &client.Problem{Status: 422, Detail: c.says, Code: "invalid", Errors: []client.ProblemDetail{{Location: "body." + c.field}}}
		got := f.omoi(append([]string{"run", "x", "--repo", "/r"}, c.args...)...)
		require.Equal(t, exit.Usage, got.code, c.field)
		require.Contains(t, got.err, c.want)
		require.NotContains(t, got.err, "execution_config")
		require.Empty(t, got.out)
	}
}

func TestRun_AcceptsOneScript(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	config := write(t, "c.json", `{"script": {"steps": [{"say": "x"}]}}`)
	got := f.omoi("run", "x", "--repo", "/r", "--script", "example:hello", "--execution-config", config)
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.err, "both set script: omit")
}
