package scripted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// Maximum bytes of tool results and files in events.
const (
	resultBytes  = 5000
	maxFileBytes = 16 << 20
)

// toolResult is the result of a tool call.
type toolResult struct {
	text     string
	failed   bool
	response map[string]any
	changes  []diff.Change
	total    int // number of changed files; len(changes) is smaller if there are too many to report
	skipped  []string
}

// tool runs do and reports it as a tool call, with the events of a real agent.
func (r *run) tool(name string, input map[string]any, do func() toolResult) {
	r.place.Tools++
	id := fmt.Sprintf("toolu_%04d", r.place.Tools)
	turn := r.place.Turn
	r.assistant("tool_use", 1)
	r.env.Report.Emit(event.AgentToolUse, map[string]any{
		"turn": turn, "tool": name, "tool_use_id": id, "input": input, "event_subtype": "tool_use",
	})
	done := r.env.Doing.Tool(name)
	res := do()
	done()
	if res.failed {
		r.place.ToolErrors++
	}
	r.env.Report.Emit(event.AgentToolCompleted, map[string]any{
		"turn": turn, "tool": name, "tool_use_id": id, "tool_input": input, "tool_response": res.response,
	})
	for _, c := range res.changes {
		r.place.Files[c.Path] = true
		r.env.Report.Emit(event.AgentFileEdited, c.Data(turn, id))
	}
	if res.total > len(res.changes) || len(res.skipped) > 0 {
		r.env.Report.Emit(event.AgentFilesUnreported, map[string]any{
			"turn": turn, "tool_use_id": id, "count": res.total - len(res.changes), "skipped": res.skipped,
		})
	}
	cut := textcut.First(res.text, resultBytes)
	r.env.Report.Emit(event.AgentToolResult, map[string]any{
		"turn": turn, "tool_use_id": id, "result": cut, "result_truncated": len(cut) < len(res.text),
		"result_full_length": len(res.text), "is_error": res.failed,
	})
}

// file writes or edits a file in the workspace.
func (r *run) file(s Step) {
	name, input := "Write", map[string]any{"file_path": s.Path, "content": s.Content}
	if s.Kind == "edit" {
		name, input = "Edit", map[string]any{"file_path": s.Path, "old_string": s.Old, "new_string": s.New}
	}
	r.tool(name, input, func() toolResult {
		change, err := r.change(s)
		if err != nil {
			return toolResult{text: err.Error(), failed: true, response: map[string]any{"error": err.Error()}}
		}
		response := map[string]any{"file_path": change.Path, "change_type": change.Kind}
		text := fmt.Sprintf("%s: %s, lines added: %d, removed: %d.", change.Path, change.Kind, change.Added, change.Removed)
		return toolResult{text: text, response: response, changes: []diff.Change{change}, total: 1}
	})
}

func (r *run) change(s Step) (diff.Change, error) {
	path, err := r.inside(s.Path)
	if err != nil {
		return diff.Change{}, err
	}
	before, err := r.read(path)
	if err != nil {
		return diff.Change{}, err
	}
	after := s.Content
	if s.Kind == "edit" {
		if after, err = edited(before, s); err != nil {
			return diff.Change{}, err
		}
	}
	if err := r.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return diff.Change{}, fmt.Errorf("create folder of %s: %w", path, err)
	}
	if err := r.root.WriteFile(path, []byte(after), 0o644); err != nil {
		return diff.Change{}, fmt.Errorf("write %s: %w", path, err)
	}
	return diff.Text(filepath.ToSlash(path), before, &after), nil
}

// inside returns a path relative to the workspace. inside rejects paths outside of the workspace; links that lead out
// are rejected by root.
func (r *run) inside(path string) (string, error) {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(r.env.Config.Workspace, path)
		if err != nil {
			return "", fmt.Errorf("%s is outside the workspace", path)
		}
		path = rel
	}
	path = filepath.Clean(path)
	if !filepath.IsLocal(path) || path == "." {
		return "", fmt.Errorf("%s is outside the workspace", path)
	}
	return path, nil
}

// read returns the text of a file, nil if it does not exist. Only regular files are opened, because a named pipe would
// block.
func (r *run) read(path string) (*string, error) {
	info, err := r.root.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no file and no error
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	f, err := r.root.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	text := string(b)
	return &text, nil
}

func edited(before *string, s Step) (string, error) {
	if before == nil {
		return "", fmt.Errorf("%s does not exist", s.Path)
	}
	switch n := strings.Count(*before, s.Old); n {
	case 1:
		return strings.Replace(*before, s.Old, s.New, 1), nil
	case 0:
		return "", fmt.Errorf("%s does not contain the old text", s.Path)
	default:
		return "", fmt.Errorf("%s contains the old text %d times, expected once", s.Path, n)
	}
}

// bash runs a command in a shell in the workspace.
func (r *run) bash(ctx context.Context, command string, limit time.Duration) error {
	output, _, err := r.shell(ctx, command, limit)
	r.place.LastOutput = strings.TrimRight(output, "\r\n")
	return err
}

// shell returns the output of a command, and whether it succeeded.
func (r *run) shell(ctx context.Context, command string, limit time.Duration) (output string, ok bool, err error) {
	limit = cmp.Or(limit, r.env.Config.ToolTimeout)
	input := map[string]any{"command": command, "timeout": limit.Milliseconds()}
	r.tool("Bash", input, func() toolResult {
		if r.watch == nil {
			r.watch = r.env.Watch(ctx)
		} else {
			r.watch(ctx) // changes so far are those of other tools
		}
		res, startErr := r.env.Procs.Run(ctx, proc.Command{
			Args: agent.Shell(command), Dir: r.env.Config.Workspace, Env: r.env.Environ,
			Timeout: limit, Grace: min(r.env.Config.Grace/4, 2*time.Second),
		})
		if startErr != nil {
			return toolResult{text: startErr.Error(), failed: true, response: map[string]any{"error": startErr.Error()}}
		}
		output = res.Output
		ok = res.Outcome == proc.Exited && res.ExitCode == 0
		out := shellResult(res, ok)
		out.changes, out.total, out.skipped = r.watch(context.WithoutCancel(ctx))
		return out
	})
	return output, ok, ctx.Err()
}

func shellResult(res proc.Result, ok bool) toolResult {
	text := res.Output
	switch {
	case res.Outcome == proc.Timeout:
		text += "\n[ended at its time limit]"
	case res.Outcome == proc.Stopped:
		text += "\n[stopped]"
	case res.Note != "":
		text += "\n[" + res.Note + "]"
	case !ok:
		text += fmt.Sprintf("\n[exit code %d]", res.ExitCode)
	}
	return toolResult{text: text, failed: !ok, response: map[string]any{
		"output": res.Output, "output_length": res.FullLength, "exit_code": res.ExitCode, "signal": res.Signal,
		"outcome": string(res.Outcome), "note": res.Note, "duration_ms": res.Duration.Milliseconds(),
		"killed_processes": res.Killed, "survivors": res.Survivors,
	}}
}

func (r *run) commit(ctx context.Context, message string) error {
	_, ok, err := r.shell(ctx, "git add -A && git commit -q -m "+shellcmd.Line(message)+" && git log -1 --format='%h %s'", 0)
	r.place.Committed = r.place.Committed || ok
	return err
}

func (r *run) push(ctx context.Context) error {
	_, ok, err := r.shell(ctx, "git push -q origin HEAD", 0)
	r.place.Pushed = r.place.Pushed || ok
	return err
}
