// Package scripted runs a JSON script as the agent, without a model. Its steps are real: they write files, run commands
// and commit.
package scripted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// Script is a parsed script.
type Script struct {
	Steps []Step
}

// Step is a step of a script: its kind, and the arguments of this kind.
type Step struct {
	Usage // usage

	Kind     string         `json:"-"`
	Text     string         `json:"text"` // say, think, commit, fail, ask
	Path     string         `json:"path"` // write, edit
	Content  string         `json:"content"`
	Old      string         `json:"old"` // edit
	New      string         `json:"new"`
	Command  string         `json:"command"`         // bash, verdict
	Seconds  float64        `json:"timeout_s"`       // bash, wait_message, sleep_s
	Success  bool           `json:"success"`         // complete; default true
	Output   string         `json:"output"`          // complete
	Free     map[string]any `json:"free"`            // iteration, continuous_complete
	Passed   *bool          `json:"passed"`          // verdict; nil: the exit code of Command decides
	Feedback string         `json:"feedback"`        // verdict
	List     []string       `json:"recommendations"` // verdict
	Options  []string       `json:"options"`         // ask
	Events   int            `json:"events"`          // flood
	Bytes    int            `json:"bytes"`           // flood
	ExitCode int            `json:"exit_code"`       // exit
	Signal   any            `json:"signal"`          // crash: name or number
	Yes      bool           `json:"yes"`             // push, hang
}

// Usage is the usage of a model in a step.
type Usage struct {
	InputTokens      int64   `json:"input_tokens"`
	OutputTokens     int64   `json:"output_tokens"`
	CacheReadTokens  int64   `json:"cache_read_tokens"`
	CacheWriteTokens int64   `json:"cache_write_tokens"`
	CostUSD          float64 `json:"cost_usd"`
}

// maxSteps is the maximum number of steps of a script.
const maxSteps = 10_000

// Parse parses a script; docs/TASKS.md describes its steps. An error is [task.CodeInvalid] and names the step.
func Parse(text []byte) (Script, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Script{}, task.Invalid("script", "Cannot start the scripted runtime: execution_config.script is missing.")
	}
	var raw struct {
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return Script{}, task.Invalid("script", "the script is not JSON of the form {\"steps\": [...]}").WithCause(err)
	}
	if raw.Steps == nil {
		return Script{}, task.Invalid("script", "invalid script: \"steps\" is missing")
	}
	if len(raw.Steps) > maxSteps {
		return Script{}, task.Invalid("script", "invalid script: more than %d steps", maxSteps)
	}
	var s Script
	for i, fields := range raw.Steps {
		step, err := parseStep(fields)
		if err != nil {
			return Script{}, task.Invalid("script", "invalid step %d of the script: %s", i+1, err.Error())
		}
		s.Steps = append(s.Steps, step)
	}
	return s, nil
}

func parseStep(given map[string]json.RawMessage) (Step, error) {
	if len(given) != 1 {
		return Step{}, fmt.Errorf("a step must have exactly one key, not %d", len(given))
	}
	step := Step{Success: true}
	for name, arg := range given {
		form, ok := forms[name]
		if !ok {
			return Step{}, fmt.Errorf("unknown step %q; known are %s", name, strings.Join(Kinds(), ", "))
		}
		step.Kind = name
		if err := cmp.Or(form.read(arg, &step), step.check()); err != nil {
			return Step{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return step, nil
}

// Kinds returns the kinds of steps, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(forms)) }

// form is the format of a step's argument: an object or a single value.
type form struct {
	alone  string // field of a single value; empty: the argument must be an object
	fields string // fields of an object; empty: the argument must be a single value
}

//nolint:gochecknoglobals // a constant table
var forms = map[string]form{
	"say": {alone: "text"}, "think": {alone: "text"}, "commit": {alone: "text"}, "fail": {alone: "text"},
	"push": {alone: "yes"}, "hang": {alone: "yes"}, "crash": {alone: "signal"}, "exit": {alone: "exit_code"},
	"iteration": {alone: "free"}, "continuous_complete": {alone: "free"}, "sleep_s": {alone: "timeout_s"},
	"write": {fields: "path content"}, "edit": {fields: "path old new"}, "flood": {fields: "events bytes"},
	"usage":   {fields: "input_tokens output_tokens cache_read_tokens cache_write_tokens cost_usd"},
	"verdict": {fields: "passed command feedback recommendations"}, "wait_message": {alone: "yes", fields: "timeout_s"},
	"ask": {alone: "text", fields: "text options"}, "bash": {alone: "command", fields: "command timeout_s"}, "complete": {alone: "success", fields: "output success"},
}

// read decodes an argument. An unknown field is an error, because a misspelled field would have no effect.
func (f form) read(arg json.RawMessage, into *Step) error {
	if f.fields == "" || f.alone != "" && !bytes.HasPrefix(arg, []byte("{")) {
		arg = fmt.Appendf(nil, "{%q:%s}", f.alone, arg)
		return plainly(json.Unmarshal(arg, into), "it")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arg, &given); err != nil {
		return plainly(err, "it")
	}
	for name := range given {
		if !slices.Contains(strings.Fields(f.fields), name) {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return plainly(json.Unmarshal(arg, into), "")
}

// plainly returns a type error with the name of the value; an empty name means the field's own.
func plainly(err error, name string) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s must not be a JSON %s", cmp.Or(name, wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]), wrong.Value)
	}
	return err
}

// check returns an error for arguments that are invalid for the kind.
func (s *Step) check() error {
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{(s.Kind == "write" || s.Kind == "edit") && s.Path == "", `"path" is missing`},
		{s.Kind == "edit" && s.Old == "", `"old" is missing`},
		{s.Kind == "ask" && strings.TrimSpace(s.Text) == "", `"text" is missing`},
		{s.Kind == "bash" && s.Command == "", `"command" is missing`},
		{(s.Kind == "push" || s.Kind == "hang") && !s.Yes, "must be true"},
		{(s.Kind == "iteration" || s.Kind == "continuous_complete") && s.Free == nil, "must be an object"},
		{s.Kind == "verdict" && (s.Passed == nil) == (s.Command == ""), `give either "passed" or "command"`},
		{s.Kind == "crash" && s.signal() == 0, fmt.Sprintf("%v is not a signal", s.Signal)},
		{s.Kind == "flood" && (s.Events < 1 || s.Events > 10_000_000), "events must be 1 to 10,000,000"},
		{s.Bytes < 0 || s.Bytes > 1<<20, "bytes must be 0 to 1,048,576"},
		{s.ExitCode < 0 || s.ExitCode > 255, "must be 0 to 255"},
		{s.Seconds < 0 || s.Seconds > 7*24*3600, "seconds must be between 0 and a week"},
	} {
		if rule.broken {
			return errors.New(rule.says)
		}
	}
	return nil
}

func (s *Step) signal() syscall.Signal { return proc.ParseSignal(fmt.Sprint(s.Signal)) }
