package supervise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kinds of a [Conflict].
const (
	ConflictFile       = "same_file"       // several agents of a project change one file
	ConflictDependency = "open_dependency" // an agent works although a task that must be completed first is not
	ConflictLimits     = "outside_limits"  // an agent works outside of what its task allows
)

// Conflict is a fact that speaks against the coherence of agents. Facts need no model.
type Conflict struct {
	Kind     string  `json:"kind" doc:"same_file (several agents change one file), open_dependency (a task that must be completed first is not) or outside_limits (work outside of what the task allows)."`
	Why      string  `json:"why" doc:"One sentence that names the tasks and the file or the limit."`
	Path     string  `json:"path,omitempty" doc:"File that several agents change. Absent: another kind."`
	Evidence []Proof `json:"evidence" doc:"The tasks of the conflict, with the events that show it."`
}

// Proof is one task of a [Conflict].
type Proof struct {
	TaskID  string  `json:"task_id" doc:"Task that takes part in the conflict, by UUID."`
	TaskKey string  `json:"task_key" doc:"Key of the task, for example APP-12."`
	Attempt int     `json:"attempt" doc:"Number of the attempt in its task, from 1. 0: no attempt takes part."`
	Events  []int64 `json:"events" doc:"Sequences of the events of that attempt which show the conflict. Empty: the stored tasks show it."`
}

// Dependency is a task that must be completed before the task of an agent, and is not.
type Dependency struct{ TaskID, Key, Status string }

// Reasons why an agent has no known alignment.
const (
	UnknownNoModel     = "no_model"     // rules found no fault, and no model is configured
	UnknownModelFailed = "model_failed" // a configured model gave no opinion
	UnknownNotSure     = "not_sure"     // a model was not sure
	UnknownNotAnalyzed = "not_analyzed" // the guardian made no recent analysis
)

// conflictsOf returns the conflicts of agents, those that no merge resolves first.
func conflictsOf(agents []Agent) []Conflict {
	list := []Conflict{}
	for i := range agents {
		for _, d := range agents[i].Waits {
			list = append(list, Conflict{
				Kind: ConflictDependency, Why: fmt.Sprintf("%s runs, and %s, which must be completed first, is %s.", agents[i].name(), cmp.Or(d.Key, d.TaskID), d.Status),
				Evidence: []Proof{agents[i].proof(), {TaskID: d.TaskID, TaskKey: d.Key, Events: []int64{}}},
			})
		}
	}
	for i := range agents {
		for _, f := range agents[i].Outside {
			list = append(list, Conflict{Kind: ConflictLimits, Why: agents[i].name() + ": " + f.Why, Evidence: []Proof{agents[i].proof(f.Evidence...)}})
		}
	}
	return append(list, sharedFiles(agents)...)
}

func (a *Agent) name() string { return cmp.Or(a.Key, a.TaskID) }

func (a *Agent) proof(events ...int64) Proof {
	return Proof{TaskID: a.TaskID, TaskKey: a.Key, Attempt: a.Attempt, Events: append([]int64{}, events...)}
}

// sharedFiles returns the files that several agents of one project change, those of most agents first. Agents of one comparison alone are
// no conflict.
func sharedFiles(agents []Agent) []Conflict {
	type key struct{ project, path string }
	by, works := map[key][]Proof{}, map[key]map[string]bool{}
	for i := range agents {
		for path, event := range agents[i].changed() {
			k := key{agents[i].ProjectID, path}
			if works[k] == nil {
				works[k] = map[string]bool{}
			}
			works[k][cmp.Or(agents[i].Comparison, agents[i].TaskID)] = true
			by[k] = append(by[k], agents[i].proof(event...))
		}
	}
	var list []Conflict
	for k, tasks := range by {
		if len(works[k]) > 1 {
			list = append(list, Conflict{Kind: ConflictFile, Why: sharedText(k.path, tasks), Path: k.path, Evidence: tasks})
		}
	}
	slices.SortFunc(list, func(a, b Conflict) int {
		return cmp.Or(len(b.Evidence)-len(a.Evidence), strings.Compare(a.Path+a.Evidence[0].TaskID, b.Path+b.Evidence[0].TaskID))
	})
	return list
}

// changed returns the changed files by their path in the workspace, each with the event that reported it, if known.
func (a *Agent) changed() map[string][]int64 {
	files := map[string][]int64{}
	for _, file := range a.Files {
		path := inWorkspace(file)
		files[path] = append([]int64{}, files[path]...)
		if event := a.Edits[file]; event > 0 {
			files[path] = append(files[path], event)
		}
	}
	return files
}

func sharedText(path string, tasks []Proof) string {
	var names []string
	for _, t := range tasks[:min(len(tasks), topmost)] {
		names = append(names, cmp.Or(t.TaskKey, t.TaskID))
	}
	return fmt.Sprintf("%d agents change %s at a time (%s): their branches will meet there.", len(tasks), cut(path, shortText), strings.Join(names, ", "))
}

// inConflict counts the active agents that take part in a conflict.
func inConflict(agents []Agent, all []Conflict) int {
	active, in := map[string]bool{}, map[string]bool{}
	for i := range agents {
		active[agents[i].TaskID] = true
	}
	for _, c := range all {
		for _, p := range c.Evidence {
			if active[p.TaskID] {
				in[p.TaskID] = true
			}
		}
	}
	return len(in)
}

// whyUnknown counts the agents without a known alignment by reason.
func whyUnknown(agents []Agent) map[string]int {
	by := map[string]int{}
	for i := range agents {
		if !agents[i].Known {
			by[cmp.Or(agents[i].Silent, UnknownNotAnalyzed)]++
		}
	}
	return by
}

// unknownStep returns what makes alignments known.
func unknownStep(by map[string]int) string {
	if by[UnknownNoModel] > 0 {
		return "set monitoring.model and anthropic.api_key, so that a model analyzes the agents"
	}
	return "omoi guardian status"
}

// unknownText tells why agents have no known alignment.
func unknownText(by map[string]int) string {
	texts := map[string]string{
		UnknownNoModel: "%d without a model (rules find faults only)", UnknownModelFailed: "%d whose model failed",
		UnknownNotSure: "%d about which the model was not sure", UnknownNotAnalyzed: "%d without a recent analysis",
	}
	var parts []string
	for _, reason := range []string{UnknownNoModel, UnknownModelFailed, UnknownNotSure, UnknownNotAnalyzed} {
		if by[reason] > 0 {
			parts = append(parts, fmt.Sprintf(texts[reason], by[reason]))
		}
	}
	return strings.Join(parts, ", ")
}

// inWorkspace returns a path relative to the workspace.
func inWorkspace(file string) string {
	if _, inside, ok := strings.Cut(file, "/workspace/"); ok {
		return inside
	}
	return strings.TrimPrefix(file, "./")
}
