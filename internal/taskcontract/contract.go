// Package taskcontract holds task contracts: what a task may change and run, and what shows that it is done. What a contract
// leaves out is unknown.
package taskcontract

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Contract is one text of a task contract. An absent field is unknown, and no rule uses it.
type Contract struct {
	AllowedPaths      []string `json:"allowed_paths,omitempty"      yaml:"allowed_paths,omitempty"      nullable:"false" doc:"Patterns of the only paths that the agent may change. Absent: unknown."`
	ForbiddenPaths    []string `json:"forbidden_paths,omitempty"    yaml:"forbidden_paths,omitempty"    nullable:"false" doc:"Patterns of paths that the agent must not change. Absent: unknown."`
	ForbiddenCommands []string `json:"forbidden_commands,omitempty" yaml:"forbidden_commands,omitempty" nullable:"false" doc:"Beginnings of shell commands that the agent must not run. Absent: unknown."`
	Constraints       []string `json:"constraints,omitempty"        yaml:"constraints,omitempty"        nullable:"false" doc:"Other limits in sentences, for agents and models; no rule reads them. Absent: none."`
	TestsMayChange    *bool    `json:"tests_may_change,omitempty"   yaml:"tests_may_change,omitempty"   doc:"Whether the agent may change tests. Absent: unknown."`
	ChangeWanted      *bool    `json:"change_wanted,omitempty"      yaml:"change_wanted,omitempty"      doc:"Whether the task asks for changes of files. Absent: unknown."`
	TestCommand       string   `json:"test_command,omitempty"       yaml:"test_command,omitempty"       doc:"Shell command that shows that the task is done. Absent: unknown."`
}

// Authors of a version.
const (
	ByUser  = "user"
	ByModel = "model"
)

// Change is a contract that a user sets for a task.
type Change struct {
	OrganizationID string
	TaskID         string
	Sender         string // name of the user
	Contract       Contract
	Read           *int // newest version that the user has read; 0: none; nil: not compared
}

// Version is one stored version of a task's contract.
type Version struct {
	Number    int       `json:"version" doc:"Number of the version in its task, from 1."`
	Contract  Contract  `json:"contract" doc:"Text of the version."`
	Author    string    `json:"author" enum:"user,model" doc:"user, or model: a model proposed it. More values may be added."`
	Name      string    `json:"author_name" doc:"Name of the user or of the model."`
	Accepted  bool      `json:"accepted" doc:"False: proposed only. True: a user wrote the version, or the project accepts what a model proposes."`
	CreatedAt time.Time `json:"created_at" doc:"When the version was stored."`
}

// InForce is the contract of a task from all its sources.
type InForce struct {
	Accepted Contract `json:"accepted" doc:"Contract by users and the project."`
	// Proposed has only fields that are unknown in Accepted.
	Proposed Contract `json:"proposed,omitzero" doc:"What a model proposed and nobody accepted, for fields that are unknown in accepted. Absent: nothing."`
}

// Known reports whether anything is known.
func (f InForce) Known() bool { return f.Accepted.YAML() != "" || f.Proposed.YAML() != "" }

// Of returns the contract in force. The newest version of a user replaces the keys of execution_config but test_command,
// and the settings of the project add to both. What a model proposed counts only where these leave a key unknown, also if
// the project accepts it. Objects of another form count as empty.
func Of(newest *Version, execution, settings json.RawMessage) InForce {
	var project, model Contract
	_ = json.Unmarshal(settings, &project)
	binds := newest != nil && newest.Accepted
	if newest != nil && (newest.Author == ByModel || !binds) {
		model, newest = newest.Contract, nil
	}
	accepted := own(newest, execution).with(project)
	model = model.without(accepted)
	if binds {
		return InForce{Accepted: accepted.with(model)}
	}
	return InForce{Accepted: accepted, Proposed: model}
}

// Own returns the contract of the task itself, with what a model proposed, and without the settings of the project.
func Own(newest *Version, execution json.RawMessage) Contract {
	f := Of(newest, execution, nil)
	return f.Accepted.with(f.Proposed)
}

func own(version *Version, execution json.RawMessage) (c Contract) {
	_ = json.Unmarshal(execution, &c)
	if version == nil {
		return c
	}
	given := c.TestCommand
	c = version.Contract
	c.TestCommand = cmp.Or(c.TestCommand, given)
	return c
}

// with adds the contract of the project, which decides where that of the task does not.
func (c Contract) with(project Contract) Contract {
	return Contract{
		AllowedPaths:      union(c.AllowedPaths, project.AllowedPaths),
		ForbiddenPaths:    union(c.ForbiddenPaths, project.ForbiddenPaths),
		ForbiddenCommands: union(c.ForbiddenCommands, project.ForbiddenCommands),
		Constraints:       union(c.Constraints, project.Constraints),
		TestsMayChange:    cmp.Or(c.TestsMayChange, project.TestsMayChange),
		ChangeWanted:      cmp.Or(c.ChangeWanted, project.ChangeWanted),
		TestCommand:       cmp.Or(c.TestCommand, project.TestCommand),
	}
}

// without returns the fields that known leaves out.
func (c Contract) without(known Contract) Contract {
	return Contract{
		AllowedPaths:      unless(known.AllowedPaths != nil, c.AllowedPaths),
		ForbiddenPaths:    unless(known.ForbiddenPaths != nil, c.ForbiddenPaths),
		ForbiddenCommands: unless(known.ForbiddenCommands != nil, c.ForbiddenCommands),
		Constraints:       unless(known.Constraints != nil, c.Constraints),
		TestsMayChange:    unless(known.TestsMayChange != nil, c.TestsMayChange),
		ChangeWanted:      unless(known.ChangeWanted != nil, c.ChangeWanted),
		TestCommand:       unless(known.TestCommand != "", c.TestCommand),
	}
}

func unless[T any](known bool, value T) (out T) {
	if known {
		return out
	}
	return value
}

// union returns the texts of a and b without blanks and duplicates; nil if there are none.
func union(a, b []string) (out []string) {
	for _, text := range slices.Concat(a, b) {
		if text = strings.TrimSpace(text); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
