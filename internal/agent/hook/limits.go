package hook

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Limits are what a decision depends on, apart from the call.
type Limits struct {
	Contract  taskcontract.Contract `json:"contract"` // accepted part
	Workspace string                `json:"workspace"`
	Home      string                `json:"home"`
	Branch    string                `json:"branch"` // of the task; empty: no repository
	Base      string                `json:"base"`   // commit; empty: unknown
	// Validates says that the agent changes files only to try the work.
	Validates bool `json:"validates"`
	// Messages says that the agent gets messages, so that a user can allow a call.
	Messages bool `json:"messages"`
}

// Rules that refuse a call.
const (
	RuleContract     = "contract"
	RuleIrreversible = "irreversible"
)

// refuses returns the rule that refuses a call, and its sentence. Empty: the call may run.
func (l Limits) refuses(ctx context.Context, call Call) (rule, sentence string) {
	call.Dir = cmp.Or(call.Dir, l.Workspace)
	if command := call.command(); command != "" {
		return l.refusesCommand(ctx, shellcmd.In(command), call.Dir)
	}
	for _, file := range call.files() {
		if sentence = l.refusesChange(ctx, absolute(call.Dir, file)); sentence != "" {
			return RuleContract, "The task contract says: " + sentence
		}
	}
	return "", ""
}

func (l Limits) refusesCommand(ctx context.Context, list []shellcmd.Command, dir string) (rule, sentence string) {
	if name := shellcmd.OneOf(list, l.Contract.ForbiddenCommands...); name != "" {
		return RuleContract, "The task contract says: " + taskcontract.ForbidsCommand(name)
	}
	if why := l.irreversible(ctx, list, dir); why != "" {
		return RuleIrreversible, why
	}
	return "", ""
}

// refusesChange returns the sentence of the contract that forbids a change of a file. Files outside of the workspace are free.
func (l Limits) refusesChange(ctx context.Context, file string) string {
	inside, ok := l.inside(file)
	if !ok || l.Validates {
		return ""
	}
	if sentence := l.Contract.OutsidePaths(inside); sentence != "" {
		return sentence
	}
	return l.Contract.ForbidsChange(inside, func() bool { return taskcontract.Judges(inside) && l.atBase(ctx, inside) })
}

// atBase reports whether a file is in the base commit. False: the agent added it, or Git cannot tell.
func (l Limits) atBase(ctx context.Context, file string) bool {
	if l.Base == "" {
		return false
	}
	_, err := gitcmd.Repository(l.Workspace).Run(ctx, "cat-file", "-e", l.Base+":"+filepath.ToSlash(file))
	return err == nil
}

// below reports whether a folder is the workspace or below it. A relative one counts, and one with a variable does not.
func (l Limits) below(dir string) bool {
	if !filepath.IsAbs(dir) {
		return !strings.ContainsAny(dir, "$~")
	}
	_, ok := l.inside(dir)
	return ok
}

// absolute returns a path that may be relative to dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// inside returns an absolute path relative to the workspace; false: it is outside.
func (l Limits) inside(path string) (string, bool) {
	resolved, _ := filepath.EvalSymlinks(l.Workspace)
	for _, top := range []string{l.Workspace, resolved} {
		if inside, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(inside) {
			return inside, true
		}
	}
	return "", false
}
