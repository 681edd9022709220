package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// takeWork writes what omoi keeps of the newest attempt that is asked for. Where it keeps nothing the server says where the work is.
func (s *session) takeWork(ctx context.Context, api *client.Client, t client.Task, found []client.SavedWork, asked workAsked) error {
	one := client.SavedWork{Attempt: asked.attempt}
	for _, candidate := range found {
		if candidate.Kept() {
			one = candidate
		}
	}
	if one.Attempt == 0 {
		return task.Errorf(task.CodeNotFound, "omoi keeps no patch of this task. Where its work is: omoi work %s", render.Short(t.ID))
	}
	if asked.patch == "-" {
		if isTerminal(s.Stdout) { // a terminal would obey control characters
			return exit.Usagef("standard output is a terminal. Next: omoi work %s --attempt %d --patch work.%s", render.Short(t.ID), one.Attempt, one.Kind)
		}
		_, err := api.WriteWork(ctx, t.ID, one.Attempt, s.Stdout)
		return err
	}
	file, err := s.path(asked.patch)
	if err != nil {
		return err
	}
	size, err := s.writeWork(ctx, api, t.ID, one, file)
	return s.answer(map[string]any{"task_id": t.ID, "attempt": one.Attempt, "kind": one.Kind, "file": file, "bytes": size}, err, func() {
		s.say("%s has the %s of attempt %d, %s", render.Clean(file), one.Kind, one.Attempt, render.Bytes(size))
		s.next(s.hint, [][2]string{takes(one, file)})
	})
}

// takes is the command that takes a patch or a bundle into a working copy.
func takes(one client.SavedWork, file string) [2]string {
	if one.Kind == savedwork.Bundle {
		return [2]string{fmt.Sprintf("git fetch %s '+refs/*:refs/saved/*'", scm.Quoted(file)), "in a clone of the repository, then git log --all"}
	}
	return [2]string{"git apply " + scm.Quoted(file), "in a working copy of the task's branch"}
}

// writeWork writes a file as a whole or not at all.
func (s *session) writeWork(ctx context.Context, api *client.Client, taskID string, one client.SavedWork, file string) (size int64, err error) {
	part, err := os.CreateTemp(filepath.Dir(file), ".omoi-work-")
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // without the name of the temporary file
	}
	if err != nil {
		return 0, exit.Usagef("%s cannot be written: %w. Next: name another file", file, err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // it is gone where all went well
	size, err = api.WriteWork(ctx, taskID, one.Attempt, part)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return size, fmt.Errorf("write %s: %w", file, err)
	}
	return size, nil
}
