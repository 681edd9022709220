// Package scripted is the agent that follows a JSON script. It has no model; what it does,
// writing files, running commands, committing, it really does.
package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

// Script is a parsed script.
type Script struct {
	Steps []Step
}

// Step is one step: its kind and the arguments of that kind.
type Step struct {
	Kind string
	Text string // say, think, commit, fail; the signal's name of crash

	Path, Content string  // write, edit
	Old, New      string  // edit
	Command       string  // bash
	Seconds       float64 // sleep_s; timeout_s of bash and wait_message
	Usage         Usage   // usage
	Success       bool    // complete
	Output        string  // complete
	Free          map[string]any
	Passed        *bool    // verdict; nil: Command says
	List          []string // verdict
	Events, Bytes int      // flood
	ExitCode      int      // exit
}

// Usage is what a model was paid for.
type Usage struct {
	InputTokens      int64   `json:"input_tokens"`
	OutputTokens     int64   `json:"output_tokens"`
	CacheReadTokens  int64   `json:"cache_read_tokens"`
	CacheWriteTokens int64   `json:"cache_write_tokens"`
	CostUSD          float64 `json:"cost_usd"`
}

// maxSteps bounds a script.
const maxSteps = 10_000

// Parse reads a script as WIRE.md defines it. Its errors are of [task.CodeInvalid] and name the step.
func Parse(text []byte) (Script, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Script{}, task.Invalid("script", "the scripted agent was given no script")
	}
	var raw struct {
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return Script{}, task.Invalid("script", "the script is not JSON of the form {\"steps\": [...]}").WithCause(err)
	}
	if raw.Steps == nil {
		return Script{}, task.Invalid("script", "the script has no list \"steps\"")
	}
	if len(raw.Steps) > maxSteps {
		return Script{}, task.Invalid("script", "the script has more than %d steps", maxSteps)
	}
	var s Script
	for i, fields := range raw.Steps {
		step, err := parseStep(fields)
		if err != nil {
			return Script{}, task.Invalid("script", "step %d of the script: %s", i+1, err.Error())
		}
		s.Steps = append(s.Steps, step)
	}
	return s, nil
}

func parseStep(fields map[string]json.RawMessage) (Step, error) {
	if len(fields) != 1 {
		return Step{}, fmt.Errorf("it must have exactly one key, not %d", len(fields))
	}
	for kind, arg := range fields {
		step := Step{Kind: kind}
		read, ok := step.readers()[kind]
		if !ok {
			return Step{}, fmt.Errorf("unknown step %q; known are %s", kind, strings.Join(Kinds(), ", "))
		}
		err := read(arg)
		if err == nil {
			err = seconds(step.Seconds)
		}
		if err != nil {
			return Step{}, fmt.Errorf("%s: %w", kind, err)
		}
		return step, nil
	}
	return Step{}, errors.New("it is empty")
}

// Kinds lists the known steps.
func Kinds() []string { return slices.Sorted(maps.Keys(new(Step).readers())) }

// reader reads the argument of a step.
type reader func(arg json.RawMessage) error

// readers read each kind into the step.
func (s *Step) readers() map[string]reader {
	text := value(&s.Text)
	return map[string]reader{
		"say": text, "think": text, "commit": text, "fail": text, "sleep_s": value(&s.Seconds), "usage": value(&s.Usage),
		"write":        fields{"path": &s.Path, "content": &s.Content}.needing("path"),
		"edit":         fields{"path": &s.Path, "old": &s.Old, "new": &s.New}.needing("path", "old"),
		"bash":         fields{"command": &s.Command, "timeout_s": &s.Seconds}.orAlone(&s.Command, "command"),
		"wait_message": fields{"timeout_s": &s.Seconds}.orAlone(new(bool)),
		"push":         isTrue, "hang": isTrue, "iteration": s.readFree, "continuous_complete": s.readFree,
		"verdict": s.readVerdict, "complete": s.readComplete, "crash": s.readCrash, "flood": s.readFlood, "exit": s.readExit,
	}
}

// strict refuses unknown keys, since a misspelt one would silently do something else.
func strict(arg json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(arg))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

func value(into any) reader { return func(arg json.RawMessage) error { return strict(arg, into) } }

// fields are those of a step that is an object, and what they are read into.
type fields map[string]any

// needing reads an object; the named texts are in it and not empty.
func (f fields) needing(names ...string) reader {
	return func(arg json.RawMessage) error {
		if err := f.read(arg); err != nil {
			return err
		}
		return f.missing(names)
	}
}

// orAlone also reads a value for which nothing else need be said.
func (f fields) orAlone(into any, names ...string) reader {
	return func(arg json.RawMessage) error {
		if bytes.HasPrefix(arg, []byte("{")) {
			return f.needing(names...)(arg)
		}
		if err := strict(arg, into); err != nil {
			return err
		}
		return f.missing(names)
	}
}

func (f fields) read(arg json.RawMessage) error {
	var given map[string]json.RawMessage
	if err := strict(arg, &given); err != nil {
		return err
	}
	for name, value := range given {
		into, known := f[name]
		if !known {
			return fmt.Errorf("unknown field %q", name)
		}
		if err := strict(value, into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (f fields) missing(names []string) error {
	for _, name := range names {
		if text, ok := f[name].(*string); ok && *text == "" {
			return fmt.Errorf("%q is missing", name)
		}
	}
	return nil
}

func isTrue(arg json.RawMessage) error {
	var yes bool
	if err := strict(arg, &yes); err != nil {
		return err
	}
	if !yes {
		return errors.New("must be true")
	}
	return nil
}

func (s *Step) readFree(arg json.RawMessage) error {
	if err := strict(arg, &s.Free); err != nil {
		return err
	}
	if s.Free == nil {
		return errors.New("must be an object")
	}
	return nil
}

func (s *Step) readComplete(arg json.RawMessage) error {
	var yes bool
	if json.Unmarshal(arg, &yes) == nil {
		s.Success = yes
		return nil
	}
	s.Success = true
	return fields{"output": &s.Output, "success": &s.Success}.read(arg)
}

func (s *Step) readCrash(arg json.RawMessage) error {
	var n int
	if json.Unmarshal(arg, &n) == nil {
		s.Text = strconv.Itoa(n)
	} else if err := strict(arg, &s.Text); err != nil {
		return err
	}
	if proc.ParseSignal(s.Text) == 0 {
		return fmt.Errorf("%q is not a signal", s.Text)
	}
	return nil
}

func (s *Step) readFlood(arg json.RawMessage) error {
	err := fields{"events": &s.Events, "bytes": &s.Bytes}.read(arg)
	if err == nil && (s.Events < 1 || s.Events > 10_000_000 || s.Bytes < 0 || s.Bytes > 1<<20) {
		err = errors.New("events must be 1 to 10,000,000, bytes 0 to 1,048,576")
	}
	return err
}

func (s *Step) readExit(arg json.RawMessage) error {
	err := strict(arg, &s.ExitCode)
	if err == nil && (s.ExitCode < 0 || s.ExitCode > 255) {
		err = errors.New("must be 0 to 255")
	}
	return err
}

func seconds(s float64) error {
	if s < 0 || s > 7*24*3600 {
		return errors.New("seconds must be between 0 and a week")
	}
	return nil
}
