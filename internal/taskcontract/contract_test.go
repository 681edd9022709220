package taskcontract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/taskcontract"
)

const full = `allowed_paths:
    - src/api/**
forbidden_commands:
    - git push --force
tests_may_change: false
change_wanted: true
test_command: go test ./...
`

func TestParse_ReadsWhatYAMLWrites(t *testing.T) {
	t.Parallel()
	c, err := taskcontract.Parse(full)
	require.NoError(t, err)
	require.Equal(t, full, c.YAML())
	fromJSON, err := taskcontract.Parse(`{"allowed_paths": ["src/api/**"], "forbidden_commands": ["git push --force"], "tests_may_change": false, "change_wanted": true, "test_command": "go test ./..."}`)
	require.NoError(t, err)
	require.Equal(t, c, fromJSON)

	empty, err := taskcontract.Parse("# nothing is known\n")
	require.NoError(t, err)
	require.Equal(t, taskcontract.Contract{}, empty)
	require.Empty(t, empty.YAML())
}

func TestParse_NamesTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"allowed_paths:\n  - src\npaths: 1\n":          "line 3: field paths is unknown: known are allowed_paths, ",
		"# text\nallowed_paths: src\n":                 "line 2: cannot unmarshal !!str `src` as a list of texts",
		"tests_may_change: perhaps\n":                  "line 1: cannot unmarshal !!str `perhaps` as true or false",
		"test_command: \"a\\0b\"\n":                    "line 1: item 1 of test_command contains the character U+0000",
		"test_command: curl -H " + "[redacted]" + "\n": "line 1: item 1 of test_command ",
		"allowed_paths:\n  - src\n  - '[a'\n":          `line 3: item 2 of allowed_paths is not a valid pattern: "[a"`,
		"forbidden_commands:\n\n  - ''\n":              "line 3: item 1 of forbidden_commands is empty",
		"allowed_paths: [a]\nallowed_paths: [b]\n":     "line 2: mapping key \"allowed_paths\" already defined at line 1",
		"a: [\n":                           "line ",
		"change_wanted: true\n---\na: 1\n": "a second YAML document",
		"constraints: ['" + strings.Repeat("x", 501) + "']": "line 1: item 1 of constraints has 501 bytes",
		strings.Repeat("#", 17<<10):                         "the text has 17408 bytes",
		"- a\n":                                             "as an object",
	} {
		c, err := taskcontract.Parse(text)
		require.ErrorContains(t, err, want, text)
		require.Zero(t, c, "nothing of an invalid text counts")
	}
}

func TestOf_ProjectAddsToTheTask(t *testing.T) {
	t.Parallel()
	execution, settings := json.RawMessage(`{"script": {}, "allowed_paths": ["src"], "test_command": "make test"}`), json.RawMessage(`{"allowed_paths": ["docs", "src"], "tests_may_change": false}`)
	f := taskcontract.Of(nil, execution, settings)
	require.Equal(t, taskcontract.Contract{AllowedPaths: []string{"src", "docs"}, TestsMayChange: new(false), TestCommand: "make test"}, f.Accepted)
	require.Zero(t, f.Proposed)

	mine := &taskcontract.Version{Accepted: true, Contract: taskcontract.Contract{AllowedPaths: []string{"cmd"}, TestsMayChange: new(true)}}
	f = taskcontract.Of(mine, execution, settings)
	require.Equal(t, taskcontract.Contract{AllowedPaths: []string{"cmd", "docs", "src"}, TestsMayChange: new(true), TestCommand: "make test"}, f.Accepted, "a version replaces execution_config but test_command")

	require.Zero(t, taskcontract.Of(nil, json.RawMessage(`"no object"`), nil))
}

func TestOf_ProposalCountsWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	proposed := &taskcontract.Version{Contract: taskcontract.Contract{AllowedPaths: []string{"cmd"}, ForbiddenPaths: []string{"go.mod"}, ChangeWanted: new(true)}}
	f := taskcontract.Of(proposed, json.RawMessage(`{"allowed_paths": ["src"]}`), nil)
	require.Equal(t, taskcontract.Contract{AllowedPaths: []string{"src"}}, f.Accepted)
	require.Equal(t, taskcontract.Contract{ForbiddenPaths: []string{"go.mod"}, ChangeWanted: new(true)}, f.Proposed)
}

func TestOf_AModelChangesNothingThatIsKnown(t *testing.T) {
	t.Parallel()
	accepted := &taskcontract.Version{Author: taskcontract.ByModel, Accepted: true, Contract: taskcontract.Contract{
		AllowedPaths: []string{"/"}, TestsMayChange: new(true), ChangeWanted: new(true), TestCommand: "true",
	}}
	execution, settings := json.RawMessage(`{"allowed_paths": ["src"], "forbidden_commands": ["git push"], "test_command": "make test"}`), json.RawMessage(`{"tests_may_change": false}`)
	f := taskcontract.Of(accepted, execution, settings)
	require.Equal(t, taskcontract.Contract{
		AllowedPaths: []string{"src"}, ForbiddenCommands: []string{"git push"}, TestsMayChange: new(false), ChangeWanted: new(true), TestCommand: "make test",
	}, f.Accepted)
	require.Zero(t, f.Proposed)
}

func TestUnknown_NamesWhatNobodySaid(t *testing.T) {
	t.Parallel()
	f := taskcontract.InForce{Accepted: taskcontract.Contract{AllowedPaths: []string{"src"}}, Proposed: taskcontract.Contract{ChangeWanted: new(false)}}
	require.Equal(t, []string{"forbidden_paths", "forbidden_commands", "tests_may_change", "test_command"}, f.Unknown())
}

func TestPrompt_MarksWhatIsProposed(t *testing.T) {
	t.Parallel()
	require.Empty(t, taskcontract.InForce{}.Prompt())
	f := taskcontract.InForce{
		Accepted: taskcontract.Contract{AllowedPaths: []string{"src", "docs"}, Constraints: []string{"Add no dependency."}, TestCommand: "make test"},
		Proposed: taskcontract.Contract{TestsMayChange: new(false), ChangeWanted: new(true)},
	}
	require.Equal(t, `The task contract:
- Change only these paths: `+"`src`, `docs`"+`.
- Add no dependency.

A model proposed the following for the task contract, and no user has accepted it yet. Follow it unless the task says otherwise:
- Do not change tests.
- The task asks for changes of files.`, f.Prompt())
}
