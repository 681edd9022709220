package supervise

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/internal/event"
)

// inputs are the fields of tools' inputs that the rules look at.
type inputs struct {
	Command  string `json:"command"`
	Path     string `json:"path"`
	FilePath string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Pattern  string `json:"pattern"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Prompt   string `json:"prompt"`
}

func (r *reader) used(e *Event, f *fields) {
	var in inputs
	_ = json.Unmarshal(f.Input, &in) // a field of another form says nothing
	e.Call, e.Tool, e.Command = f.ToolUseID, f.Tool, cut(in.Command, maxCommand)
	e.Path = cmp.Or(in.FilePath, in.Path, in.Notebook)
	e.Input = digest(string(f.Input))
	if in.Command != "" { // a shell's input also describes itself, in other words each time
		e.Input = digest(strings.Join(strings.Fields(in.Command), " "))
		r.commands[e.Call] = in.Command
	}
	e.Text = cut(cmp.Or(in.Command, e.Path, in.Pattern, in.URL, in.Query, in.Prompt), maxText)
}

func (r *reader) answered(e *Event, f *fields) {
	e.Call, e.Failed = f.ToolUseID, f.IsError
	e.Text, e.Result = cut(f.Result, maxText), digestOf(f.Result)
	command := r.commands[e.Call]
	if isTest(command, r.s.TestCommand) {
		e.Tests = testsOf(f.Result, f.IsError)
	}
	if e.Failed {
		e.Error = cut(errorOf(f.Result), maxText)
	}
}

// completed keeps what a tool's result is too short for: how tests ended, and how long it took.
func (r *reader) completed(e *Event, f *fields) bool {
	var res struct {
		Output string   `json:"output"`
		Stdout string   `json:"stdout"`
		Stderr string   `json:"stderr"`
		Exit   int      `json:"exit_code"`
		MS     *float64 `json:"duration_ms"`
	}
	if json.Unmarshal(f.Response, &res) != nil {
		return false
	}
	e.Call = f.ToolUseID
	if res.MS != nil {
		e.Took = event.Millis(*res.MS)
	}
	text := cmp.Or(res.Output, strings.TrimSpace(res.Stdout+"\n"+res.Stderr))
	if text != "" && isTest(r.commands[e.Call], r.s.TestCommand) {
		e.Tests = testsOf(text, res.Exit != 0)
	}
	return e.Tests != nil || e.Took > 0
}
