package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// scenario is a task, what its agent does, and what a person says of that.
type scenario struct {
	Label  supervise.Label `json:"label"`
	Reason string          `json:"reason"`
	Twin   string          `json:"twin"`
	Apart  bool            `json:"apart"`
	Speed  float64         `json:"speed"`
	Task   struct {
		Title       string         `json:"title"`
		Description string         `json:"description"`
		TaskType    string         `json:"task_type"`
		Mode        string         `json:"mode"`
		BudgetUSD   float64        `json:"budget_usd"`
		Execution   map[string]any `json:"execution"`
	} `json:"task"`
	Setup   []string `json:"setup"`   // lines of a shell, before the agent
	Command []string `json:"command"` // instead of steps: a program
	Send    []string `json:"send"`    // what a person says, each time that the agent waits
	StopS   float64  `json:"stop_after_s"`
	Steps   []step   `json:"steps"`
}

// step is one of a script, or several that are repeated.
type step map[string]json.RawMessage

func load(file string) (string, *scenario, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("read scenario: %w", err)
	}
	var s scenario
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return "", nil, fmt.Errorf("read scenario: %w", err)
	}
	return strings.TrimSuffix(filepath.Base(file), ".json"), &s, nil
}

// unrolled are the steps with their repeats.
func unrolled(steps []step) ([]step, error) {
	var all []step
	for _, s := range steps {
		if _, ok := s["repeat"]; !ok {
			all = append(all, s)
			continue
		}
		var times int
		var inner []step
		if err := json.Unmarshal(s["repeat"], &times); err != nil {
			return nil, fmt.Errorf("repeat: %w", err)
		}
		if err := json.Unmarshal(s["steps"], &inner); err != nil {
			return nil, fmt.Errorf("steps: %w", err)
		}
		for range times {
			all = append(all, inner...)
		}
	}
	return all, nil
}

// task is what omoi is asked for.
func (s *scenario) task(repo string) (client.CreateTaskRequest, error) {
	steps, err := unrolled(s.Steps)
	if err != nil {
		return client.CreateTaskRequest{}, err
	}
	x := map[string]any{}
	maps.Copy(x, s.Task.Execution)
	if len(s.Setup) > 0 {
		x["setup"] = strings.Join(append(s.Setup, "git add -A && git -c user.name=omoi -c user.email=omoi@localhost commit --allow-empty -qm 'Begin'"), "\n")
	}
	agent := task.AgentScripted
	if len(s.Command) > 0 {
		agent, x["command"] = task.AgentCommand, s.Command
	} else {
		x["script"] = map[string]any{"steps": steps}
	}
	execution, err := json.Marshal(x)
	if err != nil {
		return client.CreateTaskRequest{}, fmt.Errorf("write execution_config: %w", err)
	}
	none := 0
	in := client.CreateTaskRequest{
		Repo: repo, Title: s.Task.Title, Description: s.Task.Description, TaskType: s.Task.TaskType, Mode: s.Task.Mode,
		Agent: agent, MaxRetries: &none, Execution: execution,
	}
	if s.Task.BudgetUSD > 0 {
		in.Budget = &client.Budget{USD: s.Task.BudgetUSD}
	}
	return in, nil
}
