package scripted_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/scripted"
	"github.com/omoi-dev/omoi/internal/task"
)

const everyStep = `{"steps": [
	{"say": "a"}, {"think": "b"}, {"write": {"path": "p", "content": "c"}}, {"edit": {"path": "p", "old": "c", "new": "d"}},
	{"bash": {"command": "true", "timeout_s": 1.5}}, {"bash": "true"}, {"sleep_s": 0.1}, {"usage": {"input_tokens": 1, "output_tokens": 2, "cost_usd": 0.5}},
	{"wait_message": {"timeout_s": 1}}, {"commit": "m"}, {"push": true}, {"iteration": {"anything": [1]}},
	{"flood": {"events": 2, "bytes": 3}}, {"hang": true}, {"crash": "SIGKILL"}, {"crash": 9}, {"exit": 3}, {"fail": "f"},
	{"verdict": {"command": "make check", "feedback": "f", "recommendations": ["r"]}},
	{"continuous_complete": {"validation_passed": true}}, {"complete": {"output": "o", "success": false}},
	{"ask": "which?"}, {"ask": {"text": "which?", "options": ["a"]}}
]}`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse([]byte(everyStep))
	require.NoError(t, err)
	require.Len(t, s.Steps, 23)
	require.Equal(t, "true", s.Steps[4].Command)
	require.InDelta(t, 1.5, s.Steps[4].Seconds, 0)
	require.Equal(t, 3, s.Steps[16].ExitCode)
	require.Equal(t, []string{"r"}, s.Steps[18].List)
	require.False(t, s.Steps[20].Success)
	require.Equal(t, []string{"a"}, s.Steps[22].Options)
	kinds := map[string]bool{}
	for _, step := range s.Steps {
		kinds[step.Kind] = true
	}
	require.Len(t, kinds, len(scripted.Kinds()))
}

func TestParse_InvalidScripts(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		``:                                     "script is missing",
		`{`:                                    "not JSON",
		`{}`:                                   `"steps" is missing`,
		`{"steps": [{"dance": 1}]}`:            `invalid step 1 of the script: unknown step "dance"`,
		`{"steps": [{"say": "a"}, {}]}`:        "step 2 of the script: a step must have exactly one key",
		`{"steps": [{"say":"a","think":"b"}]}`: "exactly one key, not 2",
		`{"steps": [{"say": 5}]}`:              "say:",
		`{"steps": [{"write": {"path": "a", "contents": "b"}}]}`:     `unknown field "contents"`,
		`{"steps": [{"write": {"content": "b"}}]}`:                   `"path" is missing`,
		`{"steps": [{"edit": {"path": "a", "new": "b"}}]}`:           `"old" is missing`,
		`{"steps": [{"bash": {"command": ""}}]}`:                     `"command" is missing`,
		`{"steps": [{"verdict": {"feedback": "neither"}}]}`:          `give either "passed" or "command"`,
		`{"steps": [{"verdict": {"passed": true, "command": "x"}}]}`: `give either "passed" or "command"`,
		`{"steps": [{"bash": {"command": "a", "timeout_s": -1}}]}`:   "seconds must be",
		`{"steps": [{"sleep_s": 1e300}]}`:                            "seconds must be",
		`{"steps": [{"push": false}]}`:                               "must be true",
		`{"steps": [{"crash": "SIGNONE"}]}`:                          "not a signal",
		`{"steps": [{"exit": 999}]}`:                                 "0 to 255",
		`{"steps": [{"flood": {"events": 0}}]}`:                      "events must be",
		`{"steps": [{"iteration": null}]}`:                           "must be an object",
	}
	for text, want := range cases {
		_, err := scripted.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everyStep))
	f.Add([]byte(`{"steps":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scripted.Parse(text)
		if err != nil {
			require.Equal(t, task.CodeInvalid, task.CodeOf(err))
			return
		}
		require.True(t, json.Valid(text))
		for _, step := range s.Steps {
			require.Contains(t, scripted.Kinds(), step.Kind)
		}
	})
}
